"""The default clusters every set of the zoo about as well as the best plain method does.

The floor is not a stored number. It is what is left of the best rival's adjusted Rand index (k-means and kNN spectral
clustering, each on the table as it is and standardised) when 12 % of its samples are moved to other clusters.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks.zoo import NOISE, RIVALS, ZOO, n_classes, scores

SHARE = 0.12


def floor(X, y):
    """Return the ARI that the default has to reach."""
    c = n_classes(y)
    found = [run(X, c, 0) for run in RIVALS.values()]
    best = max(found, key=lambda labels: scores(y, labels)["ari"]).copy()
    rng = np.random.default_rng(0)
    moved = rng.choice(np.flatnonzero(y >= 0), round(SHARE * np.count_nonzero(y >= 0)), replace=False)
    best[moved] = (best[moved] + rng.integers(1, c, len(moved))) % c
    return scores(y, best)["ari"]


def test_the_zoo_is_large_and_varied():
    assert len(ZOO) >= 34
    assert len({member.kind for member in ZOO.values()}) >= 10


@pytest.mark.parametrize("member", [*ZOO.values(), *NOISE.values()], ids=str)
def test_a_data_set_is_the_same_for_the_same_seed(member):
    (X, y), (again, classes) = member.build(3), member.build(3)
    for first, second in zip(X, again, strict=True) if isinstance(X, list) else [(X, again)]:
        assert_array_equal(*(table.toarray() if hasattr(table, "toarray") else table for table in (first, second)))
    assert_array_equal(y, classes)


@pytest.mark.parametrize("name", ZOO)
def test_the_default_is_about_as_good_as_the_best_plain_method(fitted, name):
    model, X, y = fitted(name)
    ari = scores(y, model.labels_)["ari"]
    assert ari >= floor(X, y)


def test_the_default_is_right_about_nineteen_samples_in_twenty(fitted):
    found = []
    for name in ZOO:
        model, _, y = fitted(name)
        found.append(scores(y, model.labels_)["acc"])
    assert np.mean(found) >= 0.95


@pytest.mark.parametrize(
    ("first", "second"), [("iris", "iris-1e6"), ("wine", "wine-thousandths"), ("cancer", "cancer-units")]
)
def test_units_do_not_change_the_clusters(fitted, first, second):
    labels, others = fitted(first)[0].labels_, fitted(second)[0].labels_
    assert scores(labels, others)["ari"] >= 0.95


def test_sparse_and_dense_text_have_the_same_clusters(fitted):
    dense, thin = fitted("text-dense")[0].labels_, fitted("text-sparse")[0].labels_
    assert scores(dense, thin)["ari"] == 1.0


def test_a_longer_slice_of_the_digits_is_not_clustered_much_worse(fitted):
    found = {}
    for name in ("digits-300", "digits-600", "digits-900", "digits-1200"):
        model, _, y = fitted(name)
        found[name] = scores(y, model.labels_)["ari"]
    assert min(found.values()) >= max(found.values()) - 0.2


@pytest.mark.parametrize("name", ["outliers-2", "outliers-10", "gross-errors"])
def test_no_cluster_is_spent_on_outliers(fitted, name):
    model, _, y = fitted(name)
    assert np.bincount(model.labels_).min() >= np.bincount(y[y >= 0]).min() / 2


@pytest.mark.parametrize("name", ["outliers-2", "outliers-10"])
def test_outliers_are_less_certain_than_the_members_of_groups(fitted, name):
    model, _, y = fitted(name)
    assert np.median(model.confidence_[y < 0]) < np.quantile(model.confidence_[y >= 0], 0.1)


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
@pytest.mark.parametrize("name", NOISE)
def test_clusters_of_noise_are_rarely_called_certain(fitted, name, n_clusters):
    confidence = fitted(name, n_clusters)[0].confidence_
    assert np.mean(confidence >= 0.9) < 0.1


def test_a_view_of_noise_counts_less_than_a_quarter_of_an_equal_share(fitted):
    model, views, _ = fitted("noise-view")
    *real, noise = model.view_shares_ * len(views)
    assert noise < 0.25
    assert min(real) > 0.75
