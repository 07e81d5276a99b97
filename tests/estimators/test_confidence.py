"""How sure clusterers are of each sample."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs

from kernelweave import KGLClustering, PMKLClustering, SMKLClustering, WeaveClustering
from kernelweave.core.graphs.coordinates import nearness, votes
from kernelweave.core.partitions.kmeans import cluster_means

EVERY = [SMKLClustering(3), KGLClustering(3), PMKLClustering(3), WeaveClustering(3)]


def right(y, labels):
    """Return which samples are in the cluster that is matched with their class."""
    C = np.zeros((labels.max() + 1, y.max() + 1))
    np.add.at(C, (labels, y), 1)
    match = dict(zip(*linear_sum_assignment(-C), strict=True))
    return np.array([match.get(a) == b for a, b in zip(labels, y, strict=True)])


@pytest.fixture(scope="module")
def between():
    """Three blobs, and a last sample half way between two of them."""
    X, y = make_blobs(60, n_features=5, centers=3, cluster_std=0.6, random_state=0)
    middle = (X[y == 0].mean(axis=0) + X[y == 1].mean(axis=0)) / 2
    return np.vstack([X, middle])


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_every_clusterer_says_how_sure_it_is_of_each_sample(estimator, between):
    model = estimator.set_params(random_state=0).fit(between)
    everyone = np.arange(61)
    assert model.membership_.shape == (61, 3)
    assert model.membership_.min() >= 0
    assert_allclose(model.membership_.sum(axis=1), 1, rtol=1e-5)
    assert_array_equal(model.confidence_, model.membership_[everyone, model.labels_])
    others = np.where(np.arange(3) == model.labels_[:, None], -np.inf, model.membership_).max(axis=1)
    assert_allclose(model.margin_, model.confidence_ - others)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("estimator", EVERY[:3], ids=repr)
def test_memberships_are_the_mean_of_votes_and_nearness(estimator, between, dtype):
    model = clone(estimator).set_params(random_state=0, dtype=dtype).fit(between)
    (means,), (sizes,) = cluster_means(model.embedding_, model.labels_[None], 3)
    near = nearness(model.embedding_, means, sizes)
    assert_allclose(model.membership_, (votes(model.graph_, model.labels_, 3) + near) / 2, rtol=1e-6)
    assert model.membership_.dtype == dtype


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_a_sample_between_two_clusters_is_less_sure_than_most(estimator, between):
    model = estimator.set_params(random_state=0).fit(between)
    assert np.mean(model.confidence_ <= model.confidence_[-1]) < 0.1
    assert np.mean(model.margin_ <= model.margin_[-1]) < 0.1


def test_one_cluster_is_sure_of_everything(between):
    model = WeaveClustering(1, random_state=0).fit(between)
    assert_allclose(model.confidence_, 1)
    assert_allclose(model.margin_, 1)


def test_accuracy_rises_with_confidence_on_digits():
    X, y = load_digits(return_X_y=True)
    model = WeaveClustering(10, random_state=0).fit(X)
    correct = right(y, model.labels_)
    order = np.argsort(model.confidence_, kind="stable")
    least, low, high, most = (correct[part].mean() for part in np.array_split(order, 4))
    assert least < low < high <= most
    assert most - least > 0.15
