import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.partitions.kernel_centres import (
    centre_distances,
    centred_kernel,
    centres,
    kernel_kmeans,
    plain_centres,
    root_loss,
    seeded_centres,
    squared_loss,
)
from kernelweave.core.partitions.kmeans import own_distances, random_labels

LOSSES = {"squared": squared_loss(), "root": root_loss(1e-12)}


@pytest.fixture
def X(rng):
    return rng.normal(size=(40, 3))


@pytest.mark.parametrize("starts", [1, 4])
def test_distances_are_those_to_weighted_means(X, rng, starts):
    z = random_labels(40, 5, starts, rng)
    s = rng.random((starts, 40))
    D = centre_distances(X @ X.T, centres(z, 5, s))
    for r in range(starts):
        for k in range(5):
            mean = np.average(X[z[r] == k], axis=0, weights=s[r, z[r] == k])
            assert_allclose(D[r, k], ((X - mean) ** 2).sum(axis=1), atol=1e-12)
        assert_array_equal(own_distances(D, z)[r], D[r, z[r], np.arange(40)])


def test_single_precision_keeps_the_distances_to_centres_of_a_flat_kernel(X, rng):
    flat = np.exp(-1e-5 * ((X[:, None] - X) ** 2).sum(axis=2))
    single = flat.astype(np.float32)
    z = random_labels(40, 5, 2, rng)
    # both from the same numbers: what is lost is lost by this computation alone, not by the rounding of the kernel
    double = centre_distances(centred_kernel(single.astype(np.float64)), plain_centres(z, 5, np.float64))
    found = centre_distances(centred_kernel(single), plain_centres(z, 5, np.float32))
    assert_allclose(found, double, atol=1e-5 * double.mean())
    assert_array_equal(single, single.T)


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
    alone = [kernel_kmeans(K, A[[r]], squared_loss(), max_iter=100) for r in range(6)]
    together = kernel_kmeans(K, A, squared_loss(), max_iter=100)
    costs = np.array([found.history[-1] for found in alone])
    equal = 64 * np.finfo(float).eps * np.abs(K).max() * len(X)  # the error of a sum of n distances
    best = alone[int(np.argmax(costs <= costs.min() + equal))]
    assert (costs > costs.min() + equal).any()
    assert_allclose(together.history, best.history)
    assert_array_equal(together.z, best.z)


def test_the_first_of_equal_starts_is_taken(X):
    # centres in another order give the same partition under other names
    K = X @ X.T
    A = seeded_centres(K, 5, 3, np.random.default_rng(1))
    once = kernel_kmeans(K, A, squared_loss(), max_iter=100)
    twice = kernel_kmeans(K, np.concatenate([A, A[:, ::-1], A]), squared_loss(), max_iter=100)
    assert_array_equal(twice.z, once.z)


@pytest.mark.parametrize("seed", range(10))
def test_samples_between_equal_centres_do_not_change_for_ever(seed):
    # six clusters of three different samples: some centres coincide, and rounding alone tells them apart
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.normal(size=(3, 4)), 10, axis=0)
    K = X @ X.T
    K += 4 * np.finfo(float).eps * np.abs(K).max() * rng.normal(size=K.shape)
    found = kernel_kmeans(K, seeded_centres(K, 6, 10, rng), squared_loss(), max_iter=20)
    assert found.converged
    assert len(set(found.z)) == 6


def test_a_robust_centre_is_the_geometric_median_which_an_outlier_does_not_move():
    x = np.array([-2.0, -1, 0, 1, 1e6])[:, None]
    A = plain_centres(np.zeros((1, 5), dtype=int), 1, float)
    found = kernel_kmeans(x @ x.T, A, root_loss(1e-12), max_iter=1)
    for _ in range(200):
        found = kernel_kmeans(x @ x.T, found.A[None], root_loss(1e-12), max_iter=1)
    assert abs((found.A[0] @ x).item()) < 1e-3


def test_as_many_clusters_as_samples_leave_nothing_to_explain(X, rng):
    K = X @ X.T
    found = kernel_kmeans(K, seeded_centres(K, 40, 2, rng), squared_loss(), max_iter=10)
    assert len(set(found.z)) == 40
    assert_allclose(found.history[-1], 0, atol=1e-12)


def test_equal_samples_can_still_fill_every_cluster(rng):
    found = kernel_kmeans(np.ones((6, 6)), seeded_centres(np.ones((6, 6)), 4, 2, rng), squared_loss(), max_iter=10)
    assert len(set(found.z)) == 4
