"""Mixtures of Gaussian clusters of one shape, compared with those of any shapes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs, make_moons
from sklearn.mixture import GaussianMixture

from kernelweave.core.partitions.mixtures import _fitted, _penalty, shared_shape


def best(X):
    found = shared_shape(X)
    return max(found, key=found.get, default=None), max(found.values(), default=-np.inf)


@pytest.mark.parametrize("c", [2, 4, 6])
@pytest.mark.parametrize("stretch", [np.eye(2), np.array([[0.6, -0.6], [-0.4, 0.8]])], ids=["round", "stretched"])
def test_clusters_of_one_shape_are_counted_in_most_draws(c, stretch):
    places = np.c_[np.arange(c) * 3.6, (np.arange(c) % 2) * 3.6]
    found = [best(make_blobs(60 * c, centers=places, random_state=20 + draw)[0] @ stretch) for draw in range(12)]
    assert sum(k == c and odds > 0 for k, odds in found) >= 9


def test_a_single_gaussian_is_one_cluster():
    found = shared_shape(np.random.default_rng(20).normal(size=(200, 3)))
    assert max(found, key=found.get) == 1
    assert found[1] == pytest.approx(0, abs=0.5)  # the same mixture, but for what is added to the covariances


def test_clusters_of_other_shapes_are_described_better_by_other_mixtures():
    X, _ = make_moons(300, noise=0.08, random_state=20)
    assert best(X)[1] < 0


def test_groups_of_even_density_are_no_gaussians():
    rng = np.random.default_rng(20)
    X = rng.uniform(size=(300, 2)) + np.array([[0, 0], [2, 0], [0, 1.5]])[rng.integers(3, size=300)]
    assert shared_shape(X) == {}


def test_heavy_tails_are_no_gaussians():
    assert shared_shape(np.random.default_rng(20).standard_t(2, size=(300, 2))) == {}


def test_clusters_without_a_valley_between_them_are_counted_if_the_others_show_their_shape():
    rng = np.random.default_rng(20)
    X = rng.normal(size=(4000, 2)) + np.c_[np.repeat([0, 1.9], 2000), np.zeros(4000)]
    assert best(np.r_[X, rng.normal([0, 9], size=(2000, 2))])[0] == 3
    assert best(X)[0] == 1  # one of a longer shape


def test_the_order_of_samples_and_the_units_of_columns_do_not_matter():
    X, _ = make_blobs(150, centers=4, random_state=21)
    found = shared_shape(X)
    order = np.random.default_rng(0).permutation(150)
    assert shared_shape(X[order]) == found
    other = shared_shape(X * [1e3, 1e-3] + [5, -7])
    assert other.keys() == found.keys()
    assert_allclose([other[k] for k in found], list(found.values()), atol=1e-4)


def test_columns_that_are_constant_say_nothing():
    X, _ = make_blobs(150, centers=4, random_state=21)
    assert shared_shape(np.c_[X, np.ones(150)]) == shared_shape(X)
    assert shared_shape(np.ones((20, 3))) == {}


def test_copies_of_a_few_samples_give_finite_factors():
    found = shared_shape(np.repeat(np.random.default_rng(0).normal(size=(5, 2)), 20, axis=0))
    assert np.isfinite(list(found.values())).all()


@pytest.mark.parametrize(("common", "name"), [(True, "tied"), (False, "full")])
def test_em_reaches_the_likelihood_of_scikit_learn(common, name):
    X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=22)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    fit = _fitted(X, y, common=common)
    other = GaussianMixture(3, covariance_type=name, random_state=0, n_init=3).fit(X)
    assert fit.likelihood == pytest.approx(300 * other.score(X), abs=2)
    assert_allclose(fit.R.sum(axis=1), 1)
    assert_allclose(np.sort(fit.R.mean(axis=0)), np.sort(other.weights_), atol=0.01)


@pytest.mark.parametrize("p", [2, 5])
def test_one_component_costs_the_same_with_a_common_covariance_as_with_a_single_one(p):
    assert _penalty(300, p, 1, common=True) == _penalty(300, p, 1, common=False)
    assert _penalty(300, p, 1, common=True) == pytest.approx((p + p * (p + 1) / 2) * np.log(300))


@pytest.mark.parametrize(("k", "p"), [(2, 2), (7, 2), (4, 5)])
def test_every_parameter_costs_the_logarithm_of_the_samples_that_it_is_estimated_from(k, p):
    shape = p * (p + 1) / 2
    for common, of_all, of_one in ((True, k - 1 + shape, k * p), (False, k - 1, k * (p + shape))):
        more = _penalty(600, p, k, common=common) - _penalty(300, p, k, common=common)
        assert more == pytest.approx((of_all + of_one) * np.log(2))
        prior = 2 * (k - 1) if common else 0
        assert _penalty(k, p, k, common=common) == pytest.approx(of_all * np.log(k) + prior)  # one sample for each mean
