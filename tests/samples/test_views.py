"""Several tables: read, selected, and what cannot be used is refused."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.errors import InvalidInputError

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
        ({"a": A, "b": B}, {"a": [0, 2], "b": [2, 3]}, r"1 sample, which every view lacks: 2"),
        ({"a": frame(A), "b": frame(B)}, {"a": ["b"], "b": ["b"]}, "every view lacks: b"),
        ({"a": A}, {"c": [0]}, "missing names the view 'c'"),
        ({"a": A}, {"a": [7]}, r"missing\['a'\] must be a mask of 6 samples, their positions"),
        ({"a": frame(A)}, {"a": ["zoe"]}, r"missing\['a'\] must be a mask"),
        ({"a": A}, [3], r"missing must be a dict of views and the samples that each lacks; got \[3\]"),
        ({"a": A, "b": "table"}, {}, "'b' must be an array, a sparse matrix or a data frame; got str"),
        ({"a": A, "b": None}, {}, "'b' must be an array"),
        ({"a": A, "b": A[0]}, {}, "'b' must be a table.*got 1 dimension"),
        ({"a": A, "b": A.astype(str)}, {}, "'b' must hold numbers"),
        ({"a": A, "b": pd.DataFrame({"t": list("abcdef")})}, {}, r"'b' has no column that tells .*\('t': every text"),
        ({"a": A, "b": np.empty((6, 0))}, {}, "'b' is empty"),
        ({1: A, "1": B}, {}, "names of views must differ"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(tables, missing, message):
    with pytest.raises(InvalidInputError, match=message):
        Views(tables, missing=missing)


@pytest.mark.parametrize("nothing", [[], (), np.array([], dtype=int), pd.Index([])])
def test_a_view_may_lack_no_sample(nothing):
    assert Views({"a": frame(A), "b": frame(B)}, missing={"a": nothing}).complete


def test_one_table_is_a_view_called_X_that_is_not_copied():
    views = Views.of_table(A)
    assert views.names == ("X",)
    assert views.tables[0] is A
    assert views.complete
    assert (views.shape, views.widths, len(views)) == ((6, 3), (3,), 6)


def test_views_say_what_they_ask_of_a_solver():
    assert Views.of_table(A).requirements == {}
    assert Views([A]).requirements == {}
    assert Views([A, B]).requirements == {"views": "several views"}
    assert set(Views([A, B], missing={"view 0": [2]}).requirements) == {"views", "gaps"}


def test_some_of_the_views_may_be_taken_in_any_order():
    views = Views({"a": A, "b": B, "c": A[:, :1]})
    some = views.only(["c", "a"])
    assert some.names == ("c", "a")
    assert some.widths == (1, 3)
    assert_allclose(some.tables[1], A)


@pytest.mark.parametrize(("names", "message"), [(["d"], "The views are 'a', 'b'; got 'd'"), ([], "got none")])
def test_views_that_are_not_there_cannot_be_taken(names, message):
    with pytest.raises(InvalidInputError, match=message):
        Views({"a": A, "b": B}).only(names)


def test_a_view_that_lacks_samples_cannot_be_taken_alone():
    with pytest.raises(InvalidInputError, match="which every view lacks: 2"):
        Views({"a": A, "b": B}, missing={"a": [2]}).only(["a"])


def test_tables_are_changed_one_by_one_and_gaps_stay():
    views = Views({"a": A, "b": B}, missing={"a": [2]})
    twice = views.map({"a": lambda table: 2 * table, "b": lambda table: table})
    assert_allclose(twice.tables[0], 2 * A[[0, 1, 3, 4, 5]])
    assert_array_equal(twice.present, views.present)


def test_another_precision_leaves_the_views_as_they_are():
    views = Views([A, B])
    assert views.astype(np.float32).dtype == np.float32
    assert views.dtype == np.float64


def test_views_that_have_the_precision_already_are_copied_only_if_wanted():
    views = Views({"a": A, "b": B})
    assert views.astype(np.float64, copy=False) is views
    assert views.astype(np.float64) is not views
    both = Views({"a": A.astype(np.float32), "b": B}).astype(np.float64, copy=False)
    assert [table.dtype for table in both.tables] == [np.float64, np.float64]


def test_views_are_not_made_of_views():
    with pytest.raises(InvalidInputError, match="These are Views already"):
        Views(Views([A]))


def test_views_describe_themselves_with_singular_and_plural():
    assert repr(Views({"a": A, "b": B[:, :1]}, missing={"a": [0]})) == (
        "Views(a: 5 of 6 samples, 3 columns; b: 6 of 6 samples, 1 column)"
    )


def test_a_frame_of_numpy_numbers_is_read_without_a_look_at_every_column(monkeypatch):
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3), index=list("wxyz"), columns=["a", "b", "c"])
    typed = {"all": frame, "whole": frame.astype(int), "single": frame.astype(np.float32), "b": frame[["a"]] > 3}
    expected = Views({name: table.convert_dtypes() for name, table in typed.items()})  # pandas' own types

    def refuse(*_, **__):
        raise AssertionError

    monkeypatch.setattr("narwhals.from_native", refuse)
    views = Views(typed)
    assert views.sample_names.tolist() == list("wxyz")
    for found, wanted in zip(views.tables, expected.tables, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert Views({"x": frame.astype(np.float32)}).dtype == np.float32
