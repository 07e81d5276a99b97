import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.partitions.kernel_centres import (
    centre_distances,
    centres,
    kernel_kmeans,
    nearest,
    own_distances,
    plain_centres,
    random_labels,
    refilled,
    root_loss,
    seeded_centres,
    squared_loss,
)

LOSSES = {"squared": squared_loss(), "root": root_loss(1e-12)}


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


@pytest.mark.parametrize("starts", [1, 4])
def test_distances_are_those_to_weighted_means(X, rng, starts):
    z = random_labels(40, 5, starts, rng)
    s = rng.random((40, starts))
    D = centre_distances(X @ X.T, centres(z, 5, s))
    for r in range(starts):
        for c in range(5):
            mean = np.average(X[z[:, r] == c], axis=0, weights=s[z[:, r] == c, r])
            assert_allclose(D[:, r, c], ((X - mean) ** 2).sum(axis=1), atol=1e-12)
        assert_allclose(own_distances(D, z)[:, r], D[np.arange(40), r, z[:, r]])


@given(st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_every_cluster_has_a_sample_and_no_more_move_than_were_missing(c, seed):
    rng = np.random.default_rng(seed)
    z = rng.integers(rng.integers(1, c + 1), size=(8, 3))
    full = refilled(z, rng.random((8, 3)), c)
    for before, after in zip(z.T, full.T, strict=True):
        assert len(set(after)) == c
        assert (before != after).sum() == c - len(set(before))


def test_an_empty_cluster_gets_the_sample_farthest_from_its_centre():
    D = np.array([[[0.0, 9, 9], [2, 8, 9], [5, 6, 9], [7, 3, 9]]]).transpose(1, 0, 2)
    assert_array_equal(nearest(D)[:, 0], [0, 0, 2, 1])


def test_the_last_sample_of_a_cluster_is_not_taken_from_it():
    D = np.array([[[9.0, 8, 99], [0, 1, 99], [0, 1, 99]]]).transpose(1, 0, 2)
    assert_array_equal(nearest(D)[:, 0], [1, 2, 0])


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_slope_is_the_derivative_of_the_loss(loss):
    d = np.array([0.0, 5e-13, 2e-12, 1e-3, 1.0, 30.0])
    step = 1e-4 * np.maximum(d, 1e-12)
    assert_allclose((loss.cost(d + step) - loss.cost(d)) / step, loss.slope(d + step / 2), rtol=1e-3)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_the_loss_lies_below_its_tangents(loss, rng):
    # what makes weighted means a step of majorisation, so that the objective cannot rise
    d, at = rng.random((2, 200)) ** 8
    assert (loss.cost(d) <= loss.cost(at) + loss.slope(at) * (d - at) + 1e-15).all()


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@pytest.mark.parametrize("seed", range(10))
def test_the_objective_never_rises(X, loss, seed):
    K = X @ X.T
    A = seeded_centres(K, 6, 1, np.random.default_rng(seed))
    history = kernel_kmeans(K, A, loss, max_iter=100).history
    assert (np.diff(history) <= 1e-12 * history[0]).all()


def test_it_ends_where_no_sample_is_nearer_to_another_mean(X, rng):
    K = X @ X.T
    found = kernel_kmeans(K, seeded_centres(K, 4, 3, rng), squared_loss(), max_iter=100)
    assert found.converged
    means = np.array([X[found.z == c].mean(axis=0) for c in range(4)])
    D = ((X[:, None] - means) ** 2).sum(axis=2)
    assert_array_equal(D.argmin(axis=1), found.z)
    assert_allclose(found.history[-1], D.min(axis=1).sum())


def test_several_starts_give_the_best_of_each_alone(X):
    K = X @ X.T
    A = seeded_centres(K, 5, 6, np.random.default_rng(1))
    alone = [kernel_kmeans(K, A[:, [r]], squared_loss(), max_iter=100) for r in range(6)]
    together = kernel_kmeans(K, A, squared_loss(), max_iter=100)
    best = min(alone, key=lambda found: found.history[-1])
    assert len({found.history[-1] for found in alone}) > 1
    assert_allclose(together.history, best.history)
    assert_array_equal(together.z, best.z)


def test_a_robust_centre_is_the_geometric_median_which_an_outlier_does_not_move():
    x = np.array([-2.0, -1, 0, 1, 1e6])[:, None]
    A = plain_centres(np.zeros((5, 1), dtype=int), 1, float)
    found = kernel_kmeans(x @ x.T, A, root_loss(1e-12), max_iter=1)
    for _ in range(200):
        found = kernel_kmeans(x @ x.T, found.A[:, None], root_loss(1e-12), max_iter=1)
    assert abs((found.A[:, 0] @ x).item()) < 1e-3


def test_as_many_clusters_as_samples_leave_nothing_to_explain(X, rng):
    K = X @ X.T
    found = kernel_kmeans(K, seeded_centres(K, 40, 2, rng), squared_loss(), max_iter=10)
    assert len(set(found.z)) == 40
    assert_allclose(found.history[-1], 0, atol=1e-12)


def test_equal_samples_can_still_fill_every_cluster(rng):
    found = kernel_kmeans(np.ones((6, 6)), seeded_centres(np.ones((6, 6)), 4, 2, rng), squared_loss(), max_iter=10)
    assert len(set(found.z)) == 4
