"""Arguments that make no sense are refused by name; numbers of any size are explained alike."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from kernelweave import WeaveClassifier, WeaveClustering, view_importance
from kernelweave.baselines import LGC, SimpleMKKM
from kernelweave.errors import InvalidInputError
from kernelweave.explain import associate, check_labels, compare_clusterings, explain_clusters, explain_sample

X = np.random.default_rng(0).normal(size=(24, 3)) + np.repeat([[0, 0, 0], [9, 0, 0], [0, 9, 0]], 8, axis=0)
KIND = np.repeat([0, 1, 2], 8)


@pytest.fixture(scope="module")
def model():
    return WeaveClustering(3, random_state=0).fit(X)


@pytest.mark.parametrize("value", ["2", 2.0, True, None, 10**30, np.nan, [3], pd.NA])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("n_permutations", lambda model, value: associate(model, X, n_permutations=value)),
        ("n_splits", lambda model, value: explain_clusters(model, X, n_splits=value)),
        ("n_splits", lambda model, value: check_labels(WeaveClassifier(), X, KIND, n_splits=value)),
        ("sample", lambda model, value: explain_sample(model, X, value)),
        ("n_neighbors", lambda model, value: explain_sample(model, X, 0, n_neighbors=value)),
        ("n_resamples", lambda model, value: view_importance(model, {"a": X, "b": X}, n_resamples=value)),
    ],
)
def test_a_count_that_is_no_whole_number_is_refused_by_name(model, name, call, value):
    with pytest.raises(InvalidInputError, match=f"{name} must be a whole number"):
        call(model, value)


@pytest.mark.parametrize("value", [-1, 2**32, 1.5, "0", True, [0], np.nan])
@pytest.mark.parametrize(
    "call",
    [
        lambda value: associate(KIND, X, random_state=value),
        lambda value: explain_clusters(KIND, X, random_state=value),
        lambda value: check_labels(WeaveClassifier(), X, KIND, random_state=value),
    ],
)
def test_a_seed_that_is_none_is_refused(call, value):
    with pytest.raises(InvalidInputError, match="random_state must be a whole number from 0 to"):
        call(value)


@pytest.mark.parametrize("units", [{"wieght": "kg"}, {"weight": "kg", "a: weight": "kg"}, {7: "kg"}])
def test_units_of_columns_that_are_not_there_are_refused(units):
    table = pd.DataFrame(X, columns=["weight", "height", "age"])
    with pytest.raises(
        InvalidInputError, match=r"units names the column '\S.*', which X does not have; its columns are"
    ):
        explain_clusters(KIND, table, units=units)


@pytest.mark.parametrize("units", [["kg"], "kg", {"weight": None}, {"weight": 3}, {"weight": ["kg"]}, 0])
def test_units_are_texts_by_columns(units):
    table = pd.DataFrame(X, columns=["weight", "height", "age"])
    with pytest.raises(InvalidInputError, match="units must be a dict of columns and texts"):
        explain_clusters(KIND, table, units=units)


def test_units_are_found_by_names_that_are_numbers_and_by_view():
    rows = explain_clusters(KIND, X, units={1: "kg"}).features
    assert set(rows.loc[rows["unit"] == "kg", "feature"]) == {"1"}
    rows = explain_clusters(KIND, {"a": X, "b": X}, units={"0": "m", "b: 0": "cm"}).features
    assert set(rows.loc[rows["unit"] == "cm", "view"]) == {"b"}
    assert set(rows.loc[rows["unit"] == "m", "view"]) == {"a"}


@pytest.mark.parametrize("names", [None, "ab", ("a",), ("a", 2), np.array([1, 2]), 3.0])
def test_names_of_clusterings_are_two_texts(names):
    with pytest.raises(InvalidInputError, match="names must be two texts"):
        compare_clusterings(KIND, KIND, names=names)


@pytest.mark.parametrize("value", ["1", True, None, np.nan, 0, 1.5, [0.5], np.datetime64("NaT")])
def test_a_fraction_is_a_number_between_0_and_1(model, value):
    with pytest.raises(InvalidInputError, match="fraction must lie between 0 and 1"):
        view_importance(model, {"a": X, "b": X}, fraction=value)


def test_labels_are_checked_by_a_classifier_only(model):
    with pytest.raises(InvalidInputError, match="Labels are checked by a classifier"):
        check_labels(model, X, KIND)


def test_views_of_a_model_without_a_graph_are_not_compared():
    with pytest.raises(InvalidInputError, match="SimpleMKKM learns no graph"):
        view_importance(SimpleMKKM(3, random_state=0), {"a": X, "b": X}, n_resamples=0)


def test_columns_of_one_name_are_refused():
    with pytest.raises(InvalidInputError, match="columns of X must have different names"):
        explain_clusters(KIND, pd.DataFrame(X, columns=["a", "a", "b"]).assign(word="x"))


@pytest.mark.parametrize("kind", ["M8[D]", "m8[s]"])
def test_arrays_of_dates_and_durations_are_refused(kind):
    days = np.arange(72).reshape(24, 3).astype(kind)
    days[3, 1] = np.array("NaT", dtype=kind)
    with pytest.raises(InvalidInputError, match=r"numbers are real; got (datetime|timedelta)64"):
        explain_clusters(KIND, days)


def test_complex_numbers_are_refused():
    with pytest.raises(InvalidInputError, match="numbers are real; got complex128"):
        explain_clusters(KIND, X + 1j)


@pytest.mark.parametrize("form", ["csc", "coo", "lil", "dok", "dia", "bsr"])
def test_every_sparse_format_is_explained_like_the_dense_table(form):
    found = explain_clusters(KIND, sparse.csr_matrix(X).asformat(form))
    assert found.to_json() == explain_clusters(KIND, X).to_json()
    views = {"a": sparse.csr_matrix(X).asformat(form), "b": X}
    assert len(explain_clusters(KIND, views).features) == 18


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_features_of_every_kind_of_frame_can_be_held_out(make):
    wide = {f"c{j}": X[:, j % 3] + np.random.default_rng(j).normal(size=24) for j in range(4)}
    model = WeaveClustering(3, random_state=0).fit(make(wide))
    found = explain_clusters(model, make(wide), test=True, n_splits=2).features
    assert found["p_value"].between(0, 1).all()


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array, pd.DataFrame, lambda x: {"a": x, "b": X}])
def test_numbers_whose_squares_overflow_are_refused(wrap):
    with pytest.raises(InvalidInputError, match=r"X has values up to .*e\+161, whose squares are too large to explain"):
        explain_clusters(KIND, wrap(X * 1e160))


def test_numbers_that_are_large_or_small_are_explained_like_others():
    expected = explain_clusters(KIND, X).features
    for unit in (2.0**-400, 2.0**480):
        found = explain_clusters(KIND, X * unit).features
        for name in ("effect", "separation", "feature", "direction", "difference"):
            assert found[name].tolist() == expected[name].tolist()
        assert found["mean_in"].tolist() == (expected["mean_in"] * unit).tolist()


@pytest.mark.parametrize("call", [explain_sample, associate])
def test_a_number_among_views_is_refused(model, call):
    arguments = (0,) if call is explain_sample else ()
    with pytest.raises(InvalidInputError, match="table of samples by features; got 0 dimensions"):
        call(model, {"a": X, "b": np.float64(1.0)}, *arguments)


def test_a_number_is_no_table_for_a_model_with_views():
    fitted = WeaveClassifier(views={"a": [0], "b": [1, 2]}).fit(X, KIND)
    with pytest.raises(InvalidInputError, match="table of samples by features; got 0 dimensions"):
        explain_sample(fitted, np.float64(1.0), 0)


def test_a_class_that_no_sample_gets_is_no_runner_up():
    y = np.where(np.arange(24) % 4 == 0, KIND, -1)
    fitted = LGC().fit(X, y)
    fitted.transduction_ = np.where(fitted.transduction_ == 1, 2, fitted.transduction_)
    found = explain_sample(fitted, X, 0)
    assert {found.group, found.runner_up} == {"0", "2"}
    assert found.membership == fitted.label_distributions_[0, 0]


@pytest.mark.parametrize("value", [1, "yes", None, np.array([True, False])])
def test_whether_to_test_is_a_boolean(model, value):
    with pytest.raises(InvalidInputError, match="test must be True or False"):
        explain_clusters(model, X, test=value)
