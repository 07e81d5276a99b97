from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from kernelweave.core.partitions.hartigan import best_partition, crossed, descend, sum_of_squares
from kernelweave.core.partitions.kmeans import lift, seeded


@pytest.fixture
def X(rng):
    return rng.normal(size=(60, 4))


def some_labels(rng, starts, n, c):
    z = rng.integers(c, size=(starts, n))
    z[:, :c] = np.arange(c)  # none is empty
    return z


def test_the_sum_of_squares_is_the_inertia_of_k_means(X):
    model = KMeans(5, n_init=1, random_state=0, tol=0).fit(X)
    assert_allclose(sum_of_squares(X, model.labels_), model.inertia_)


def test_at_the_end_no_sample_by_itself_lowers_the_sum_of_squares(X, rng):
    z, cost = descend(X, some_labels(rng, 4, 60, 5), 5)
    for labels, least in zip(z, cost, strict=True):
        assert_allclose(sum_of_squares(X, labels), least)
        for i, k in product(range(60), range(5)):
            moved = labels.copy()
            moved[i] = k
            if len(np.unique(moved)) == 5:
                assert sum_of_squares(X, moved) >= least * (1 - 1e-9)


def test_where_k_means_ends_single_samples_still_lower_the_sum_of_squares(X):
    models = [KMeans(8, n_init=1, random_state=seed, tol=0).fit(X) for seed in range(5)]
    _, cost = descend(X, np.array([m.labels_ for m in models], dtype=np.intp), 8)
    inertia = np.array([m.inertia_ for m in models])
    assert (cost <= inertia * (1 + 1e-9)).all()
    assert (cost < 0.999 * inertia).any()


def test_starts_side_by_side_end_as_they_do_alone(X, rng):
    start = some_labels(rng, 6, 60, 4)
    together, cost = descend(X, start, 4)
    alone = [descend(X, start[[r]], 4) for r in range(6)]
    assert_array_equal(together, [z[0] for z, _ in alone])
    assert_allclose(cost, [each[0] for _, each in alone])


def test_the_best_partition_is_the_best_of_all(rng):
    X = rng.normal(size=(8, 2))
    every = (np.array((0, *z)) for z in product(range(3), repeat=7))
    least = min(sum_of_squares(X, z) for z in every if len(np.unique(z)) == 3)
    assert_allclose(sum_of_squares(X, best_partition(X, 3, n_init=10, rng=np.random.RandomState(0))), least)


def test_more_runs_than_go_side_by_side_find_no_worse_partition(X):
    few, many = (best_partition(X, 9, n_init=n_init, rng=np.random.RandomState(0)) for n_init in (1, 25))
    assert sum_of_squares(X, many) <= sum_of_squares(X, few)


def test_turning_the_samples_or_their_last_digits_leave_the_partition_alone(X, rng):
    found = [
        best_partition(Y, 5, n_init=10, rng=np.random.RandomState(0))
        for Y in (X, X @ ortho_group.rvs(4, random_state=0), -X, X + 1e-7 * rng.normal(size=X.shape))
    ]
    for other in found[1:]:
        assert adjusted_rand_score(found[0], other) == 1


def test_crossed_centres_come_in_pairs_from_two_parents(rng):
    first = 10 * rng.normal(size=(6, 3))
    second = rng.permutation(first) + 0.01
    born = crossed(np.array([first, second]), 8, rng)
    of_first = (born[:, :, None] == first).all(axis=3)
    of_second = (born[:, :, None] == second).all(axis=3)
    assert of_first.any()
    assert of_second.any()
    assert_array_equal(of_first.sum(axis=2) + of_second.sum(axis=2), 1)
    near = ((born[:, :, None] - first) ** 2).sum(axis=3).argmin(axis=2)
    assert_array_equal(np.sort(near), np.broadcast_to(np.arange(6), near.shape))  # no pair is there twice


def test_seeds_are_different_samples(X, rng):
    for C in seeded(lift(X[None]), np.zeros(5, dtype=int), 7, rng):
        distances = ((X[:, None] - C) ** 2).sum(axis=2)
        assert_allclose(distances.min(axis=0), 0)
        assert len(set(distances.argmin(axis=0))) == 7


@pytest.mark.parametrize("distinct", [1, 3, 12])
def test_no_cluster_is_empty_even_where_samples_coincide(rng, distinct):
    X = np.repeat(rng.normal(size=(distinct, 2)), 12 // distinct, axis=0)
    for c in (1, 3, 12):
        z = best_partition(X, c, n_init=2, rng=np.random.RandomState(0))
        assert len(np.unique(z)) == c
        assert sum_of_squares(X, z) <= (0 if c >= distinct else np.inf) + 1e-12
