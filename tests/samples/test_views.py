"""Several tables: read, aligned, and what cannot be used is refused."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.errors import InvalidInputError
from kernelweave.kernels import Gaussian, KernelBank, Linear
from kernelweave.kernels.view_bank import ViewBank

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=(6, 2))
IDS = list("abcdef")


def frame(X, index=IDS):
    return pd.DataFrame(X, index=index, columns=[f"c{j}" for j in range(X.shape[1])])


@pytest.mark.parametrize(
    "table", [A, sparse.csr_array(A), sparse.dok_array(A), frame(A), pl.DataFrame(A), A.tolist(), np.asfortranarray(A)]
)
def test_every_kind_of_table_holds_the_same_numbers(table):
    found = Views({"a": table}).tables[0]
    assert_allclose(found.toarray() if sparse.issparse(found) else found, A)


def test_a_list_of_tables_gets_names():
    assert Views([A, B]).names == ("view 0", "view 1")


def test_single_precision_is_kept_where_all_tables_have_it():
    assert Views([A.astype(np.float32), frame(B.astype(np.float32))]).dtype == np.float32
    assert Views([A.astype(np.float32), B]).dtype == np.float64


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


def test_selected_samples_keep_their_rows():
    views = Views({"a": frame(A), "b": B}, missing={"a": [1, 2]})
    some = views.select([5, 1, 3])
    assert_allclose(some.tables[0], A[[5, 3]])
    assert_allclose(some.tables[1], B[[5, 1, 3]])
    assert_array_equal(some.sample_names, ["f", "b", "d"])
    assert_array_equal(some.present, [[1, 0, 1], [1, 1, 1]])


def test_annotated_data_is_read_without_its_package():
    def annotated(X, ids):
        return SimpleNamespace(X=X, obs_names=pd.Index(ids), var_names=pd.Index([f"g{j}" for j in range(X.shape[1])]))

    parts = {"rna": annotated(sparse.csr_array(A), IDS), "protein": annotated(B[:4], IDS[:4])}
    views = Views(SimpleNamespace(mod=parts, obs_names=pd.Index(IDS)))
    assert views.names == ("rna", "protein")
    assert_array_equal(views.present[1], [1, 1, 1, 1, 0, 0])
    assert Views(parts["rna"]).names == ("X",)


def poked(value):
    X = A.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("tables", "missing", "message"),
    [
        ({}, {}, "No view was given"),
        ([], {}, "No view was given"),
        (A, {}, "made of a dict or a list of tables; got ndarray"),
        ({"a": A, "b": B[:4]}, {}, "'a' has 6, 'b' has 4"),
        ({"a": pd.DataFrame(A), "b": pd.DataFrame(B[:4])}, {}, "'a' has 6, 'b' has 4"),
        ({"a": frame(A, list("aacdef")), "b": frame(B)}, {}, "index of view 'a' holds 'a' more than once"),
        ({"a": frame(A), "b": B[:4]}, {}, "'b' has no index to align its 4 rows by"),
        ({"a": frame(A), "b": frame(B[::-1], IDS[::-1]), "c": B}, {}, "'c' has no index.*different orders"),
        ({"a": poked(np.nan), "b": B}, {}, r"'a' holds NaN or infinity at row 3, column 1 \(1 in all\)"),
        ({"a": poked(np.inf), "b": B}, {}, "'a' holds NaN or infinity at row 3, column 1"),
        ({"a": sparse.csr_array(poked(np.nan)), "b": B}, {}, "'a' holds NaN or infinity at row 3, column 1"),
        ({"a": A, "b": B}, {"a": [0, 2], "b": [2, 3]}, r"1 sample\(s\), which every view lacks: 2"),
        ({"a": frame(A), "b": frame(B)}, {"a": ["b"], "b": ["b"]}, "every view lacks: b"),
        ({"a": A}, {"c": [0]}, "missing names the view 'c'"),
        ({"a": A}, {"a": [7]}, r"missing\['a'\] must be a mask of the 6 samples"),
        ({"a": frame(A)}, {"a": ["zoe"]}, r"missing\['a'\] must be a mask"),
        ({"a": A, "b": "table"}, {}, "'b' must be an array, a sparse matrix or a data frame; got str"),
        ({"a": A, "b": None}, {}, "'b' must be an array"),
        ({"a": A, "b": A[0]}, {}, "'b' must be a table.*got 1 dimension"),
        ({"a": A, "b": A.astype(str)}, {}, "'b' must hold numbers"),
        ({"a": A, "b": pd.DataFrame({"t": list("abcdef")})}, {}, "'b' must hold numbers, but its column 't'"),
        ({"a": A, "b": np.empty((6, 0))}, {}, "'b' is empty"),
        ({1: A, "1": B}, {}, "names of views must differ"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(tables, missing, message):
    with pytest.raises(InvalidInputError, match=message):
        Views(tables, missing=missing)


def test_a_bank_of_views_names_kernels_after_their_view():
    bank = ViewBank({"a": KernelBank([Gaussian(t=1)]), "b": KernelBank([Linear(), Gaussian(t=2)])})
    assert bank.names == ("a: gaussian(t=1)", "b: linear", "b: gaussian(t=2)")
    assert bank.views == ("a", "b", "b")


@pytest.fixture
def bank():
    return ViewBank({"a": KernelBank([Gaussian(t=1)]), "b": KernelBank([Linear(), Gaussian(t=2)])})


def test_the_kernels_of_complete_views_are_those_of_the_tables(bank):
    H = bank.fit_grams(Views({"a": A, "b": B}))
    assert_allclose(H[0], KernelBank([Gaussian(t=1)]).fit_grams(A)[0])
    assert_allclose(H[1], B @ B.T)


@pytest.mark.parametrize("missing", [{}, {"a": [0, 4], "b": [1]}])
def test_tiles_and_new_samples_agree_with_the_whole(bank, missing):
    views = Views({"a": A, "b": B}, missing=missing)
    H = bank.fit_grams(views)
    assert_allclose(bank.grams(views.select([4, 1, 3]), views), H[:, [4, 1, 3]])
    tile = bank.unfitted().fit_tiles(views)
    assert_allclose(tile(slice(0, 1), slice(3, 6)), H[:, :1, 3:])
    assert_allclose(tile(slice(1, 5), slice(1, 5)), H[:, 1:5, 1:5])


def test_constants_are_fixed_on_the_samples_that_a_view_has(bank):
    far = A.copy()
    far[0] = 1e6
    bank.fit(Views({"a": far, "b": B}, missing={"a": [0]}))
    assert_allclose(bank.banks["a"].kernels[0].diameter, Gaussian(t=1).fit(A[1:]).diameter)


def test_a_new_sample_may_lack_a_view_that_all_training_samples_have(bank):
    views = Views({"a": A, "b": B})
    bank.fit(views)
    H = bank.grams(Views({"a": A[:2], "b": B[:2]}, missing={"a": [0]}), views)
    assert H.shape == (3, 2, 6)
    assert np.isfinite(H).all()
    assert_allclose(H[:, 1], bank.grams(views)[:, 1])


@pytest.mark.parametrize(
    ("views", "message"),
    [
        (Views({"a": A}), "kernels for the views a, b; got a"),
        (A, "kernels for the views a, b; got ndarray"),
        (Views({"a": A, "b": B}, missing={"a": [0, 1, 2, 3, 4]}), "View 'a' has 1 of 6 samples; at least 2"),
        (Views({"a": np.full((6, 3), np.nan), "b": B}), "View 'a' has 0 of 6 samples"),
        (Views({"a": np.ones((6, 1)), "b": B}), "View 'a': All 6 samples are identical"),
    ],
)
def test_views_that_a_bank_cannot_use_are_refused(bank, views, message):
    with pytest.raises(InvalidInputError, match=message):
        bank.fit(views)


def test_a_bank_that_is_not_fitted_says_so(bank):
    with pytest.raises(InvalidInputError, match="not fitted"):
        bank.grams(Views({"a": A, "b": B}))
