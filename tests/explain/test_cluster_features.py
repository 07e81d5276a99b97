"""The features that set clusters apart."""

import json
from datetime import date, datetime, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import mannwhitneyu
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from kernelweave import Views, WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.explain import Explanation, explain_clusters
from kernelweave.kernels import Mixed


def first(explanation):
    return explanation.features.groupby(explanation.kind)["feature"].first().tolist()


def test_planted_features_come_first_with_their_direction_and_units(planted):
    table, kind = planted
    found = explain_clusters(kind, table).features
    for k in range(3):
        top = found[found["cluster"] == str(k)].iloc[:2].set_index("feature")
        assert set(top.index) == {f"high {k}", f"low {k}"}
        assert top.loc[f"high {k}", "direction"] == "higher"
        assert top.loc[f"low {k}", "direction"] == "lower"
        inside = kind == k
        assert top.loc[f"high {k}", "mean_in"] == pytest.approx(table[f"high {k}"][inside].mean())
        assert top.loc[f"high {k}", "median_out"] == pytest.approx(table[f"high {k}"][~inside].median())


def test_the_effect_is_cliffs_delta(planted):
    table, kind = planted
    rounded = table.round(0)  # with ties
    found = explain_clusters(kind, rounded, n_features=None).features
    for row in found[found["cluster"] == "1"].itertuples():
        x = rounded[row.feature]
        u = mannwhitneyu(x[kind == 1], x[kind != 1]).statistic
        assert row.effect == pytest.approx(2 * u / (30 * 60) - 1)


def test_permuting_the_samples_changes_nothing(planted):
    table, kind = planted
    order = np.random.default_rng(1).permutation(90)
    one = explain_clusters(kind, table).features
    two = explain_clusters(kind[order], table.iloc[order]).features
    pd.testing.assert_frame_equal(one, two)


def test_a_cluster_between_two_others_is_told_by_the_feature_that_separates_it():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 40)
    table = pd.DataFrame({"level": 10 * kind + rng.normal(size=120), "noise": rng.normal(size=120)})
    row = explain_clusters(kind, table).features.query("cluster == '1'").iloc[0]
    assert row["feature"] == "level"
    assert row["direction"] == "between"
    assert row["separation"] > 0.95
    assert abs(row["effect"]) < 0.1


def test_large_values_of_a_cluster_leave_the_means_of_the_others_right():
    kind = np.arange(60) % 3
    values = np.random.default_rng(0).normal(size=60)
    table = pd.DataFrame({"x": np.where(kind == 2, 1e14, values)})
    found = explain_clusters(kind, table).features.set_index("cluster")
    assert found.loc["2", "mean_out"] == pytest.approx(values[kind < 2].mean(), rel=1e-12)
    assert found.loc["0", "mean_in"] == pytest.approx(values[kind == 0].mean(), rel=1e-12)


@pytest.mark.parametrize("n_groups", [2, 3, 7])
def test_the_separation_is_the_mean_absolute_effect_against_the_other_clusters(n_groups):
    rng = np.random.default_rng(n_groups)
    codes = rng.permutation(np.arange(90) % n_groups)
    table = pd.DataFrame(
        {"real": rng.normal(size=90) + (codes == 1), "rare": 1.0 * (rng.random(90) < 0.1), "count": rng.poisson(1, 90)}
    ).astype(float)
    table.loc[rng.random(90) < 0.2, "real"] = np.nan
    found = explain_clusters(codes, table).features
    assert len(found) > 2 * n_groups
    for row in found.itertuples():
        column, known = table[row.feature].to_numpy(), table[row.feature].notna().to_numpy()
        parts = [column[known & (codes == k)] for k in range(n_groups)]
        own = parts.pop(int(row.cluster))
        deltas = [abs(np.sign(own[:, None] - other).mean()) for other in parts]
        assert row.separation == pytest.approx(np.average(deltas, weights=list(map(len, parts))))
        if n_groups == 2:
            assert row.separation == pytest.approx(abs(row.effect))
            assert row.direction in ("higher", "lower")


def test_categories_are_told_by_their_shares():
    kind = np.repeat([0, 1], 50)
    site = np.array(["north", "south"])[kind]
    site[:5] = "south"
    table = pd.DataFrame({"noise": np.random.default_rng(0).normal(size=100), "site": site, "flag": kind == 1})
    rows = explain_clusters(kind, table).features.query("cluster == '0'").set_index("feature")
    assert rows.index[0] == "flag"
    assert rows.loc["site", "type"] == "category"
    told = rows.loc["site", ["category", "direction", "share_in", "share_out"]].tolist()
    assert told == ["north", "more often", pytest.approx(0.9), 0.0]
    assert rows.loc["site", "effect"] == pytest.approx(0.9)
    assert np.isnan(rows.loc["site", "mean_in"])


def test_dates_are_days():
    kind = np.repeat([0, 1], 10)
    day = pd.to_datetime(np.where(kind == 0, "1970-01-02", "1970-01-05"))
    row = explain_clusters(kind, pd.DataFrame({"day": day})).features.iloc[0]
    assert (row["type"], row["mean_in"], row["mean_out"]) == ("date", 1.0, 4.0)


KINDS_OF_DAYS = {
    "texts": ["1970-01-02", "1970-01-05T12:00"],
    "dates": [date(1970, 1, 2), datetime(1970, 1, 5, 12)],
}


@pytest.mark.parametrize("days", KINDS_OF_DAYS.values(), ids=list(KINDS_OF_DAYS))
def test_dates_of_any_make_are_days_as_in_fit(days):
    kind = np.repeat([0, 1], 10)
    table = pd.DataFrame({"day": [days[k] for k in kind], "size": kind + 0.1 * np.arange(20)})
    model = WeaveClustering(2, kernels="mixed", random_state=0).fit(table)
    assert model.readings_["X"].columns[0].kind == "date"
    row = explain_clusters(kind, table).features.set_index("feature").loc["day"].iloc[0]
    assert (row["type"], row["mean_in"], row["mean_out"], row["separation"]) == ("date", 1.0, 4.5, 1.0)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_durations_and_times_of_the_day_are_numbers_of_days(make):
    kind = np.repeat([0, 1], 10)
    long = [[timedelta(days=2), timedelta(hours=12)][k] for k in kind]
    when = [[time(6), time(18)][k] for k in kind]
    rows = explain_clusters(kind, make({"long": long, "when": when})).of(0)
    told = {row["feature"]: (row["type"], row["unit"], row["median_in"], row["median_out"]) for row in rows}
    assert told == {"long": ("number", "days", 2.0, 0.5), "when": ("number", "days", 0.25, 0.75)}


def test_dates_that_were_chosen_to_be_categories_are_explained_so():
    kind = np.repeat([0, 1], 10)
    table = pd.DataFrame({"day": np.where(kind == 0, "1970-01-02", "1970-01-05"), "size": kind + 0.1 * np.arange(20)})
    kernels = Mixed(kinds={"day": "category"})
    model = WeaveClustering(2, kernels=kernels, random_state=0).fit(table)
    assert explain_clusters(model, table).features.set_index("feature").loc["day", "type"].tolist() == ["category"] * 2


def test_missing_values_are_left_out_and_few_values_do_not_come_first_by_chance():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 50)
    mark = 3.0 * kind + rng.normal(size=100)
    mark[rng.choice(100, 30, replace=False)] = np.nan
    rare = np.full(100, np.nan)
    rare[[0, 1, 60, 61]] = [5.0, 6.0, 1.0, 2.0]
    rows = explain_clusters(kind, pd.DataFrame({"rare": rare, "mark": mark})).features.query("cluster == '1'")
    assert rows["feature"].iloc[0] == "mark"
    assert rows["mean_in"].iloc[0] == pytest.approx(np.nanmean(mark[50:]))
    assert rows.set_index("feature").loc["rare", "effect"] == -1


def test_a_constant_column_is_not_listed():
    table = pd.DataFrame({"one": np.ones(20), "two": np.arange(20.0)})
    assert set(explain_clusters(np.arange(20) % 2, table).features["feature"]) == {"two"}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_array, lambda X: X.tolist()])
def test_every_form_of_a_table_gives_the_same(form, planted):
    values = planted[0].to_numpy()
    assert explain_clusters(planted[1], form(values)).rows == explain_clusters(planted[1], values).rows


def test_polars_frames_are_read(planted):
    polars = pytest.importorskip("polars")
    table, kind = planted
    mixed = table.assign(site=np.array(["a", "b", "c"])[kind])
    pd.testing.assert_frame_equal(
        explain_clusters(kind, polars.from_pandas(mixed)).features, explain_clusters(kind, mixed).features
    )


@pytest.mark.parametrize("form", [list, tuple, Views, lambda tables: dict(zip("abc", tables, strict=True))])
def test_features_of_views_are_told_with_their_views(form):
    kind = np.repeat([0, 1, 2], 10)
    marks = [1.0 * (kind == k)[:, None] for k in range(3)]
    tops = explain_clusters(kind, form(marks)).features.groupby("cluster").first()
    assert len(set(tops["view"])) == 3
    assert set(tops["feature"]) == {"0"}


def test_samples_that_lack_a_view_are_aligned_by_their_names():
    kind = np.repeat([0, 1, 2], 30)
    index = [f"s{i:02}" for i in range(90)]
    one = pd.DataFrame({"a": 1.0 * (kind == 0), "site": np.where(kind == 0, "n", "s")}, index=index)
    two = pd.DataFrame({"b": 1.0 * (kind == 1)}, index=index).iloc[59::-1]
    tops = explain_clusters(kind, {"one": one, "two": two}).features.groupby("cluster").first()
    assert tops.loc["0", "view"] == "one"
    assert tops.loc["1", ["view", "feature", "mean_in"]].tolist() == ["two", "b", 1.0]


def test_features_of_one_view_are_named_without_it(planted):
    assert set(explain_clusters(planted[1], {"only": planted[0]}).features["view"]) == {""}


def test_a_model_of_scikit_learn_and_a_classifier_are_explained(planted):
    table, kind = planted
    few = np.where(np.arange(90) % 5 == 0, kind, -1)
    classifier = WeaveClassifier(scale="zscore").fit(table, few)
    assert explain_clusters(classifier, table).features.columns[0] == "class"
    means = KMeans(3, n_init=5, random_state=0).fit(table[["high 0", "high 1", "high 2"]])
    assert {name.split()[0] for name in first(explain_clusters(means, table))} <= {"high", "low"}


def test_an_explanation_survives_json(planted, model):
    found = explain_clusters(model, planted[0].assign(site="x"), test=False)
    again = Explanation.from_json(json.loads(json.dumps(found.to_json())))
    pd.testing.assert_frame_equal(again.features, found.features)
    np.testing.assert_array_equal(again.profile.quantiles, found.profile.quantiles)
    assert again.of(0)[0]["rank"] == 1


def test_the_test_confirms_planted_features_and_few_others(planted, model):
    table, kind = planted
    assert adjusted_rand_score(kind, model.labels_) > 0.95
    found = explain_clusters(model, table, test=True, n_features=None)
    marker = found.features["feature"].str.match("high|low")
    own = found.features["rank"] <= 2
    assert (found.features["q_value"][own] < 0.01).all()
    assert (found.features["q_value"][~marker] <= 0.05).mean() < 0.05
    assert min(found.recovered) > 0.8


def test_the_test_holds_columns_of_every_view_out(planted):
    table, _ = planted
    views = {"high": table.filter(like="high"), "low": table.filter(like="low")}
    model = WeaveClustering(3, random_state=0).fit(views)
    found = explain_clusters(model, views, test=True)
    assert (found.features.query("rank == 1")["q_value"] < 1e-3).all()
    by_columns = WeaveClustering(3, views={"high": list(views["high"]), "low": list(views["low"])}, random_state=0)
    again = explain_clusters(by_columns.fit(table), table, test=True)
    assert again.features["q_value"].notna().all()


def test_the_test_of_a_classifier_needs_its_labels(planted):
    table, kind = planted
    few = np.where(np.arange(90) % 5 == 0, kind, -1)
    classifier = WeaveClassifier(scale="zscore").fit(table, few)
    with pytest.raises(InvalidInputError, match="fits the classifier again: pass its labels y"):
        explain_clusters(classifier, table, test=True)
    found = explain_clusters(classifier, table, few, test=True).features
    assert (found.query("rank == 1")["q_value"] < 1e-4).all()


@pytest.mark.parametrize(
    ("model", "X", "options", "match"),
    [
        ([0, 1, 1], np.eye(2), {}, "X must hold the model's 3 samples; got 2 rows"),
        ([0, 1], np.eye(2), {"test": True}, "got labels: pass the estimator"),
        ([0, 1], np.eye(2), {"n_features": 0}, "n_features must be a whole number, 1 or more, or None; got 0"),
        ([0, 1], lambda: iter([]), {}, "X must be a table of numbers in memory; got function"),
        ([0, 1], np.zeros(2), {}, "X must be a table of samples by features; got 1 dimension"),
    ],
)
def test_refuses_what_cannot_be_explained(model, X, options, match):
    with pytest.raises(InvalidInputError, match=match):
        explain_clusters(model, X, **options)


def test_a_feature_that_is_alone_cannot_be_tested():
    X = np.r_[np.zeros(10), np.ones(10)][:, None] + np.linspace(0, 0.1, 20)[:, None]
    with pytest.raises(InvalidInputError, match="no view has two of them"):
        explain_clusters(WeaveClustering(2, random_state=0).fit(X), X, test=True)


def test_an_unknown_cluster_is_named(planted):
    with pytest.raises(InvalidInputError, match="There is no cluster 7; there are 0, 1, 2"):
        explain_clusters(planted[1], planted[0]).of(7)


def test_a_single_cluster_has_no_features():
    found = explain_clusters(np.zeros(5), np.random.default_rng(0).normal(size=(5, 2)))
    assert found.features.empty
    assert found.profile.features == ()


def test_views_with_missing_cells_are_explained_over_the_known_ones():
    rng = np.random.default_rng(0)
    names = [f"s{i}" for i in range(40)]
    labels = np.repeat([0, 1], 20)
    one = pd.DataFrame({"a": labels * 9.0 + rng.normal(size=40), "word": np.where(labels, "x", "y")}, index=names)
    two = pd.DataFrame({"b": labels * 5.0 + rng.normal(size=40)}, index=names)
    one.loc["s3", "a"] = np.nan
    one.loc["s5"] = [np.nan, None]  # lacks the view
    two = two.iloc[::-1].drop("s7")
    found = explain_clusters(labels, {"one": one, "two": two})
    first = {(row["view"], row["feature"]): row for row in found.of("0")}
    known = one["a"][:20].dropna()
    assert first["one", "a"]["mean_in"] == pytest.approx(known.mean())
    assert first["two", "b"]["mean_in"] == pytest.approx(two["b"][[f"s{i}" for i in range(20) if i != 7]].mean())
    assert abs(first["one", "word"]["share_in"] - first["one", "word"]["share_out"]) == 1
