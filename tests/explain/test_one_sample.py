"""Why one sample is in its cluster."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from kernelweave import SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.errors import InvalidInputError
from kernelweave.explain import explain_sample
from kernelweave.weave.local import local_solver, locality


@pytest.fixture(scope="module")
def samples():
    """Two clusters that differ in a and b, and sample 0, which has the b of the other one."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 3)) + np.outer(kind, [9, 9, 0])
    X[0, 1] = 8.0
    return pd.DataFrame(X, columns=["a", "b", "noise"])


@pytest.fixture(scope="module")
def model(samples):
    return WeaveClustering(2, random_state=0).fit(samples)


def test_features_say_what_holds_the_sample_and_what_draws_it_away(model, samples):
    found = explain_sample(model, samples, 0).features.set_index("feature")
    own = samples[model.labels_ == model.labels_[0]]
    assert found.loc["a", "pull"] > 0 > found.loc["b", "pull"]
    assert found.loc["a", "value"] == samples.loc[0, "a"]
    assert found.loc["a", "typical"] == own["a"].median()


def test_neighbours_are_those_of_the_graph(model, samples):
    found = explain_sample(model, samples, 5, n_neighbors=4).neighbors
    weights = ((model.graph_ + model.graph_.T) / 2)[[5]].toarray()[0]
    weights[5] = 0
    assert found["weight"].is_monotonic_decreasing
    assert found["sample"].iloc[0] == weights.argmax()
    assert found["weight"].iloc[0] == pytest.approx(weights.max() / weights.sum())
    assert found["cluster"].tolist() == [str(model.labels_[j]) for j in found["sample"]]


def test_pulls_of_kernels_add_up_to_that_of_the_consensus(model, samples):
    found = explain_sample(model, samples, 3)
    K, own = model.consensus_kernel_[3], model.labels_ == model.labels_[3]
    other = ~own
    own[3] = False
    assert found.kernels["pull"].sum() == pytest.approx(K[own].mean() - K[other].mean())
    assert found.views["pull"].tolist() == pytest.approx([found.kernels["pull"].sum()])


def test_views_that_tell_the_clusters_apart_pull_most():
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 30)
    views = {"told": rng.normal(size=(60, 2)) + 9 * kind[:, None], "noise": rng.normal(size=(60, 2))}
    model = WeaveClustering(2, weights="uniform", random_state=0).fit(views)
    found = explain_sample(model, views, 1).views
    assert found["view"].iloc[0] == "told"


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_every_kernel_is_listed_with_every_solver_that_compares_samples(solver, samples):
    model = WeaveClustering(2, solver=solver, random_state=0).fit(samples)
    assert set(explain_sample(model, samples, 1).kernels["kernel"]) == set(model.kernel_names_)


@pytest.mark.parametrize("solver", ["dense", "local"])
def test_kernels_pull_a_copy_as_they_pull_the_sample(solver, samples):
    table = pd.concat([samples.iloc[[0] * 9], samples], ignore_index=True)  # of ten copies few are compared
    model = WeaveClustering(2, solver=solver, random_state=0).fit(table)
    first, copy = (explain_sample(model, table, i).kernels.set_index("kernel")["pull"] for i in (0, 9))
    assert_allclose(copy, first[copy.index])


def test_pulls_add_up_to_that_of_the_consensus_where_copies_were_left_out(samples):
    table = pd.concat([samples.iloc[[0] * 9], samples], ignore_index=True)
    model = WeaveClustering(2, random_state=0).fit(table)
    K, own = model.consensus_kernel_[40], model.labels_ == model.labels_[40]
    other = ~own
    own[40] = False
    assert explain_sample(model, table, 40).kernels["pull"].sum() == pytest.approx(K[own].mean() - K[other].mean())


def test_kernels_pull_a_sample_alike_where_many_samples_were_reordered(samples, monkeypatch):
    pulls = []
    monkeypatch.setattr(locality, "_LEAF", 10)
    for least in (10_000, 10):
        monkeypatch.setattr(local_solver, "_ORDERED_FROM", least)
        model = WeaveClustering(2, solver="local", random_state=0).fit(samples)
        pulls.append(explain_sample(model, samples, 7).kernels.set_index("kernel")["pull"])
    assert_allclose(pulls[1][pulls[0].index], pulls[0], rtol=1e-4)


def test_a_landmark_model_keeps_no_neighbours_but_has_features(samples):
    model = WeaveClustering(2, solver="landmark", random_state=0).fit(samples)
    found = explain_sample(model, samples, 1)
    assert found.neighbors is None
    assert found.kernels is None
    assert found.features["feature"].iloc[0] in ("a", "b")


def test_the_runner_up_is_the_second_largest_membership(samples):
    model = SMKLClustering(3, random_state=0, kernels="released-7").fit(samples)
    found = explain_sample(model, samples, 2)
    order = np.argsort(-model.membership_[2])
    rivals = [str(k) for k in order if k != model.labels_[2]]
    assert found.runner_up == rivals[0]
    assert found.membership == pytest.approx(model.membership_[2, model.labels_[2]])


def test_the_summary_names_features_and_clusters(samples):
    few = np.full(60, -1)
    few[[1, 40]] = [0, 1]
    text = str(explain_sample(WeaveClassifier().fit(samples, few), samples, 0))
    assert text.startswith("Sample 0 is in class 0")
    assert "To be in 1, it would have to change in a" in text
    assert "It is closer to 1 in b" in text


def test_the_summary_counts_one_neighbour_and_several(model, samples):
    one, four = (str(explain_sample(model, samples, 0, n_neighbors=n)) for n in (1, 4))
    assert "Of its 1 nearest neighbour, 1 is in the same cluster." in one
    assert "Of its 4 nearest neighbours, 4 are in the same cluster." in four


def test_categories_pull_by_the_ratio_of_their_shares(model, samples):
    site = np.where(model.labels_ == model.labels_[0], "here", "there")
    site[0] = "there"
    row = explain_sample(model, samples.assign(site=site), 0).features.set_index("feature").loc["site"]
    assert (row["value"], row["typical"], row["runner_up"]) == ("there", "here", "there")
    own, other = np.sum(model.labels_ == model.labels_[0]), np.sum(model.labels_ != model.labels_[0])
    assert row["pull"] == pytest.approx(2 * np.log(1.5 / (own + 1) / ((other + 0.5) / (other + 1))))


def test_refuses_samples_that_are_not_there(model, samples):
    with pytest.raises(InvalidInputError, match="a position from 0 to 59; got 60"):
        explain_sample(model, samples, 60)
    with pytest.raises(
        InvalidInputError, match="if the model has no sample_names_: pass a position from 0 to 59; got 'Ann'"
    ):
        explain_sample(model, samples, "Ann")


def test_refuses_a_single_cluster(samples):
    with pytest.raises(InvalidInputError, match="There is only one cluster"):
        explain_sample(WeaveClustering(1, random_state=0).fit(samples), samples, 0)


def test_named_samples_and_their_neighbours_are_shown_by_their_names(samples):
    named = samples.set_axis([f"plant {i}" for i in range(60)])
    found = explain_sample(WeaveClustering(2, random_state=0).fit(named), named, "plant 7", n_neighbors=3)
    assert str(found).startswith("Sample 'plant 7' is in cluster")
    assert (found.sample, found.name) == (7, "plant 7")
    assert found.neighbors.columns.tolist() == ["sample", "name", "cluster", "weight"]
    assert found.neighbors["name"].tolist() == [f"plant {i}" for i in found.neighbors["sample"]]


def test_samples_without_names_have_positions_only(model, samples):
    found = explain_sample(model, samples, 7)
    assert found.name is None
    assert found.neighbors.columns.tolist() == ["sample", "cluster", "weight"]


def test_names_that_are_numbers_are_given_as_texts(samples):
    numbered = samples.set_axis(range(100, 160))
    found = explain_sample(WeaveClustering(2, random_state=0).fit(numbered), numbered, "107")
    assert (found.sample, found.name) == (7, "107")


def test_values_of_dates_are_dates(model, samples):
    kind = (model.labels_ != model.labels_[0]).astype(int)
    when = pd.Timestamp("2012-05-03 06:00") + pd.to_timedelta(300 * kind + np.arange(60) % 5, unit="D")
    row = explain_sample(model, samples.assign(when=when), 1).features.set_index("feature").loc["when"]
    assert row["value"] == pd.Timestamp("2012-05-04 06:00")
    assert row["typical"] == pd.Timestamp("2012-05-05 06:00")
    assert row["runner_up"] == pd.Timestamp("2013-03-01 06:00")


def test_a_sample_without_a_share_in_several_other_clusters_has_no_runner_up():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(60, 2)) + 90 * np.repeat([[0, 0], [1, 0], [0, 1]], 20, axis=0), columns=["a", "b"]
    )
    model = SMKLClustering(3, random_state=0).fit(X)
    model.membership_ = np.eye(3)[model.labels_]
    found = explain_sample(model, X, 0)
    assert found.runner_up is None
    assert f"is in cluster {model.labels_[0]} (100%); it does not belong to another cluster at all." in str(found)
    others = X[model.labels_ != model.labels_[0]].median()
    assert found.features.set_index("feature")["runner_up"].to_dict() == pytest.approx(others.to_dict())


def test_one_of_two_clusters_is_the_runner_up_whatever_its_membership(model, samples):
    found = explain_sample(model, samples, 9)
    assert {found.group, found.runner_up} == {"0", "1"}
