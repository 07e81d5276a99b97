"""Valleys of density between clusters, and partitions by peaks of density."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from kernelweave.core.partitions.density_peaks import peak_partitions
from kernelweave.core.partitions.valleys import APART, Relief, depth, relief

LINE = np.array([1.0, 3.0, 2.0, 0.0, 4.0, 5.0])  # heights of samples in a row: two peaks, and a pass between them


def row(height):
    """Return samples in a row, each with its two neighbours."""
    n = len(height)
    near = np.stack([np.maximum(np.arange(n) - 1, 0), np.minimum(np.arange(n) + 1, n - 1)], axis=1)
    return Relief(np.asarray(height, dtype=float), near)


def two_groups(apart, n=400):
    rng = np.random.default_rng(3)
    y = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) + apart * np.c_[y, np.zeros(n)], y


def test_the_depth_is_that_of_the_pairs_that_touch_below_the_lower_cluster():
    z = np.array([0, 0, 0, 1, 1, 1])
    # means of the clusters 2 and 3; samples 2 and 3 touch, in both directions, at the mean height 1
    assert depth(row(LINE), z) == pytest.approx(2 - 1)


def test_the_shallowest_valley_counts():
    z = np.array([0, 0, 1, 1, 2, 2])
    # between the first two the mean height is 2.5, and the lower mean 1; between the others 2 and 1
    assert depth(row(LINE), z) == pytest.approx(1 - 2.5)


def test_clusters_that_do_not_touch_are_apart():
    X = np.r_[np.zeros((20, 2)), np.full((20, 2), 50.0)] + np.random.default_rng(0).normal(size=(40, 2))
    assert depth(relief(X), np.repeat([0, 1], 20)) == APART
    assert depth(relief(X), np.zeros(40, dtype=int)) == APART


def test_a_cut_through_a_dense_region_has_no_valley_and_a_gap_has_one():
    X, y = two_groups(4.5)
    of = relief(X)
    assert depth(of, y) > 0.5
    assert depth(of, (X[:, 1] > 0).astype(int)) < 0


def test_heights_are_logarithms_of_a_density():
    rng = np.random.default_rng(0)
    X = np.r_[rng.uniform(size=(1000, 2)), 3 + rng.uniform(size=(1000, 2)) / 2]  # four times as dense
    h = relief(X).height
    assert np.median(h[1000:]) - np.median(h[:1000]) == pytest.approx(np.log(4), abs=0.2)
    assert_allclose(np.ptp(relief(100 * X).height - h), 0, atol=1e-8)


@pytest.mark.parametrize(
    "X",
    [np.random.default_rng(0).normal(size=(80, 3)), np.indices((9, 9)).reshape(2, -1).T * 1.0],
    ids=["normal", "grid"],
)
def test_the_order_of_samples_does_not_matter(X):
    order = np.random.default_rng(1).permutation(len(X))
    one, other = relief(X), relief(X[order])
    assert_allclose(other.height, one.height[order])
    assert_array_equal(order[other.near], one.near[order])


def test_copies_of_a_sample_have_finite_heights():
    X = np.repeat(np.random.default_rng(0).normal(size=(30, 2)), 12, axis=0)
    of = relief(X)
    assert np.isfinite(of.height).all()
    assert np.isfinite(relief(np.ones((20, 3))).height).all()
    assert not (of.near == np.arange(len(X))[:, None]).any()


def test_the_most_prominent_peaks_have_the_clusters():
    height = np.r_[np.linspace(0, 4, 30), np.linspace(4, 1, 30), np.linspace(1, 3, 30), np.linspace(3, 2.5, 30)]
    height[10] += 1  # a small peak on the way to the highest
    of = row(height)
    assert adjusted_rand_score(peak_partitions(of, [2])[2], np.arange(120) >= 60) > 0.95
    assert len(np.unique(peak_partitions(of, [3])[3])) == 3


@pytest.mark.parametrize(
    ("X", "y"),
    [make_moons(300, noise=0.06, random_state=7), make_circles(300, noise=0.04, factor=0.5, random_state=7)],
    ids=["moons", "circles"],
)
def test_peaks_find_groups_of_any_shape(X, y):
    of = relief(X)
    found = peak_partitions(of, [2, 3])
    assert adjusted_rand_score(y, found[2]) > 0.9
    assert depth(of, found[2]) > depth(of, found[3])


def test_there_are_no_partitions_with_more_clusters_than_peaks_or_fewer_than_pieces():
    X = np.concatenate([np.random.default_rng(s).normal(size=(40, 2)) + 100 * s for s in range(3)])
    found = peak_partitions(relief(X), range(2, 60))
    assert min(found) == 3
    assert adjusted_rand_score(np.repeat([0, 1, 2], 40), found[3]) == 1
    assert max(found) < 40
    assert all(len(np.unique(z)) == k for k, z in found.items())
