"""Columns that set clusters apart although no other column is related to them."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from kernelweave import WeaveClustering
from kernelweave.errors import ColumnsWarning
from kernelweave.explain import Explanation, explain_clusters
from kernelweave.report import model_report


@pytest.fixture
def groups():
    """Three groups of 80 samples in five columns, in random order."""
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.repeat([0, 1, 2], 80))
    table = pd.DataFrame(rng.normal(size=(240, 5)) + 3 * np.eye(5)[kind], columns=list("abcde"))
    return table.assign(d=table["a"] + rng.normal(size=240), e=table["b"] + rng.normal(size=240)), kind


def year(n):
    return np.random.default_rng(1).choice([2007, 2008, 2009], n)


def test_a_column_of_noise_that_clusters_follow_is_named(groups):
    table, _ = groups
    table = table.assign(year=year(240))
    with pytest.warns(ColumnsWarning, match="Column 'year' sets clusters apart, but no other column is related to it"):
        found = explain_clusters(table["year"].to_numpy(), table)
    assert found.lone == ("year",)
    assert Explanation.from_json(json.loads(json.dumps(found.to_json()))).lone == ("year",)


@pytest.mark.parametrize("n", [80, 300])
@pytest.mark.parametrize("kind", ["normal", "mostly zero"])
def test_in_noise_nothing_is_named(kind, n):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 8)) * (1 if kind == "normal" else rng.random((n, 8)) < 0.08)
        assert explain_clusters(np.digitize(X[:, 0], [-0.01, 0.01]), X).lone == ()


@pytest.mark.parametrize("cells", ["number", "category", "measured", "gaps"])
def test_it_is_named_whatever_it_holds(groups, cells):
    table, _ = groups
    noise = year(240)
    column = {
        "number": noise,
        "category": noise.astype(str),
        "measured": noise + 0.1 * np.random.default_rng(2).normal(size=240),
        "gaps": np.where(np.arange(240) % 7, noise, np.nan),
    }[cells]
    sites = table["a"].gt(1.5).map({True: "north", False: "south"})
    with pytest.warns(ColumnsWarning, match="'noise'"):
        found = explain_clusters(noise, table.assign(noise=column, site=sites))
    assert found.lone == ("noise",)


def test_columns_that_agree_on_the_clusters_are_not_named(groups):
    table, kind = groups
    few = np.digitize(table["a"], [0, 1.5, 3])  # of few values, but related to others
    assert explain_clusters(kind, table.assign(few=few)).lone == ()


def test_a_column_of_noise_that_clusters_do_not_follow_is_not_named(groups):
    table, kind = groups
    assert explain_clusters(kind, table.assign(year=year(240))).lone == ()


def test_nothing_is_named_where_columns_are_independent_by_nature():
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (240, 2))
    table = np.hstack([8 * corner + rng.normal(size=(240, 2)), rng.normal(size=(240, 2))])
    assert explain_clusters(corner @ [1, 2], table).lone == ()


def test_classes_and_small_tables_are_not_doubted(groups):
    table, _ = groups
    table = table.assign(year=year(240))
    assert explain_clusters(table["year"].to_numpy()[:40], table.iloc[:40]).lone == ()


def test_the_order_of_samples_does_not_matter_beyond_those_that_are_compared():
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 5000)
    table = pd.DataFrame(rng.normal(size=(5000, 4)) + 2 * kind[:, None], columns=list("abcd"))
    table, order = table.assign(year=year(5000)), rng.permutation(5000)
    with pytest.warns(ColumnsWarning, match="'year'"):
        assert explain_clusters(table["year"].to_numpy(), table).lone == ("year",)
    with pytest.warns(ColumnsWarning, match="'year'"):
        assert explain_clusters(table["year"].to_numpy()[order], table.iloc[order]).lone == ("year",)


def test_a_report_doubts_clusters_that_follow_such_a_column():
    table = load_iris(as_frame=True).data.assign(batch=np.random.default_rng(1).choice([0, 100], 150))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = WeaveClustering(2, scale="none", random_state=0).fit(table)
    with pytest.warns(ColumnsWarning, match="'batch'"):
        page = model_report(model, X=table)
    assert "Clusters differ in &#39;batch&#39;, but no other column is related to it" in page
