"""Tables of the same samples: one order for all, and which samples each of them lacks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))
IDS = list("abcdef")


def frame(X, index=IDS):
    return pd.DataFrame(X, index=index, columns=[f"c{j}" for j in range(X.shape[1])])


def test_frames_are_aligned_by_their_index():
    order = RNG.permutation(6)
    views = Views({"a": frame(A), "b": frame(B).iloc[order]})
    assert_array_equal(views.sample_names, IDS)
    assert_allclose(views.tables[1], B)
    assert views.complete


def test_a_sample_that_a_table_does_not_have_is_missing_there():
    views = Views({"a": frame(A).iloc[[0, 1, 3]], "b": frame(B).iloc[[5, 3, 2, 0]]})
    assert_array_equal(views.sample_names, ["a", "b", "d", "f", "c"])
    assert_array_equal(views.present, [[1, 1, 1, 0, 0], [1, 0, 1, 1, 1]])
    assert_allclose(views.tables[0], A[[0, 1, 3]])
    assert_allclose(views.tables[1], B[[0, 3, 5, 2]])


def test_an_index_that_only_counts_rows_names_no_samples():
    views = Views({"a": pd.DataFrame(A), "b": B, "c": pl.DataFrame(B)})
    assert views.sample_names is None
    assert views.complete


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_array], ids=lambda f: f.__name__)
def test_a_row_of_nan_is_a_missing_sample(make):
    X = A.copy()
    X[[1, 4]] = np.nan
    views = Views({"a": make(X), "b": B})
    assert_array_equal(np.flatnonzero(~views.present[0]), [1, 4])
    assert views.tables[0].shape == (4, 3)


def test_a_masked_array_may_miss_rows():
    X = np.ma.masked_array(A, mask=np.zeros_like(A, dtype=bool))
    X[2] = np.ma.masked
    assert_array_equal(np.flatnonzero(~Views([X, B]).present[0]), [2])


@pytest.mark.parametrize("which", [[1, 2], np.isin(np.arange(6), [1, 2]), ["b", "c"]])
def test_missing_samples_may_be_named(which):
    views = Views({"a": frame(A), "b": B}, missing={"a": which})
    assert_array_equal(np.flatnonzero(~views.present[0]), [1, 2])
    assert_allclose(views.tables[0], A[[0, 3, 4, 5]])


def test_a_table_without_an_index_keeps_its_order_beside_frames_in_the_same_order():
    views = Views({"a": frame(A), "b": B, "c": frame(B)})
    assert_allclose(views.tables[1], B)
    assert_array_equal(views.sample_names, IDS)


def test_an_index_that_counts_from_another_number_names_samples():
    views = Views({"a": pd.DataFrame(A, index=range(1, 7)), "b": pd.DataFrame(B, index=range(2, 8))})
    assert_array_equal(views.sample_names, np.arange(1, 8))
    assert_array_equal(views.present, [[1, 1, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1, 1]])


def test_permuting_the_samples_permutes_all_tables_alike():
    order = RNG.permutation(6)
    views = Views({"a": frame(A).iloc[order], "b": frame(B)})
    assert_array_equal(views.sample_names, np.array(IDS)[order])
    assert_allclose(views.tables[0], A[order])
    assert_allclose(views.tables[1], B[order])
