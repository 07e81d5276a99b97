"""Labels of some samples: what counts as unlabelled, and which type the classes have."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from kernelweave import WeaveClassifier
from kernelweave.errors import InvalidInputError
from kernelweave.samples.partial_labels import encode_partial_labels

CODES = [0, -1, 1, -1]


def encode(y):
    return encode_partial_labels(y, n_samples=len(y))


@pytest.mark.parametrize("blank", [None, np.nan, pd.NA, pd.NaT, -1, -1.0, "-1", "", " ", "nan"], ids=repr)
@pytest.mark.parametrize(
    "make", [list, tuple, lambda y: np.array(y, dtype=object), lambda y: pd.Series(y, dtype=object)]
)
def test_every_kind_of_blank_is_unlabelled_among_texts(blank, make):
    classes, codes = encode(make(["a", blank, "b", blank]))
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == CODES


@pytest.mark.parametrize("blank", [None, np.nan, pd.NA, -1, "-1", "", " ", "nan"], ids=repr)
@pytest.mark.parametrize("make", [list, lambda y: np.array(y, dtype=object)], ids=["list", "objects"])
def test_every_kind_of_blank_is_unlabelled_among_integers_which_stay_integers(blank, make):
    classes, codes = encode(make([1, blank, 10, blank]))
    assert classes.dtype.kind == "i"
    assert classes.tolist() == [1, 10]
    assert codes.tolist() == CODES


@pytest.mark.parametrize(
    "y",
    [
        pd.Categorical(["a", None, "b", None]),
        pd.Series(["a", None, "b", ""], dtype="category"),
        pd.Series(["a", None, "b", "-1"], dtype="string"),
        pd.Series(["a", None, "b", None]),
        pd.array(["a", None, "b", ""], dtype="string"),
        pl.Series(["a", None, "b", ""]),
        np.array(["a", "", "b", "-1"]),
        np.array(["a", np.nan, "b", "  "]),
        np.ma.masked_array(["a", "c", "b", "c"], mask=[False, True, False, True]),
    ],
    ids=lambda y: f"{type(y).__name__}-{y.dtype}",
)
def test_texts_of_every_container(y):
    classes, codes = encode(y)
    assert classes.tolist() == ["a", "b"]
    assert codes.tolist() == CODES


@pytest.mark.parametrize(
    "y",
    [
        np.array([1, np.nan, 2, np.nan]),
        pd.Series([1, None, 2, None]),
        pd.Series([1, None, 2, -1], dtype="Int64"),
        pd.array([1, None, 2, None], dtype="Int8"),
        pd.Categorical([1, None, 2, None]),
        pd.Series([1, None, 2, -1], dtype="Int64").astype("category"),
        pl.Series([1, None, 2, None]),
    ],
    ids=lambda y: f"{type(y).__name__}-{y.dtype}",
)
def test_integers_of_every_container_stay_integers(y):
    classes, codes = encode(y)
    assert classes.dtype.kind == "i"
    assert classes.tolist() == [1, 2]
    assert codes.tolist() == CODES


def test_truth_values_with_blanks():
    classes, codes = encode(pd.array([False, None, True, None], dtype="boolean"))
    assert classes.tolist() == [False, True]
    assert codes.tolist() == CODES


@pytest.mark.parametrize("blank", [-1, -1.0, np.nan, None])
def test_truth_values_stay_truth_values_beside_what_marks_unlabelled_samples(blank):
    for y in ([False, blank, True, blank], [np.False_, blank, np.True_, blank]):
        classes, codes = encode(y)
        assert classes.dtype == bool
        assert classes.tolist() == [False, True]
        assert codes.tolist() == CODES


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy has this type since 2.0")
def test_texts_of_variable_length_of_numpy_are_labels():
    for kind, blank in ((np.dtypes.StringDType(), ""), (np.dtypes.StringDType(na_object=np.nan), np.nan)):
        classes, codes = encode(np.array(["a", blank, "b", blank], dtype=kind))
        assert classes.tolist() == ["a", "b"]
        assert codes.tolist() == CODES


def test_floats_without_blanks_keep_their_type():
    assert encode(np.array([1.0, -1.0, 2.0, 2.0]))[0].dtype == float


@pytest.mark.parametrize("y", [["a", 1, "b", -1], np.array(["a", 1, "b", -1], dtype=object)], ids=["list", "objects"])
def test_texts_beside_numbers_are_refused(y):
    with pytest.raises(InvalidInputError, match=r"y mixes labels of types str and int: 'a' at sample 0, 1 at sample 1"):
        encode(y)


def test_truth_values_beside_numbers_are_refused():
    with pytest.raises(InvalidInputError, match=r"y mixes labels of types bool and int: True at sample 0, 2 at sample"):
        encode([True, None, 2, 3])
    with pytest.raises(InvalidInputError, match=r"y mixes labels of types bool and int: True at sample 0, 2 at sample"):
        encode([True, -1, 2, 3])


def test_infinity_is_not_a_label():
    with pytest.raises(InvalidInputError, match=r"y contains infinity, first at sample 2"):
        encode([0.0, 1.0, np.inf, np.nan])


def test_nothing_but_blanks_is_refused():
    with pytest.raises(InvalidInputError, match=r"All 4 samples are unlabelled"):
        encode([None, np.nan, "", -1])


def test_a_classifier_returns_the_classes_that_it_was_given():
    X = np.r_[np.random.default_rng(0).normal(size=(20, 2)), np.random.default_rng(1).normal(9, size=(20, 2))]
    y = pd.Series([7] + [None] * 19 + [8] + [None] * 19)
    found = WeaveClassifier().fit(X, y)
    assert found.classes_.dtype.kind == "i"
    assert found.transduction_.tolist() == [7] * 20 + [8] * 20


@pytest.mark.parametrize("dtype", ["S1", object])
def test_labels_of_bytes_are_refused_with_the_cure(dtype):
    with pytest.raises(InvalidInputError, match=r"bytes \(such as .*b'a'.*\), not text: pass y.astype\(str\)"):
        encode_partial_labels(np.array([b"a", b"b"], dtype=dtype), n_samples=2)


@pytest.mark.parametrize(
    "y",
    [
        [(1, 2), None, (3, 4), (1, 2)],
        pd.Series([[1], [2], [1], [2]]),
        pd.Series(pd.period_range("2020", periods=4, freq="M")),
        pd.cut(pd.Series([1.0, 2.0, 3.0, 4.0]), 2),
        [np.array([0, -1, 1]), np.array([1]), np.array([0, -1]), np.array([1, 1])],
    ],
    ids=["tuples", "lists", "periods", "intervals", "arrays of labels"],
)
def test_labels_that_are_neither_texts_nor_numbers_are_refused(y):
    with pytest.raises(InvalidInputError, match=r"labels in y cannot be classes: sample 0 has .* Pass one text or"):
        encode(y)
