"""Every form of samples and of models that can be explained, and those that cannot."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from kernelweave import Chunks, WeaveClustering
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.explain import Comparison, compare_clusterings, explain_clusters, explain_sample
from kernelweave.kernels import Mixed
from kernelweave.report import model_report
from kernelweave.samples import Distances, Graph, Views

KIND = np.repeat([0, 1], 30)
ONE = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)) + 9 * KIND[:, None], columns=list("abcd"))
TWO = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 3)) + 9 * KIND[:, None], columns=list("xyz"))


def annotated(table):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    names = pd.Index([f"c{i}" for i in range(60)], dtype=object)
    columns = pd.DataFrame(index=pd.Index(list(table), dtype=object))
    return anndata.AnnData(table.to_numpy(), pd.DataFrame(index=names), columns)


def several():
    mudata = pytest.importorskip("mudata", reason="mudata is not installed")
    with mudata.set_options(pull_on_update=False):
        return mudata.MuData({"one": annotated(ONE), "two": annotated(TWO)})


def test_annotated_data_are_explained_by_the_names_of_their_variables():
    assert set(explain_clusters(KIND, annotated(ONE)).features["feature"]) == set("abcd")
    features = explain_clusters(KIND, several()).features
    assert set(zip(features["view"], features["feature"], strict=True)) == {
        *(("one", name) for name in "abcd"),
        *(("two", name) for name in "xyz"),
    }


@pytest.mark.parametrize("form", ["frame", "list", "dict", "views", "mudata"])
def test_features_of_every_form_are_tested(form):
    forms = {
        "frame": lambda: ONE,
        "list": lambda: [ONE.to_numpy(), TWO.to_numpy()],
        "dict": lambda: {"one": ONE, "two": TWO},
        "views": lambda: Views({"one": ONE, "two": TWO}),
        "mudata": several,
    }
    X = forms[form]()
    model = WeaveClustering(2, solver="dense", random_state=0).fit(X)
    found = explain_clusters(model, X, test=True, n_splits=2)
    assert found.features["q_value"].max() < 1e-6
    assert min(found.recovered) == 1


def test_a_category_is_tested_against_clusters_that_did_not_see_it():
    table = ONE.assign(site=np.array(["n", "s"])[KIND], coin=np.tile(["h", "t"], 30))
    kernels = Mixed(kinds={"coin": "category"})  # it would be left out
    model = WeaveClustering(2, kernels=kernels, random_state=0).fit(table)
    rows = (
        explain_clusters(model, table, test=True, n_splits=2).features.drop_duplicates("feature").set_index("feature")
    )
    assert rows.loc["site", "q_value"] < 1e-6
    assert "coin" not in rows.index or rows.loc["coin", "q_value"] > 0.05


def test_a_part_without_which_nothing_is_left_is_not_tested():
    table = pd.DataFrame({"a": 9.0 * KIND + np.random.default_rng(0).normal(size=60), "flat": 1.0})
    model = WeaveClustering(2, random_state=0).fit(table)
    found = explain_clusters(model, table, test=True, n_splits=2)
    assert found.features.set_index("feature").loc["a", "p_value"].isna().all()


def test_an_estimator_without_groups_is_refused():
    with pytest.raises(InvalidInputError, match="StandardScaler has neither labels_ nor transduction_"):
        explain_clusters(StandardScaler().fit(ONE), ONE)


def test_a_model_without_memberships_and_graph_cannot_explain_a_sample():
    model = KMeans(2, n_init=1, random_state=0).fit(ONE)
    with pytest.raises(InvalidInputError, match="KMeans has no memberships and no graph"):
        explain_sample(model, ONE, 0)


def test_a_model_with_a_graph_alone_counts_the_edges_of_a_sample():
    model = KMeans(2, n_init=1, random_state=0).fit(ONE)
    model.graph_ = 1.0 * (KIND[:, None] == KIND)
    found = explain_sample(model, ONE, 0)
    assert (found.membership, found.runner_up_membership) == (1.0, 0.0)


def test_missing_values_of_pandas_are_missing():
    table = ONE.round().astype("Int64")
    table.loc[3, "a"] = pd.NA
    row = explain_clusters(KIND, table).features.query("cluster == '0' and feature == 'a'").iloc[0]
    assert row["mean_in"] == pytest.approx(np.delete(ONE["a"].round().to_numpy()[:30], 3).mean())


def test_a_comparison_survives_json():
    found = compare_clusterings(KIND, np.where(np.arange(60) < 20, "u", "v"), names=("one", "other"))
    again = Comparison.from_json(json.loads(json.dumps(found.to_json())))
    pd.testing.assert_frame_equal(again.table, found.table)
    assert (again.ari, again.nmi, again.names) == (found.ari, found.nmi, found.names)


def test_the_report_tells_shares_of_categories_and_days_of_dates():
    days = pd.to_datetime(np.where(KIND == 0, "2020-01-02", "2021-03-04"))
    table = pd.DataFrame({"site": np.array(["north", "south"])[KIND], "seen": days})
    model = WeaveClustering(2, random_state=0).fit(ONE)
    page = model_report(model, features=explain_clusters(model, table))
    assert "site = north: <strong>100%</strong>" in page
    assert "seen: <strong>2020-01-02</strong>" in page
    assert "(others 2021-03-04)" in page


def test_a_spread_of_too_few_samples_is_refused():
    model = WeaveClustering(2, random_state=0).fit(ONE.iloc[[0, 1, 59]])
    with pytest.raises(InvalidInputError, match="A spread needs 4 samples or more; got 3"):
        model_report(model, spread=True)


@pytest.mark.parametrize("kernels", ["auto", "mixed"])
def test_texts_that_are_numbers_are_explained_as_numbers_as_in_fit(kernels):
    texts = ONE.astype(str).assign(
        **{"a": ONE["a"].astype(str).where(ONE.index != 3, None)} if kernels == "mixed" else {}
    )
    found = explain_clusters(WeaveClustering(2, kernels=kernels, random_state=0).fit(texts), texts).features
    assert set(found["type"]) == {"number"}
    assert found["separation"].min() > 0.99


def test_texts_that_were_chosen_as_categories_are_explained_as_categories():
    texts = ONE.assign(zone=KIND.astype(str))
    chosen = WeaveClustering(2, kernels=Mixed(kinds={"zone": "category"}), random_state=0).fit(texts)
    told = WeaveClustering(2, kernels="mixed", random_state=0).fit(texts)
    for model, kind in ((chosen, "category"), (told, "number")):
        found = explain_clusters(model, texts).features
        assert set(found.query("feature == 'zone'")["type"]) == {kind}


@pytest.mark.parametrize("form", ["one", "views", "numbers"])
@pytest.mark.parametrize("test", [False, True])
def test_columns_that_the_model_left_out_are_not_explained(form, test):
    texts = {"note": [f"note {i}" for i in range(60)], "sex": ["f", "m"] * 30} if form != "numbers" else {"gap": None}
    one = ONE.assign(row=np.arange(60), **texts).astype({"gap": float} if form == "numbers" else {})
    X = {"one": one, "two": TWO} if form == "views" else one
    kernels = {"one": "mixed", "two": "auto"} if form == "views" else "mixed"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsWarning)
        model = WeaveClustering(2, kernels=kernels, random_state=0).fit(X)
    found = explain_clusters(model, X, n_features=None, test=test).features
    listed, pulls = set(found["feature"]), set(explain_sample(model, X, 0, n_features=None).features["feature"])
    assert {"row", "note", "gap"}.isdisjoint(listed | pulls)
    assert set("abcd") <= listed & pulls
    assert not test or found["q_value"].notna().all()


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (Chunks(ONE.to_numpy()), "X must be a table of numbers in memory; got Chunks, which is read in chunks: load"),
        ("table.parquet", "X must be a table of numbers in memory; got str, which is read in chunks"),
        (lambda: iter([ONE]), "X must be a table of numbers in memory; got function, which is read in chunks"),
        (Distances(np.zeros((60, 60))), "View 'X' is Distances, which compares samples and has no columns to explain"),
        ({"one": ONE, "who": Graph(np.eye(60))}, "View 'who' is Graph, which compares samples"),
    ],
    ids=["chunks", "path", "function", "distances", "graph"],
)
def test_samples_without_columns_in_memory_are_refused(X, match):
    model = WeaveClustering(2, random_state=0).fit(ONE)
    for call in (explain_clusters, lambda model, X: model_report(model, X=X)):
        with pytest.raises(InvalidInputError, match=match):
            call(model, X)


def test_a_list_holds_views_by_the_rule_of_fit():
    found = explain_clusters(KIND, [ONE.to_numpy(), TWO.to_numpy().tolist()]).features
    assert set(found["view"]) == {"view 0", "view 1"}


def test_sparse_columns_of_pandas_are_explained_as_numbers():
    frame = pd.DataFrame({"a": np.where(KIND == 0, 0.0, 2.0)}).astype(pd.SparseDtype(float, 0))
    (row,) = explain_clusters(KIND, frame).of(0)
    assert (row["type"], row["mean_in"]) == ("number", 0.0)
