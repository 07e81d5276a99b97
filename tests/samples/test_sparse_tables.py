"""Sparse matrices of any make, and data frames with sparse columns, are read as the numbers that they hold."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from kernelweave import Views, WeaveClustering
from kernelweave.baselines import LMVSC

X = make_blobs(40, n_features=4, centers=3, random_state=0)[0]
A = X[:, :3]
SPARSE = np.where(X > 0, X, 0)
SPARSE_FRAMES = {
    "all columns": pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(SPARSE), columns=list("abcd")),
    "numbers as names": pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(SPARSE)),
    "filled with ones": pd.DataFrame(
        {c: pd.arrays.SparseArray(v, fill_value=1.0) for c, v in zip("abcd", SPARSE.T, strict=True)}
    ),
    "some columns": pd.DataFrame(SPARSE, columns=list("abcd")).astype({"b": pd.SparseDtype(float, 0)}),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("frame", SPARSE_FRAMES.values(), ids=list(SPARSE_FRAMES))
def test_sparse_columns_of_pandas_are_numbers(frame):
    expected = WeaveClustering(3, random_state=0).fit(SPARSE).labels_
    model = WeaveClustering(3, random_state=0).fit(frame)
    assert model.view_names_ == ("X",)
    assert_array_equal(model.labels_, expected)
    assert_array_equal(model.predict(frame.iloc[:5, ::-1]), expected[:5])


@pytest.mark.parametrize("frame", SPARSE_FRAMES.values(), ids=list(SPARSE_FRAMES))
def test_sparse_columns_of_pandas_are_numbers_in_views_too(frame):
    views = Views({"a": frame, "b": A})
    table = views.tables[0]
    assert views.names == ("a", "b")
    assert_array_equal(table.toarray() if sparse.issparse(table) else table, SPARSE)


@pytest.mark.filterwarnings("error")
def test_sparse_columns_of_booleans_are_numbers():
    frame = pd.DataFrame({"a": list("xyzx") * 10, "b": list("uvuvu") * 8})
    model = WeaveClustering(3, random_state=0).fit(pd.get_dummies(frame, sparse=True))
    assert_array_equal(model.labels_, WeaveClustering(3, random_state=0).fit(pd.get_dummies(frame)).labels_)


def in_halves(table):
    """Return a CSR matrix with two entries for every cell that is not 0."""
    rows, columns = np.repeat(np.nonzero(table), 2, axis=1)
    starts = np.searchsorted(rows, np.arange(len(table) + 1))
    return sparse.csr_matrix((table[rows, columns] / 2, columns, starts), shape=table.shape)


@pytest.mark.parametrize("form", [lambda X: X, lambda X: [X, A]], ids=["table", "views"])
def test_several_entries_of_a_cell_of_a_sparse_matrix_are_added_up(form):
    halves = in_halves(SPARSE)
    model = WeaveClustering(3, random_state=0).fit(form(halves))
    expected = WeaveClustering(3, random_state=0).fit(form(sparse.csr_matrix(SPARSE)))
    assert [one.share for one in model.scaling_] == [one.share for one in expected.scaling_]
    assert_array_equal(model.labels_, expected.labels_)
    assert halves.nnz == 2 * np.count_nonzero(SPARSE)  # the user's matrix stays as it is


def test_sparse_matrices_may_have_long_indices():
    table = sparse.csr_matrix(SPARSE)
    long = sparse.csr_matrix(SPARSE)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    assert_array_equal(LMVSC(3, random_state=0).fit(long).labels_, LMVSC(3, random_state=0).fit(table).labels_)
