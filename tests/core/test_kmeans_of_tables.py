"""k-means of several tables at once."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from kernelweave.core.partitions.hartigan import sum_of_squares
from kernelweave.core.partitions.kmeans import table_partitions


def tables(n=300):
    """Three tables of the same samples, one of them with two columns of zeros."""
    X, y = make_blobs(n, n_features=4, centers=5, cluster_std=1.5, random_state=0)
    return np.stack([X, X**2 / 10, np.pad(X[:, :2], ((0, 0), (0, 2)))]), y


def test_every_table_gets_a_partition_as_good_as_that_of_scikit_learn():
    X, _ = tables()
    z = table_partitions(X, 5, starts=10, rng=np.random.default_rng(0))
    for table, labels in zip(X, z, strict=True):
        best = KMeans(5, n_init=10, random_state=0).fit(table).inertia_
        assert sum_of_squares(table, labels) <= 1.001 * best


def test_many_clusters_from_few_starts_are_as_good_as_those_of_scikit_learn():
    X, _ = make_blobs(240, n_features=4, centers=9, cluster_std=1.5, random_state=1)
    (z,) = table_partitions(X[None], 9, starts=4, rng=np.random.default_rng(0))
    assert sum_of_squares(X, z) <= 1.01 * KMeans(9, n_init=10, random_state=0).fit(X).inertia_


def test_a_column_of_zeros_between_others_changes_nothing():
    X, _ = make_blobs(120, n_features=3, centers=4, cluster_std=2.0, random_state=0)
    padded = np.insert(X, 1, 0.0, axis=1)
    here, there = (table_partitions(one[None], 4, starts=3, rng=np.random.default_rng(0)) for one in (X, padded))
    assert_array_equal(here, there)


def test_clear_groups_are_found_in_all_tables():
    X, y = make_blobs(200, n_features=3, centers=4, cluster_std=0.1, random_state=2)
    z = table_partitions(np.stack([X, 100 * X]), 4, starts=3, rng=np.random.default_rng(0))
    assert [adjusted_rand_score(y, labels) for labels in z] == [1, 1]


def test_no_cluster_is_empty_even_with_copies():
    X = np.repeat(np.eye(4), 25, axis=0)[None] + 1e-9 * np.random.default_rng(0).normal(size=(1, 100, 4))
    z = table_partitions(X, 6, starts=4, rng=np.random.default_rng(0))
    assert_array_equal(np.unique(z), np.arange(6))


def test_partitions_converge_to_fixed_points_of_k_means():
    X, _ = tables()
    for table, labels in zip(X, table_partitions(X, 5, starts=2, rng=np.random.default_rng(1)), strict=True):
        C = np.stack([table[labels == k].mean(axis=0) for k in range(5)])
        moved = ((table[:, None] - C) ** 2).sum(axis=2).argmin(axis=1) != labels
        assert moved.mean() < 0.01


@pytest.mark.parametrize("starts", [1, 3])
def test_the_same_seed_gives_the_same_partitions(starts):
    X, _ = tables(100)
    here, there = (table_partitions(X, 3, starts=starts, rng=np.random.default_rng(5)) for _ in range(2))
    assert_array_equal(here, there)
