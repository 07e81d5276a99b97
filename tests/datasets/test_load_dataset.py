import hashlib

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave import Views
from kernelweave.datasets import dataset_info, list_datasets, load_dataset
from kernelweave.datasets.contents import Layout
from kernelweave.datasets.registry import FileCopy
from kernelweave.errors import InvalidInputError

PAPER = list_datasets()[:8]
every_dataset = pytest.mark.parametrize("name", PAPER)


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
        "licence": "not stated",
        "citation": "nobody",
        "preprocessing": "none",
    }


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInputError, match=r"no data set 'nobody': choose one of yale, jaffe, yeast, .*coil20"):
        load_dataset("nobody")


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


@pytest.mark.parametrize("name", [name for name in list_datasets() if dataset_info(name).copy and name != "mnist"])
def test_copies_hold_what_is_registered(shared_data, name):
    info = dataset_info(name)
    dataset = load_dataset(name, data_home=shared_data)
    widths = dataset.data.widths if isinstance(dataset.data, Views) else dataset.data.shape[1:]
    assert widths == (info.views or (info.n_features,))
    assert_array_equal(np.unique(dataset.target), np.arange(info.n_classes))


def test_several_tables_are_loaded_as_views_with_their_names(register, mat_bytes, folder):
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = np.arange(12.0).reshape(6, 2), sp.eye_array(6, 4, format="csc")
    register(
        mat_bytes(fea=cells, gt=[[1, 1, 1, 2, 2, 2]]),
        n_features=6,
        views=(2, 4),
        view_names=("left", "right"),
        layout=Layout(("fea/*",), "gt"),
    )
    views = load_dataset("toy", data_home=folder).data
    assert (views.names, views.widths) == (("left", "right"), (2, 4))
    assert_array_equal(views.tables[0], cells[0, 0])
    assert sp.issparse(views.tables[1])


def test_a_view_of_another_width_is_refused(register, mat_bytes, folder):
    content = mat_bytes(a=np.zeros((6, 2)), b=np.zeros((6, 4)), y=[1, 1, 1, 2, 2, 2])
    register(content, n_features=6, views=(3, 3), layout=Layout(("a", "b")))
    with pytest.raises(InvalidInputError, match=r"expected 6 x 3, 6 x 3 values, .*; got 6 x 2, 6 x 4 values"):
        load_dataset("toy", data_home=folder)


def test_kernel_matrices_are_loaded_as_a_stack(register, mat_bytes, folder):
    stack = np.random.default_rng(0).random((6, 6, 3))
    register(mat_bytes(KH=stack, Y=[1, 1, 1, 2, 2, 2]), n_features=6, kernels=3, layout=Layout(("KH",), "Y", "kernels"))
    data = load_dataset("toy", data_home=folder).data
    assert_array_equal(data, np.moveaxis(stack, 2, 0))


def test_data_sets_of_scikit_learn_need_no_file():
    wine = load_dataset("wine", data_home="nowhere")
    assert wine.data.shape == (178, 13)
    assert wine.target_names.tolist() == ["class_0", "class_1", "class_2"]


def test_a_copy_in_the_folder_is_read_where_the_published_file_is_missing(register, toy, folder):
    np.savez(folder / "copy.npz", X=np.ones((6, 3)), y=np.array([0, 0, 0, 1, 1, 1]))
    digest = hashlib.sha256((folder / "copy.npz").read_bytes()).hexdigest()
    info = register(toy, copy=FileCopy("copy.npz", digest))
    assert_array_equal(load_dataset("toy", data_home=folder).data[0], [0, 1, 2])
    (folder / info.filename).unlink()
    assert_array_equal(load_dataset("toy", data_home=folder).data[0], [1, 1, 1])
    np.savez(folder / "copy.npz", X=np.zeros((6, 3)), y=np.array([0, 0, 0, 1, 1, 1]))
    with pytest.raises(InvalidInputError, match=rf"is not the known copy of 'toy': expected sha256 {digest}"):
        load_dataset("toy", data_home=folder)


def test_a_file_may_lie_in_a_folder_of_the_data_folder(register, toy, folder):
    register(toy)
    (folder / "inner").mkdir()
    (folder / "toy.mat").rename(folder / "inner" / "toy.mat")
    assert load_dataset("toy", data_home=folder).data.shape == (6, 3)


def test_a_file_known_by_its_name_in_git_is_checked_by_it(register, toy, folder):
    blob = hashlib.sha1(f"blob {len(toy)}\0".encode() + toy).hexdigest()
    register(toy, sha256=None, git_blob=blob)
    assert load_dataset("toy", data_home=folder).provenance["sha256"] is None
    register(toy, sha256=None, git_blob="0" * 40)
    with pytest.raises(InvalidInputError, match=f"expected git object {'0' * 40}, got {blob}"):
        load_dataset("toy", data_home=folder)
