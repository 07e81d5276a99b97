"""Metadata and other clusterings beside the clusters."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats.contingency import association as cramer
from sklearn.metrics import adjusted_rand_score

from kernelweave.errors import InvalidInputError
from kernelweave.explain import Associations, associate, compare_clusterings

KIND = np.repeat([0, 1, 2], 20)


@pytest.fixture
def metadata():
    rng = np.random.default_rng(0)
    site = np.array(["a", "b", "c"], dtype=object)[(KIND + (rng.random(60) < 0.2)) % 3]
    site[0] = None
    return pd.DataFrame({"site": site, "age": 50 + KIND + rng.normal(size=60), "coin": rng.random(60) < 0.5})


def test_categories_are_measured_by_cramers_v(metadata):
    found = associate(KIND, metadata)
    (column,) = [each for each in found.columns if each.name == "site"]
    known = metadata["site"].notna()
    expected = cramer(pd.crosstab(KIND[known], metadata["site"][known]).to_numpy(), method="cramer")
    assert column.value == pytest.approx(expected)
    assert column.n_known == 59


def test_numbers_are_measured_by_the_correlation_ratio(metadata):
    (column,) = [each for each in associate(KIND, metadata).columns if each.name == "age"]
    means = metadata["age"].groupby(KIND).transform("mean")
    assert column.value == pytest.approx(np.sqrt(means.var() / metadata["age"].var()))


def test_what_goes_along_has_a_small_p_value_and_a_coin_has_not(metadata):
    table = associate(KIND, metadata).table.set_index("column")
    assert table.loc["site", "p_value"] == pytest.approx(1 / 1000)
    assert table.loc["coin", "p_value"] > 0.05
    assert table["value"].is_monotonic_decreasing


def test_p_values_of_noise_are_uniform():
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.normal(size=(60, 200)))
    p = np.array([each.p_value for each in associate(KIND, noise, n_permutations=99).columns])
    assert 0.01 <= np.mean(p <= 0.05) <= 0.1
    assert 0.4 < p.mean() < 0.6


def test_a_series_is_one_column_and_aligned_like_a_data_frame(metadata):
    ids = [f"s{i}" for i in range(60)]
    clusters, named = pd.Series(KIND, index=ids), metadata.set_axis(ids)
    expected = associate(clusters, named[["site"]]).table
    pd.testing.assert_frame_equal(associate(clusters, named["site"][::-1]).table, expected)
    assert associate(KIND, pl.Series("age", metadata["age"].to_numpy())).columns[0].name == "age"


def test_counts_and_quartiles_are_given_for_every_cluster(metadata):
    found = associate(KIND, metadata)
    counts = found.of("site")
    assert counts.to_numpy().sum() == 59
    assert counts.loc["1", "b"] == np.sum((KIND == 1) & (metadata["site"] == "b"))
    assert found.of("age").loc["2", "median"] == pytest.approx(metadata["age"][KIND == 2].median())
    with pytest.raises(InvalidInputError, match="There is no column 'sex'; there are"):
        found.of("sex")


def test_rare_categories_are_counted_together():
    many = pd.DataFrame({"id": [f"s{i}" for i in range(60)]})
    counts = associate(KIND, many, n_permutations=9).of("id")
    assert counts.columns[-1] == "10 others"
    assert counts.to_numpy().sum() == 60


def test_a_constant_column_has_no_value():
    found = associate(KIND, pd.DataFrame({"one": np.ones(60), "a": "a"})).table
    assert found["value"].isna().all()
    assert found["p_value"].isna().all()


def test_associations_survive_json(metadata):
    found = associate(KIND, metadata)
    again = Associations.from_json(json.loads(json.dumps(found.to_json())))
    pd.testing.assert_frame_equal(again.table, found.table)
    pd.testing.assert_frame_equal(again.of("age"), found.of("age"))


def test_two_clusterings_are_counted_and_matched():
    other = np.array(["z", "y", "x"])[KIND]
    other[:3] = "x"
    found = compare_clusterings(KIND, other)
    assert found.columns == ("z", "y", "x")
    assert found.table.to_numpy().tolist() == [[17, 0, 3], [0, 20, 0], [0, 0, 20]]
    assert found.ari == pytest.approx(adjusted_rand_score(KIND, other))


@pytest.mark.parametrize("more", [1, 2])
def test_clusterings_of_different_numbers_are_matched(more):
    found = compare_clusterings(*[KIND, KIND % 2][:: (1 if more == 1 else -1)])
    assert found.counts.sum() == 60
    assert sorted(found.columns) == (["0", "1"] if more == 1 else ["0", "1", "2"])


def test_clusterings_of_other_samples_are_refused():
    with pytest.raises(InvalidInputError, match="must have the same samples; got 60 and 59"):
        compare_clusterings(KIND, KIND[1:])


def test_ids_are_not_the_strongest_association():
    labels = np.arange(30) % 2
    metadata = pd.DataFrame({"id": [f"P{i}" for i in range(30)], "group": np.array(["p", "q"])[labels]})
    found = associate(labels, metadata).table
    assert found["column"].tolist() == ["group", "id"]
    assert found["value"].isna().tolist() == [False, True]
    assert found["q_value"].iloc[0] == found["p_value"].iloc[0]  # the ids are no test
