import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.datasets import load_dataset
from kernelweave.datasets.readers import read_mat, read_yeast
from kernelweave.errors import InvalidInputError

YEAST = """\
ADT1_YEAST  0.58  0.61  0.47  0.13  0.50  0.00  0.48  0.22  MIT
AAR2_YEAST  0.40  0.39  0.60  0.15  0.50  0.00  0.58  0.30  CYT

ADT1_YEAST  0.64  0.62  0.49  0.15  0.50  0.00  0.53  0.22  MIT
"""


@pytest.fixture
def mat(tmp_path, mat_bytes):
    def _mat(**variables):
        (tmp_path / "some.mat").write_bytes(mat_bytes(**variables))
        return tmp_path / "some.mat"

    return _mat


@pytest.fixture
def yeast(tmp_path):
    def _yeast(text):
        (tmp_path / "yeast.data").write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / "yeast.data"

    return _yeast


def test_integers_in_the_file_become_floats_in_row_order(mat):
    (data,) = read_mat(mat(X=np.array([[0, 1, 1], [1, 0, 1]], dtype=np.uint8), y=[1, 2])).tables
    assert data.dtype == np.float64
    assert data.flags.c_contiguous
    assert_array_equal(data, [[0, 1, 1], [1, 0, 1]])


@pytest.mark.parametrize("y", [[[3], [1], [3]], [[3, 1, 3]]], ids=["column", "row"])
def test_classes_are_numbered_from_zero_whatever_their_shape(mat, y):
    table = read_mat(mat(X=np.eye(3), y=np.array(y, dtype=np.uint8)))
    assert table.target.dtype == np.int64
    assert_array_equal(table.target, [1, 0, 1])


def test_what_is_sparse_in_the_file_stays_sparse(mat):
    X = sp.random_array((20, 50), density=0.1, format="csc", rng=np.random.default_rng(0))
    (data,) = read_mat(mat(X=X, y=np.arange(20))).tables
    assert isinstance(data, sp.csr_array)
    assert data.nnz == X.nnz
    assert (data != X).nnz == 0


def test_sparse_data_are_never_made_dense_on_the_way(register, mat_bytes, folder, monkeypatch):
    def refuse(self, *args, **kwargs):
        pytest.fail("a sparse table was made dense")

    content = mat_bytes(X=sp.eye_array(6, 3, format="csc"), y=np.array([1, 1, 1, 2, 2, 2]))
    for kind in (sp.csc_matrix, sp.csc_array, sp.csr_matrix, sp.csr_array, sp.coo_matrix, sp.coo_array):
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    register(content)
    assert load_dataset("toy", data_home=folder).data.nnz == 3


@pytest.mark.parametrize("missing", ["X", "y"])
def test_a_file_without_samples_or_classes_is_refused(mat, missing):
    variables = {"X": np.eye(2), "y": [1, 2], "Z": [0]}
    del variables[missing]
    with pytest.raises(InvalidInputError, match=rf"some\.mat has no variable {missing}: it has "):
        read_mat(mat(**variables))


@pytest.mark.parametrize("X", [np.zeros((2, 2, 2)), np.array([["a"], ["b"]]), np.ones((2, 2)) * 1j], ids=str)
def test_samples_that_are_no_table_of_numbers_are_refused(mat, X):
    with pytest.raises(InvalidInputError, match=r"A part of .*some\.mat must be a table of numbers, got shape"):
        read_mat(mat(X=X, y=[1, 2]))


@pytest.mark.parametrize("damage", ["text", "empty", "short", "middle"])
def test_damaged_files_are_reported_as_such(register, toy, folder, damage):
    content = {
        "text": b"<html>404 not found</html>" * 20,
        "empty": b"",
        "short": toy[: len(toy) // 2],
        "middle": toy[:150] + b"\xff" * 20 + toy[170:],
    }[damage]
    register(content)
    with pytest.raises(InvalidInputError, match=r"toy\.mat cannot be read as a MATLAB file \(.+\): fetch it again"):
        load_dataset("toy", data_home=folder)


def test_yeast_has_its_numbers_first_and_then_its_names_in_order(yeast):
    table = read_yeast(yeast(YEAST))
    (data,) = table.tables
    assert isinstance(data, sp.csr_array)
    assert data.indices.dtype == np.int32
    expected = [
        [0.58, 0.61, 0.47, 0.13, 0.50, 0.00, 0.48, 0.22, 0, 1],
        [0.40, 0.39, 0.60, 0.15, 0.50, 0.00, 0.58, 0.30, 1, 0],
        [0.64, 0.62, 0.49, 0.15, 0.50, 0.00, 0.53, 0.22, 0, 1],
    ]
    assert_allclose(data.toarray(), expected)
    assert_array_equal(table.target_names[table.target], ["MIT", "CYT", "MIT"])
    assert_array_equal(table.target, [1, 0, 1])
    assert table.target.dtype == np.int64


def test_yeast_is_loaded_by_its_format(register, folder):
    register(YEAST.encode(), filename="toy.data", format="yeast", n_samples=3, n_features=10)
    assert_array_equal(load_dataset("toy", data_home=folder).target_names, ["CYT", "MIT"])


BAD_YEAST = {
    "a field short": (YEAST + "X_YEAST 0.5 MIT\n", r"Line 5 of .*yeast\.data must have 10 fields \(name, 8 .*got 3"),
    "a word for a number": (YEAST.replace("0.39", "high"), r"Line 2 of .* 8 numbers, but .*'high': fetch it again"),
    "empty": ("\n\n", r"yeast\.data is empty: fetch it again"),
    "not text": (b"\x89PNG\xff\xfe", r"yeast\.data is not a text file \(.*\): fetch it again"),
}


@pytest.mark.parametrize(("text", "message"), BAD_YEAST.values(), ids=BAD_YEAST)
def test_damaged_yeast_files_are_refused_with_the_place(yeast, text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_yeast(yeast(text))
