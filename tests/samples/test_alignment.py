"""Tables of the same samples: one order for all, and which samples each of them lacks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.errors import ColumnsWarning, InvalidInputError

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


@pytest.mark.parametrize("turned", [False, True], ids=["counted first", "sorted first"])
def test_a_sorted_table_is_refused_beside_one_that_counts_its_rows(turned):
    tables = {"a": frame(A, None), "b": frame(B, None).iloc[[2, 0, 1, 5, 4, 3]]}
    with pytest.raises(
        InvalidInputError, match=r"View 'a' counts its rows 0, 1, 2, ..., and the index of view 'b' has"
    ):
        Views(dict(reversed(tables.items())) if turned else tables)
    views = Views(tables | {"b": tables["b"].sort_index()})
    assert_allclose(views.tables[1], B)


def test_row_numbers_of_other_rows_are_no_names_beside_counted_ones():
    subset = frame(B, [1, 9, 4, 7, 12, 3])  # as of a split for cross-validation
    views = Views({"a": frame(A, None), "b": subset})
    assert_array_equal(views.sample_names, subset.index)
    assert_allclose(views.tables[0], A)


def test_tables_with_the_same_shuffled_row_numbers_are_found_by_them():
    views = Views({"a": frame(A, None).iloc[::-1], "b": frame(B, None).iloc[[2, 0, 1, 5, 4, 3]]})
    assert_array_equal(views.sample_names, [5, 4, 3, 2, 1, 0])
    assert_allclose(views.tables[1], B[::-1])


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


def test_samples_may_be_numbered_in_whole_numbers_and_in_others():
    # warnings are errors: pandas warns where indexes of two types are joined and one is empty
    whole, others = (pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=index) for index in ([7, 5, 9], [5.0, 9.0, 7.0]))
    views = Views({"left": whole, "right": others})
    assert_array_equal(views.sample_names, [7, 5, 9])
    assert_array_equal(views.tables[1].ravel(), [3, 1, 2])


def test_permuting_the_samples_permutes_all_tables_alike():
    order = RNG.permutation(6)
    views = Views({"a": frame(A).iloc[order], "b": frame(B)})
    assert_array_equal(views.sample_names, np.array(IDS)[order])
    assert_allclose(views.tables[0], A[order])
    assert_allclose(views.tables[1], B[order])


def ids(letter, numbers):
    return [f"{letter}{i}" for i in numbers]


def rows(index, columns=2):
    return pd.DataFrame(RNG.normal(size=(len(index), columns)), index=index)


def test_frames_that_name_their_samples_differently_are_refused():
    with pytest.raises(
        InvalidInputError, match=r"'b' shares none of its 40 samples with 'a': its index holds 'S0', 'S"
    ):
        Views({"a": rows(ids("s", range(60))), "b": rows(ids("S", range(40)))})


def test_frames_that_share_hardly_any_samples_are_refused():
    few = rows(ids("s", [*range(1), *range(100, 139)]))  # 1 of 40
    with pytest.raises(InvalidInputError, match=r"'b' shares 1 of its 40 samples .* rows of NaN"):
        Views({"a": rows(ids("s", range(60))), "b": few})
    some = rows(ids("s", [*range(2), *range(100, 138)]))  # 2 of 40
    assert Views({"a": rows(ids("s", range(60))), "b": some}).n_samples == 98


def test_a_small_table_within_a_large_one_shares_enough():
    assert Views({"a": rows(ids("s", range(1000))), "b": rows(ids("s", range(20)))}).n_samples == 1000


def test_views_may_be_linked_through_a_third():
    first, between, last = range(20), range(10, 40), range(30, 50)
    views = Views({"first": rows(ids("s", first)), "last": rows(ids("s", last)), "between": rows(ids("s", between))})
    assert views.n_samples == 50


def test_two_pairs_of_views_that_share_nothing_are_refused():
    tables = {"a": "s", "b": "s", "c": "t", "d": "t"}
    with pytest.raises(InvalidInputError, match=r"'c' shares none of its 9 samples with 'a', 'b': its"):
        Views({name: rows(ids(letter, range(9))) for name, letter in tables.items()})


def test_different_samples_are_accepted_when_their_gaps_are_written_out():
    every = [*ids("s", range(9)), *ids("t", range(9))]
    views = Views({"a": rows(every[:9]).reindex(every), "b": rows(every[9:]).reindex(every)})
    assert views.present.sum() == 18


def test_a_mask_of_missing_samples_is_aligned_by_its_index():
    mask = pd.Series([True, False, False, False, False, False], index=IDS)
    views = Views({"a": frame(A), "b": frame(B)}, missing={"b": mask.iloc[::-1]})
    assert_array_equal(views.present[1], [0, 1, 1, 1, 1, 1])
    with pytest.raises(InvalidInputError, match=r"The index of missing\['b'\] must hold every sample once, 6 samples"):
        Views({"a": frame(A), "b": frame(B)}, missing={"b": mask.set_axis(list("abcdex"))})


def test_numbers_that_may_be_positions_or_names_of_missing_samples_are_refused():
    tables = {"a": frame(A, [1, 2, 3, 4, 5, 6]), "b": frame(B, [1, 2, 3, 4, 5, 6])}
    with pytest.raises(InvalidInputError, match=r"missing\['b'\] holds 1, which may be the position .* or its name"):
        Views(tables, missing={"b": [1, 2]})
    mask = tables["b"].index.isin([1, 2])
    assert_array_equal(Views(tables, missing={"b": mask}).present[1], [0, 0, 1, 1, 1, 1])


def test_numbers_that_only_name_missing_samples_are_names():
    patients = [101, 102, 103, 104, 105, 106]
    tables = {"a": frame(A, patients), "b": frame(B, patients)}
    assert_array_equal(Views(tables, missing={"b": [102]}).present[1], [1, 0, 1, 1, 1, 1])
    assert_array_equal(Views(tables, missing={"b": [2]}).present[1], [1, 1, 0, 1, 1, 1])


def test_samples_missing_from_a_mixed_table_are_missing_from_both_of_its_views():
    clinic = pd.DataFrame({"sex": list("mfmfmf"), "age": [30.0, 41.0, 52.0, 63.0, 44.0, 35.0]}, index=IDS)
    with pytest.warns(ColumnsWarning, match="read as a mixed table"):
        views = Views({"a": frame(A), "clinic": clinic}, missing={"clinic": ["b"]})
    assert views.names == ("a", "clinic: numbers", "clinic: categories")
    assert_array_equal(views.present.all(axis=0), [1, 0, 1, 1, 1, 1])
    assert views.present[0].all()


def test_a_sample_without_a_name_is_refused():
    nameless = frame(B, ["a", None, "c", "d", "e", "f"])
    with pytest.raises(InvalidInputError, match="The index of view 'b' has no name for the sample in row 1"):
        Views({"a": frame(A), "b": nameless})


@pytest.mark.parametrize(
    ("own", "again"), [("P1", "p1"), ("P1", "P1 "), ("TCGA-01", "TCGA.01"), ("S001", "S1"), ("x y", "x_y")]
)
def test_names_that_are_nearly_the_same_text_in_two_views_are_said(own, again):
    with pytest.warns(UserWarning, match=f"1 pair of samples .* {own!r} in view 'a' and {again!r} in view 'b'"):
        views = Views({"a": frame(A, [own, *"bcdef"]), "b": frame(B, [again, *"bcdef"])})
    assert views.n_samples == 7


def test_names_that_one_view_tells_apart_are_different_samples():
    both = ["P1", "p1", *"cdef"]
    assert Views({"a": frame(A, both), "b": frame(B[:5], both[1:])}).n_samples == 6  # and no warning
    assert Views({"a": frame(A, ["CD4+", *"bcdef"]), "b": frame(B, ["CD4-", *"bcdef"])}).n_samples == 7


@pytest.mark.parametrize("turned", ["a", "b"])
def test_a_table_whose_columns_are_the_samples_is_told_to_be_transposed(turned):
    tables = {"a": frame(A), "b": frame(B).add_prefix("b")}
    with pytest.raises(InvalidInputError, match=f"The columns of view {turned!r} have the names of the samples of"):
        Views(tables | {turned: tables[turned].T})
