"""What the plugin adds is found by its name, and works."""

import kernelweave
from kernelweave import WeaveClustering
from kernelweave.datasets import load_dataset
from kernelweave.metrics import clustering_accuracy
from kernelweave.plugins import load_plugin


def test_the_data_set_is_loaded_by_its_name():
    assert load_dataset("triplet").data.shape == (60, 2)


def test_the_method_finds_the_three_groups_and_can_be_saved(tmp_path):
    data = load_dataset("triplet")
    model = load_plugin("methods", "linkage")(3, kernels="cauchy-3").fit(data.data)
    assert clustering_accuracy(data.target, model.labels_) == 1
    model.save(tmp_path / "model.kw")
    assert (kernelweave.load(tmp_path / "model.kw").labels_ == model.labels_).all()


def test_the_kernel_and_the_recipe_are_known_by_their_names():
    data = load_dataset("triplet")
    model = WeaveClustering(3, kernels=["cauchy", "rbf"], random_state=0).fit(data.data)
    assert model.kernel_names_ == ("cauchy(t=0.1)", "rbf")
    assert len(WeaveClustering(3, kernels="cauchy-3", random_state=0).fit(data.data).kernel_names_) == 3
