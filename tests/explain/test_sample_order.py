"""Tables are explained by the names of their samples, where a model was fitted on tables with an index."""

import anndata
import numpy as np
import pandas as pd
import pytest

from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.explain import associate, explain_clusters, explain_sample

N = 40
GROUP = np.arange(N) % 2
IDS = pd.Index([f"s{i}" for i in range(N)])
RNG = np.random.default_rng(0)
ONE = pd.DataFrame(RNG.normal(size=(N, 4)) + 4 * GROUP[:, None], index=IDS, columns=list("abcd"))
TWO = pd.DataFrame(RNG.normal(size=(N, 3)) - 4 * GROUP[:, None], index=IDS, columns=list("xyz"))[4:]
VIEWS = {"one": ONE, "two": TWO}
SHUFFLED = {"two": TWO.sample(frac=1, random_state=1), "one": ONE.sample(frac=1, random_state=0)}
KNOWN = pd.DataFrame({"group": np.array(["p", "q"])[GROUP], "age": RNG.normal(size=N)}, index=IDS)


@pytest.fixture(scope="module")
def model():
    return WeaveClustering(2, random_state=0).fit(VIEWS)


def table_of(found):
    return found.features.sort_values(["cluster", "view", "feature"]).drop(columns="rank").reset_index(drop=True)


def test_clusters_are_explained_alike_whatever_the_order_of_tables_and_rows(model):
    expected, found = (table_of(explain_clusters(model, X)) for X in (VIEWS, SHUFFLED))
    assert (expected["separation"] > 0.9).all()
    pd.testing.assert_frame_equal(found, expected)
    annotated = {name: anndata.AnnData(table) for name, table in SHUFFLED.items()}
    pd.testing.assert_frame_equal(table_of(explain_clusters(model, annotated)), expected)


def test_one_of_the_tables_is_explained_by_its_names_too(model):
    expected = explain_clusters(model, ONE).features
    pd.testing.assert_frame_equal(explain_clusters(model, SHUFFLED["one"]).features, expected)
    pd.testing.assert_frame_equal(
        explain_clusters(model, ONE.to_numpy()).features.drop(columns="feature"), expected.drop(columns="feature")
    )


def test_the_test_of_features_does_not_depend_on_the_order(model):
    found = explain_clusters(model, SHUFFLED["one"], test=True, n_splits=2)
    assert min(found.recovered) > 0.9
    assert (found.features["p_value"] < 0.01).all()


def test_a_sample_is_explained_by_its_own_values(model):
    found = explain_sample(model, SHUFFLED, 7).features.set_index("feature")
    for name in "abcd":
        assert found.loc[name, "value"] == pytest.approx(ONE.loc["s7", name])


def test_metadata_are_aligned_by_their_index_and_may_lack_samples(model):
    whole = associate(model, KNOWN).table.set_index("column")
    assert whole.loc["group", "value"] == pytest.approx(1)
    pd.testing.assert_frame_equal(associate(model, KNOWN[::-1]).table.set_index("column"), whole)
    some = associate(model, KNOWN[::-2]).table.set_index("column")
    assert some["n_known"].tolist() == [N // 2, N // 2]


def test_metadata_of_more_samples_are_read_for_those_of_the_model():
    model = WeaveClassifier().fit({"one": ONE[:30], "two": TWO[:26]}, GROUP[:30])
    assert associate(model, KNOWN[::-1]).table.set_index("column").loc["group", "value"] == pytest.approx(1)


def test_other_names_are_refused(model):
    other = ONE.rename(index=str.upper)
    for call in (lambda: explain_clusters(model, other), lambda: associate(model, other)):
        with pytest.raises(InvalidInputError, match=r"The index of X names 0 of the model's 40 samples, and not 's0'"):
            call()
    with pytest.raises(InvalidInputError, match="names 39 of the model's 40 samples, and not 's3'"):
        explain_clusters(model, ONE.rename(index={"s3": "t3"}))
    with pytest.raises(InvalidInputError, match="X must hold the model's 40 samples; got 30 rows"):
        explain_clusters(model, ONE[:30])


def test_an_index_that_counts_rows_is_no_name(model):
    expected = explain_clusters(model, ONE).features
    pd.testing.assert_frame_equal(explain_clusters(model, ONE.reset_index(drop=True)).features, expected)
