"""Densities, valleys and peaks against loops over all samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.partitions.density_peaks import peak_partitions
from kernelweave.core.partitions.valleys import APART, Relief, depth, relief


@pytest.mark.parametrize(("n", "columns"), [(40, 2), (40, 1), (6, 3), (11, 2), (2, 1)])
def test_heights_follow_from_the_ten_nearest_neighbours_of_every_sample(n, columns):
    X = np.random.default_rng(n).normal(size=(n, columns))
    k = min(10, n - 1)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    others = [sorted((D[i, j], j) for j in range(n) if j != i)[:k] for i in range(n)]
    squares = np.array([[d for d, _ in row] for row in others])
    logs = [np.log(np.sqrt(row[-1] / d)) for row in squares for d in row[:-1]]
    m = min(1 / np.mean(logs) if logs else 1, columns)
    found = relief(X)
    assert_allclose(found.height, -m / 2 * np.log(squares.mean(axis=1)), rtol=1e-9)
    assert_array_equal(found.near, [[j for _, j in row[:7]] for row in others])


def test_the_dimension_is_that_of_the_samples_and_not_of_their_columns():
    X = np.random.default_rng(0).uniform(size=(300, 1)) @ np.ones((1, 3))
    h, line = relief(X).height, relief(X[:, :1]).height
    assert np.ptp(h - line) < 0.2 * np.ptp(line)  # one dimension in both


@pytest.mark.parametrize("copies", [2, 5, 12])
def test_copies_count_as_neighbours_at_a_tiny_distance(copies):
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(8, 2)), copies, axis=0)
    n, k = len(X), 10
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    squares = np.array([np.sort(np.delete(D[i], i))[:k] for i in range(n)])
    mean = squares.mean()
    same = squares <= 1e-12 * mean
    squares[same] = 1e-12 * mean or 1.0
    logs = np.log(squares[:, -1:] / squares[:, :-1])[~same[:, :-1]] / 2
    m = min(len(logs) / logs.sum() if logs.sum() > 0 else 1.0, 2)
    assert_allclose(relief(X).height, -m / 2 * np.log(squares.mean(axis=1)), rtol=1e-9)


def test_copies_of_one_sample_all_have_the_height_zero():
    assert_array_equal(relief(np.full((15, 2), 3.0)).height, 0)


@pytest.mark.parametrize("seed", range(6))
def test_the_depth_is_the_shallowest_over_all_pairs_of_clusters(seed):
    rng = np.random.default_rng(seed)
    h, near, z = rng.normal(size=20), rng.integers(20, size=(20, 3)), rng.integers(4, size=20)
    z[z == 1] = 2  # a number without members
    valleys = [APART]
    for a in range(4):
        for b in range(a + 1, 4):
            touching = [(h[i] + h[j]) / 2 for i in range(20) for j in near[i] if {z[i], z[j]} == {a, b}]
            if touching:
                valleys.append(min(h[z == a].mean(), h[z == b].mean()) - np.mean(touching))
    assert depth(Relief(h, near), z) == pytest.approx(min(valleys))


@pytest.mark.parametrize("seed", range(6))
def test_standard_errors_are_those_of_as_many_neighbours_as_samples_touch(seed):
    rng = np.random.default_rng(seed)
    h, near, z = rng.normal(size=60), rng.integers(60, size=(60, 3)), rng.integers(3, size=60)
    near[:40] = np.arange(40)[:, None]  # these touch no others
    valleys = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        pairs = [(i, j) for i in range(60) for j in near[i] if {z[i], z[j]} == {a, b}]
        lower = min(h[z == a].mean(), h[z == b].mean())
        valleys.append((lower - h[np.array(pairs)].mean(), len({i for pair in pairs for i in pair})))
    assert {t > 10 for _, t in valleys} == {True}
    for errors in (0.0, 1.0, 2.5):
        expected = min(deep - errors / np.sqrt(t) for deep, t in valleys)
        assert depth(Relief(h, near), z, errors) == pytest.approx(expected)


def test_the_standard_error_is_at_most_that_of_ten_neighbours_and_none_between_clusters_apart():
    touching, apart = np.array([[1], [0]]), np.array([[0], [1]])
    h, z = np.zeros(2), np.array([0, 1])
    assert depth(Relief(h, touching), z, 1.0) == pytest.approx(-1 / np.sqrt(10))
    assert depth(Relief(h, apart), z, 1.0) == APART


def test_a_valley_is_at_most_as_deep_as_between_clusters_apart():
    near = np.array([[1], [0]])
    assert depth(Relief(np.array([0.0, 0.0]), near), np.array([0, 1])) == 0
    deep = Relief(np.array([90.0, -50.0, 90.0]), np.array([[1], [0], [1]]))
    assert depth(deep, np.array([0, 0, 1])) == pytest.approx(0)
    low = Relief(np.array([90.0, 0.0, 0.0, 90.0]), np.array([[0], [2], [1], [3]]))
    assert depth(low, np.array([0, 0, 1, 1])) == APART == 10


def naive_peaks(of, k):
    """Return clusters by prominence: basins flood from the top, and a lower peak ends where it meets a higher one."""
    n = len(of.height)
    around = [[i, *of.near[i]] for i in range(n)]
    h = np.array([np.mean([of.height[j] for j in row]) for row in around])
    up = [max(around[i], key=lambda j: h[j]) for i in range(n)]
    peak = []
    for i in range(n):
        while up[i] != i:
            i = up[i]
        peak.append(i)
    edges = sorted(  # one sample may be the pass to several peaks: then the first peaks are joined first
        (-min(h[i], h[j]), *sorted((peak[i], peak[j]))) for i in range(n) for j in of.near[i] if peak[i] != peak[j]
    )
    root, prominence, above, when = (
        {p: p for p in set(peak)},
        dict.fromkeys(peak, np.inf),
        {},
        dict.fromkeys(peak, n * n),
    )

    def top(p):
        while root[p] != p:
            p = root[p]
        return p

    for step, (depth_below_0, *ends) in enumerate(edges):
        a, b = sorted(map(top, ends), key=lambda p: h[p])
        if a != b:
            root[a], above[a], prominence[a], when[a] = b, b, h[a] + depth_below_0, step
    if not len(prominence) - len(above) <= k <= len(prominence):
        return None
    order = sorted(prominence, key=lambda p: (-prominence[p], -when[p], -h[p]))
    kept = set(order[:k])

    def final(p):
        while p not in kept:
            p = above[p]
        return p

    return np.array([order.index(final(p)) for p in peak])


@pytest.mark.parametrize("seed", range(6))
def test_the_most_prominent_peaks_are_those_that_flooding_finds(seed):
    rng = np.random.default_rng(seed)
    of = Relief(rng.normal(size=40), np.array([rng.choice(np.delete(np.arange(40), i), 3, False) for i in range(40)]))
    if seed > 3:  # two parts without neighbours in each other
        of = Relief(of.height, np.where(np.arange(40)[:, None] < 20, of.near % 20, 20 + of.near % 20))
    found = peak_partitions(of, range(41))
    for k in range(41):
        expected = naive_peaks(of, k)
        assert (k in found) == (expected is not None)
        if expected is not None:
            assert_array_equal(found[k], expected)
    assert len(found) > 2


def test_samples_of_equal_height_do_not_climb_in_circles():
    near = np.array([[1, 2], [2, 0], [0, 1], [4, 5], [5, 3], [3, 4]])
    found = peak_partitions(Relief(np.zeros(6), near), [1, 2, 5, 6, 7])
    assert set(found) == {2, 5, 6}
    assert_array_equal(found[6], np.argsort(np.argsort(found[6])))
