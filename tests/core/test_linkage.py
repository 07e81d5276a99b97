"""The consensus of partitions against average linkage and memberships computed pair by pair."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.core.partitions import agreement
from kernelweave.core.partitions.agreement import (
    co_association,
    cut_tree,
    mean_agreement,
    merge,
    modularity,
    rand_index,
    trusted,
)


def numbered(parts):
    """Return clusters numbered in the order of their first members."""
    names = {}
    return np.array([names.setdefault(part, len(names)) for part in parts])


def mean_distance(D, m, a, b):
    return sum(D[i, j] * m[i] * m[j] for i in a for j in b) / sum(m[i] for i in a) / sum(m[j] for j in b)


def naive_cut(D, m, c, least):
    """Average linkage, the closest two clusters at a time, and the last cut with c clusters of `least` samples."""
    levels = [[[i] for i in range(len(m))]]
    while len(levels[-1]) > 1:
        now = levels[-1]
        a, b = min(combinations(now, 2), key=lambda pair: mean_distance(D, m, *pair))
        levels.append([x for x in now if x is not a and x is not b] + [a + b])
    for smallest in (least, 1):
        for now in reversed(levels):
            large = [x for x in now if sum(m[i] for i in x) >= smallest]
            if len(large) == c:
                parts = np.empty(len(m), dtype=int)
                for x in now:
                    to = x if x in large else min(large, key=lambda y: mean_distance(D, m, x, y))
                    parts[x] = large.index(to)
                return parts
    return np.arange(len(m))


@pytest.mark.parametrize("seed", range(6))
def test_weighted_leaves_are_linked_by_the_mean_over_their_samples(seed):
    rng = np.random.default_rng(seed)
    points, m = rng.normal(size=(14, 2)), rng.integers(1, 7, size=14)
    D = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    before = D.copy(), m.copy()
    for c in (1, 2, 3, 5, 14):
        for least in (1.0, 4.0, float(np.sort(m)[-3]), 9.0):
            found = cut_tree(D, m, c, least)
            assert_array_equal(numbered(found), numbered(naive_cut(D, m, c, least)))
            assert set(found) == set(range(found.max() + 1))
    assert_array_equal(D, before[0])
    assert_array_equal(m, before[1])


def test_more_clusters_than_leaves_leave_every_leaf_alone():
    assert_array_equal(cut_tree(np.ones((3, 3)) - np.eye(3), np.array([5, 5, 5]), 4, 2.0), [0, 1, 2])


def test_a_cluster_of_exactly_the_least_size_counts():
    points = np.array([0.0, 1.0, 10.0])
    D = np.abs(points[:, None] - points)
    assert_array_equal(cut_tree(D, np.array([8, 8, 4]), 2, 4.0), [0, 0, 1])
    assert_array_equal(cut_tree(D, np.array([8, 8, 4]), 2, 4.5), [0, 1, 1])


def groups(sizes, c):
    """Return four partitions: all tell c large groups apart, and half of them the last one from the one before."""
    z = np.tile(np.repeat(np.arange(len(sizes)), sizes), (4, 1)).astype(np.int32)
    z[:2][z[:2] == len(sizes) - 1] = len(sizes) - 2
    return z


@pytest.mark.parametrize(("small", "own"), [(5, False), (6, True)])
def test_a_twentieth_of_the_mean_size_makes_a_cluster(small, own):
    z = groups([117, 123 - small, small], 3)  # 240 samples in two clusters: 6 is a twentieth of 120
    split = merge(np.vstack([z, z[2:], z[2:]]), np.ones(8), 3).labels
    assert len(np.unique(split)) == 3
    found = merge(z, np.ones(4), 2).labels
    assert_array_equal(np.bincount(found), [117, 123])
    z[2:, :117] = 1  # now the small group is the clearest
    found = merge(z, np.ones(4), 2).labels
    assert (np.bincount(found).min() == small) == own


def test_a_pair_makes_a_cluster_where_there_are_few_samples_and_a_single_sample_does_not():
    for small, expected in ((2, [6, 2]), (1, [4, 3])):  # a tie goes to the first
        z = np.zeros((3, 6 + small), dtype=np.int32)
        z[:, 6:] = 1
        z[0, 3:6] = 2
        found = np.bincount(merge(z, np.ones(3), 2).labels)
        assert_array_equal(found, expected)


def naive_merge(z, w, c, most):
    """Merge the tuples of `most` samples at equal steps; others join the cluster that they agree with most."""
    tuples, place, m = np.unique(z, axis=1, return_inverse=True, return_counts=True)
    place = place.ravel()
    in_order = np.repeat(np.arange(len(m)), m)
    n = len(in_order)
    used = sorted({int(in_order[int(np.ceil((k + 0.5) * n / most)) - 1]) for k in range(most)})
    T = sum(wr * (row[:, None] == row) for row, wr in zip(tuples, w, strict=True)) / w.sum()
    parts = cut_tree(1 - T[np.ix_(used, used)], m[used], c, max(2.0, n / (20 * c)))
    of = {u: int(k) for u, k in zip(used, parts, strict=True)}
    share = np.zeros((len(m), parts.max() + 1))
    for k in range(parts.max() + 1):
        members = [u for u in used if of[u] == k]
        share[:, k] = sum(T[:, u] * m[u] for u in members) / sum(m[u] for u in members)
    return numbered([of.get(t, int(share[t].argmax())) for t in place])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [7, 20])
def test_tuples_that_are_left_out_join_the_cluster_that_they_agree_with_most(seed, most, monkeypatch):
    rng = np.random.default_rng(seed)
    z = np.tile(np.repeat(np.arange(3), 30), (7, 1))
    drawn = rng.random(z.shape) < 0.25
    z[drawn] = rng.integers(3, size=drawn.sum())
    z, w = z.astype(np.int32), rng.uniform(0.5, 1, size=7)
    monkeypatch.setattr(agreement, "_MOST_TUPLES", most)
    assert len(np.unique(z, axis=1).T) > most
    found = merge(z, w, 3)
    assert_array_equal(found.labels, naive_merge(z, w, 3, most))
    T = co_association(z, w).astype(float) - np.eye(90)
    Y = np.eye(found.labels.max() + 1)[found.labels]
    expected = np.clip(T @ Y / np.maximum(Y.sum(axis=0) - Y, 1), 0, 1)
    assert_allclose(found.membership, expected / expected.sum(axis=1, keepdims=True), atol=1e-5)


def test_as_many_tuples_as_are_merged_at_most_are_all_merged(monkeypatch):
    z = np.array([[0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 0]], dtype=np.int32)
    everything = merge(z, np.ones(2), 3)
    monkeypatch.setattr(agreement, "_MOST_TUPLES", 6)
    same = merge(z, np.ones(2), 3)
    assert_array_equal(same.labels, everything.labels)
    assert_array_equal(same.membership, everything.membership)


def test_a_thousandth_of_the_largest_weight_is_negligible_and_more_is_not():
    z = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2]], dtype=np.int32)
    alone = merge(z[:1], np.array([2.0]), 2).membership
    assert_array_equal(merge(z, np.array([2.0, 0.002]), 2).membership, alone)
    assert abs(merge(z, np.array([2.0, 0.0021]), 2).membership - alone).max() > 1e-5


def test_single_samples_share_a_cluster_in_their_memberships():
    z = np.array([[0, 1, 1]], dtype=np.int32)
    assert_array_equal(merge(z, np.ones(1), 2).membership, [[1, 0], [0, 1], [0, 1]])
    one = merge(np.zeros((2, 1), dtype=np.int32), np.ones(2), 1)
    assert_array_equal(one.labels, [0])
    assert_array_equal(one.membership, [[1]])


def pairs_index(a, b):
    """Return the adjusted Rand index by counting pairs."""
    pairs = list(combinations(range(len(a)), 2))
    first, second = ([int(x[i] == x[j]) for i, j in pairs] for x in (a, b))
    both, expected = np.dot(first, second), sum(first) * sum(second) / len(pairs)
    most = (sum(first) + sum(second)) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


@pytest.mark.parametrize("seed", range(5))
def test_the_rand_index_counts_pairs(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(3, size=9), rng.integers(5, size=9).astype(np.int32)
    assert rand_index(a, b) == pytest.approx(pairs_index(a, b))
    assert rand_index(b, a) == pytest.approx(pairs_index(a, b))
    assert mean_agreement(np.stack([a, b, a])) == pytest.approx((1 + 2 * pairs_index(a, b)) / 3)


def test_one_sample_and_all_samples_apart_agree():
    one = np.zeros(1, dtype=int)
    assert rand_index(one, one) == 1
    assert rand_index(np.arange(4), np.arange(4)) == 1
    assert rand_index(np.arange(4), np.zeros(4, dtype=int)) == 0
    assert rand_index(np.array([0, 0]), np.array([0, 1])) == 0


def test_trust_is_the_eighth_power_of_the_agreement_or_the_sixteenth_with_few_columns():
    assert trusted(0.9) == pytest.approx(0.9**8)
    assert trusted(0.9, few_columns=True) == pytest.approx(0.9**16)
    assert trusted(0.0) == trusted(-0.5) == pytest.approx(1e-24)
    assert trusted(2e-3) == pytest.approx(2e-3**8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_modularity_is_the_weight_within_clusters_less_what_degrees_expect(dtype):
    rng = np.random.default_rng(0)
    S = rng.random((12, 12)) * (rng.random((12, 12)) < 0.5)
    S = ((S + S.T) / 2).astype(dtype)
    labels = rng.integers(3, size=12)
    s, d = S.sum(), S.sum(axis=1)
    same = labels[:, None] == labels
    expected = ((S - np.outer(d, d) / s) * same).sum() / s
    assert modularity(sparse.csr_array(S), labels) == pytest.approx(expected, abs=1e-6)
