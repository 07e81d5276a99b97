import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.datasets import dataset_info, list_datasets, load_dataset
from kernelweave.errors import InvalidInputError

every_dataset = pytest.mark.parametrize("name", list_datasets())


def test_samples_classes_and_origin_come_together(register, toy, folder):
    info = register(toy)
    dataset = load_dataset("TOY", data_home=folder)
    assert_array_equal(dataset.data, np.arange(18.0).reshape(6, 3))
    assert_array_equal(dataset.target, [0, 0, 0, 1, 1, 1])
    assert dataset.target_names is None
    assert (dataset.name, dataset.description) == ("toy", "made up")
    assert dataset.provenance == {
        "file": "toy.mat",
        "url": info.url,
        "sha256": info.sha256,
        "source": "a test",
        "citation": "nobody",
        "preprocessing": "none",
    }


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"no data set 'mnist': choose one of yale, jaffe, yeast, .*coil20"):
        load_dataset("mnist")


@pytest.mark.parametrize("wrong", [{"n_samples": 7}, {"n_features": 4}, {"n_classes": 3}], ids=str)
def test_a_file_of_other_sizes_is_refused(register, toy, folder, wrong):
    info = register(toy, **wrong)
    expected = (
        rf"does not hold 'toy': expected {info.n_samples} x {info.n_features} values, number of labels "
        rf"{info.n_samples}, number of classes {info.n_classes}; "
        rf"got 6 x 3 values, number of labels 6, number of classes 2\. Fetch it again from {info.url}"
    )
    with pytest.raises(InvalidInputError, match=expected):
        load_dataset("toy", data_home=folder)


def test_labels_for_other_samples_are_refused(register, mat_bytes, folder):
    register(mat_bytes(X=np.zeros((6, 3)), y=np.array([1, 2, 2])))
    with pytest.raises(
        InvalidInputError,
        match=r"expected .* number of labels 6, number of classes 2; got .* number of labels 3, number of classes 2",
    ):
        load_dataset("toy", data_home=folder)


@every_dataset
def test_the_published_files_hold_what_is_registered(shared_data, name):
    info = dataset_info(name)
    dataset = load_dataset(name, data_home=shared_data / "paper")
    assert dataset.data.shape == (info.n_samples, info.n_features)
    assert dataset.data.dtype == np.float64
    assert dataset.target.dtype == np.int64
    assert_array_equal(np.unique(dataset.target), np.arange(info.n_classes))
    assert sp.issparse(dataset.data) == (name in {"tr11", "tr41", "tr45", "yeast"})


@pytest.mark.parametrize("name", ["yale", "jaffe", "tr11", "tr41", "tr45"])
def test_data_said_to_have_unit_rows_have_them(shared_data, name):
    dataset = load_dataset(name, data_home=shared_data / "paper")
    assert "unit length" in dataset.provenance["preprocessing"]
    assert_allclose((dataset.data**2).sum(axis=1), 1.0, rtol=1e-10)


@pytest.mark.parametrize(("name", "size"), [("yale", 11), ("ba", 39), ("coil20", 72)])
def test_data_said_to_have_equal_sorted_classes_have_them(shared_data, name, size):
    target = load_dataset(name, data_home=shared_data / "paper").target
    assert_array_equal(target, np.repeat(np.arange(len(target) // size), size))


@pytest.mark.parametrize(
    ("name", "fewest", "most"), [("jaffe", 20, 23), ("tr11", 6, 132), ("tr41", 9, 243), ("tr45", 14, 160)]
)
def test_class_sizes_are_those_of_the_description(shared_data, name, fewest, most):
    dataset = load_dataset(name, data_home=shared_data / "paper")
    sizes = np.bincount(dataset.target)
    assert (sizes.min(), sizes.max()) == (fewest, most)
    assert f"{fewest} to {most}" in dataset.description


def test_pixels_of_ba_are_binary_and_those_of_coil20_lie_between_zero_and_one(shared_data):
    assert set(np.unique(load_dataset("ba", data_home=shared_data / "paper").data)) == {0.0, 1.0}
    coil20 = load_dataset("coil20", data_home=shared_data / "paper").data
    assert (coil20.min(), coil20.max()) == (0.0, 1.0)


def test_yeast_is_eight_numbers_and_one_name_per_protein(shared_data):
    yeast = load_dataset("yeast", data_home=shared_data / "paper")
    assert_allclose(yeast.data[[0], :8].toarray()[0], [0.58, 0.61, 0.47, 0.13, 0.50, 0.00, 0.48, 0.22])
    assert_array_equal(yeast.data[:, 8:].sum(axis=1), 1.0)
    assert yeast.target_names[yeast.target[0]] == "MIT"
    assert np.bincount(yeast.target)[list(yeast.target_names).index("CYT")] == 463
