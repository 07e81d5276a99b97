"""k-means of both kinds against plain loops that draw the same random numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linear_sum_assignment

from kernelweave.core.partitions import hartigan, kmeans
from kernelweave.core.partitions.hartigan import best_partition, crossed, descend, sum_of_squares
from kernelweave.core.partitions.kmeans import (
    best_start,
    cluster_means,
    lift,
    nearer,
    nearest,
    partitions,
    random_labels,
    refilled,
    rounding,
    seeded,
    table_partitions,
    to_centres,
)


def squares(X, C):
    return ((np.asarray(C)[:, None] - X) ** 2).sum(axis=2)


def greedy(X, first, draws):
    """Return the samples that greedy k-means++ chooses: of those drawn ∝ D, that which lowers ΣD most."""
    chosen, D = [first], squares(X, X[[first]])[0]
    for levels in draws:
        ends = np.cumsum(D)
        tried = [int(np.sum(ends <= level * ends[-1])) for level in levels]
        left = [np.minimum(D, squares(X, X[[i]])[0]) for i in tried]
        best = min(range(len(tried)), key=lambda k: left[k].sum())
        chosen.append(tried[best])
        D = left[best]
    return chosen


def seeds(X, c, starts, rng):
    return seeded(lift(X[None]), np.zeros(starts, dtype=int), c, rng)


@pytest.mark.parametrize(("c", "draws"), [(1, 2), (2, 2), (3, 3), (8, 4)])
def test_seeds_are_those_of_greedy_k_means_plus_plus(c, draws):
    X = np.random.default_rng(c).normal(size=(25, 3)) + 5
    found = seeds(X, c, 4, np.random.default_rng(9))
    rng = np.random.default_rng(9)
    first = rng.integers(25, size=4)
    levels = [rng.random((4, draws)) for _ in range(1, c)]
    for start in range(4):
        assert_array_equal(found[start], X[greedy(X, first[start], [row[start] for row in levels])])


def test_distances_to_centres_are_those_of_the_table_of_each_run(rng):
    X, C = rng.normal(size=(3, 11, 4)), rng.normal(size=(5, 2, 4))
    X[1, :, 2:], table = 0, np.array([0, 0, 1, 2, 2])
    found = to_centres(lift(X), C * (np.arange(4) < lift(X).widths[table, None])[:, None], table)
    for run, e in enumerate(table):
        width = (4, 2, 4)[e]
        assert_allclose(found[run], squares(X[e, :, :width], C[run, :, :width]), atol=1e-12)
    assert_allclose(to_centres(lift(X[:1]), C), [squares(X[0], one) for one in C], atol=1e-12)


def test_seeds_of_copies_are_samples():
    X = np.ones((5, 2))
    assert_array_equal(seeds(X, 3, 2, np.random.default_rng(0)), np.ones((2, 3, 2)))


def test_crossing_draws_a_centre_of_each_matched_pair():
    C = np.random.default_rng(0).normal(size=(4, 5, 3))
    found = crossed(C, 6, np.random.default_rng(7))
    rng = np.random.default_rng(7)
    for child in found:
        first, second = C[rng.choice(4, 2, replace=False)]
        _, match = linear_sum_assignment(squares(second, first))
        assert_array_equal(child, np.where(rng.random(5)[:, None] < 0.5, first, second[match]))


def naive_descent(X, z, c, max_iter=1000):
    """k-means steps and, where none changes a label, the most profitable moves of single samples."""
    z = z.copy()
    for _ in range(max_iter):
        sizes = np.bincount(z, minlength=c)
        C = np.array([X[z == k].mean(axis=0) if sizes[k] else np.zeros(X.shape[1]) for k in range(c)])
        D = squares(X, C)
        if not sizes.all():
            z = refilled(z[None], D[z, np.arange(len(X))][None], c, 0.0)[0]
            continue
        new = D.argmin(axis=0)
        if (new == z).all():
            moves = []
            for i in range(len(X)):
                others = [k for k in range(c) if k != z[i]]
                if not others or sizes[z[i]] == 1:
                    continue
                to = min(others, key=lambda k: D[k, i] * sizes[k] / (sizes[k] + 1))
                leaving = D[z[i], i] * sizes[z[i]] / (sizes[z[i]] - 1)
                moves.append((leaving - D[to, i] * sizes[to] / (sizes[to] + 1), i, to))
            used = set()
            for gain, i, to in sorted(moves, reverse=True):
                if gain > 1e-9 and not used & {z[i], to}:
                    used |= {z[i], to}
                    new[i] = to
        if (new == z).all():
            break
        z = new
    return z


@pytest.mark.parametrize("seed", range(8))
def test_descent_takes_k_means_steps_and_then_the_most_profitable_moves(seed):
    rng = np.random.default_rng(seed)
    X, c = rng.normal(size=(30, 2)), 2 + seed % 5
    start = rng.integers(c - seed % 2, size=(3, 30))  # with an odd seed one cluster is empty
    before = start.copy()
    z, cost = descend(X, start, c)
    for r in range(3):
        expected = naive_descent(X, start[r], c)
        assert_array_equal(z[r], expected)
        assert cost[r] == pytest.approx(sum_of_squares(X, expected))
    assert_array_equal(start, before)
    for row in start:
        assert_array_equal(descend(X, row[None], c, max_iter=2)[0][0], naive_descent(X, row, c, max_iter=2))


def test_the_sum_of_squares_is_that_about_the_means():
    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(12, 3)), rng.integers(3, size=12)
    expected = sum(((X[z == k] - X[z == k].mean(axis=0)) ** 2).sum() for k in range(3))
    assert sum_of_squares(X, z) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "c", "runs"), [(40, 3, 2), (40, 6, 4), (25, 5, 12), (300, 40, 2), (300, 80, 1)])
def test_the_search_seeds_compares_descends_and_crosses(n, c, runs, monkeypatch):
    X = np.random.default_rng(n + c).normal(size=(n, 2))
    rng = np.random.default_rng(np.random.RandomState(3).randint(2**31 - 1))
    times = int(1.5e6 / (n * c * c))
    zs, costs = [], []
    for count in [10] * (runs // 10) + [runs % 10] * (runs % 10 > 0):
        starts = seeds(X, c, count * min(max(times, 3), 8), rng)
        z, cost = descend(X, np.array([squares(X, C).argmin(axis=0) for C in starts]), c, max_iter=3)
        z, cost = descend(X, z[np.argsort(cost, kind="stable")[:count]], c)
        zs.extend(z)
        costs.extend(cost)
    z, cost = np.array(zs), np.array(costs)
    for _ in range(min(times, 3)):
        different = np.unique(np.round(cost / cost.min(), 9), return_index=True)[1][:runs]
        z, cost = z[different], cost[different]
        if len(z) == 1:
            break
        C = np.array([[X[row == k].mean(axis=0) for k in range(c)] for row in z])
        born = crossed(C, min(runs, 10), rng)
        more, its = descend(X, np.array([squares(X, one).argmin(axis=0) for one in born]), c)
        z, cost = np.vstack([z, more]), np.append(cost, its)
    found = best_partition(X, c, n_init=runs, rng=np.random.RandomState(3))
    assert_array_equal(found, z[best_start(cost, 1e-12 * (X * X).sum())])


def test_coinciding_samples_have_a_partition_without_cost():
    X = np.zeros((6, 2))
    assert_array_equal(np.sort(best_partition(X, 3, n_init=2, rng=np.random.RandomState(0)))[[0, -1]], [0, 2])


# several tables


def naive_lloyd(X, C, max_iter):
    """k-means from centres C until a step gains less than 1e-5 of the sum of squares; return z, cost and centres."""
    c, tiny = len(C), 1e-12 * (X * X).sum()
    z = squares(X, C).argmin(axis=0)
    z = refilled(z[None], squares(X, C)[z, np.arange(len(X))][None], c, tiny)[0]
    cost = np.inf
    for _ in range(max_iter):
        D = squares(X, [X[z == k].mean(axis=0) for k in range(c)])
        own = D[z, np.arange(len(X))]
        before, cost = cost, own.sum()
        moving = (own - D.min(axis=0) > tiny) & (before - cost > 1e-5 * cost)
        if not moving.any():
            break
        z = np.where(moving, D.argmin(axis=0), z)
        z = refilled(z[None], D[z, np.arange(len(X))][None], c, tiny)[0]
    return z, cost, np.array([X[z == k].mean(axis=0) for k in range(c)])


def naive_tables(X, c, starts, rng):
    E, n, _ = X.shape
    sets = min(max(c // 3, 1), 3, max(1500 // n, 1))
    runs = E * sets * starts
    first, draws = rng.integers(n, size=runs), 2 + int(np.log(c))
    levels = [rng.random((runs, draws)) for _ in range(1, c)]
    found = []
    for e in range(E):
        own = range(e * sets * starts, (e + 1) * sets * starts)
        C = [X[e][greedy(X[e], first[r], [row[r] for row in levels])] for r in own]
        if sets > 1:
            tried = [naive_lloyd(X[e], one, 3) for one in C]
            order = np.argsort([cost for _, cost, _ in tried], kind="stable")[:starts]
            C = [tried[r][2] for r in order]
        ends = [naive_lloyd(X[e], one, 300) for one in C]
        found.append(min(ends, key=lambda end: end[1])[0])
    return np.array(found)


@pytest.mark.parametrize(
    ("n", "c", "starts"), [(30, 2, 2), (30, 3, 1), (25, 6, 2), (28, 10, 2), (40, 12, 1), (20, 1, 2)]
)
def test_tables_are_partitioned_as_by_a_loop_over_runs(n, c, starts):
    rng = np.random.default_rng(n + c)
    X = rng.normal(size=(2, n, 3))
    X[1, :, 2] = 0  # a table of two columns
    found = table_partitions(X, c, starts=starts, rng=np.random.default_rng(1))
    assert_array_equal(found, naive_tables(X, c, starts, np.random.default_rng(1)))


def test_the_number_of_samples_limits_the_sets_of_starts(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1, 30, 2))
    seeded = []
    of = kmeans.seeded
    monkeypatch.setattr(
        kmeans, "seeded", lambda tables, table, c, rng: seeded.append(len(table)) or of(tables, table, c, rng)
    )
    for most in (29, 59, 60, 89, 90, 1500):
        monkeypatch.setattr(kmeans, "_SETS_UP_TO", most)
        table_partitions(X, 9, starts=2, rng=np.random.default_rng(0))
    assert seeded == [2, 2, 4, 4, 6, 6]


@pytest.mark.parametrize("seed", [185, 530, 645])
def test_a_cluster_that_loses_all_its_samples_on_the_way_gets_another(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X, C = rng.normal(size=(12, 2)), 1.5 * rng.normal(size=(5, 2))  # centres from which one cluster becomes empty
    monkeypatch.setattr(kmeans, "seeded", lambda *given: C[None].copy())
    (found,) = table_partitions(X[None], 5, starts=1, rng=rng)
    assert_array_equal(found, naive_lloyd(X, C, 300)[0])
    assert set(found) == set(range(5))


def test_tables_of_any_width_are_partitioned_in_their_own_order(monkeypatch):
    rng = np.random.default_rng(0)
    tables = [rng.normal(size=(20, 2)), rng.normal(size=(20, 4)), rng.normal(size=(20, 1))]
    order = [rng.permutation(20) for _ in tables]
    seed = np.random.RandomState(5).randint(np.iinfo(np.int32).max)
    padded = np.zeros((3, 20, 4))
    for i, (table, places) in enumerate(zip(tables, order, strict=True)):
        padded[i, :, : table.shape[1]] = table[places]
    for together, chunks in (
        (1e7, [slice(0, 3)]),
        (240, [slice(0, 2), slice(2, 3)]),
        (1, [slice(i, i + 1) for i in range(3)]),
    ):
        monkeypatch.setattr(kmeans, "_TOGETHER", together)
        draws = np.random.default_rng(seed)
        z = np.concatenate([table_partitions(padded[part], 3, starts=2, rng=draws) for part in chunks])
        expected = np.empty((3, 20), dtype=np.int32)
        for i, places in enumerate(order):
            expected[i, places] = z[i]
        found = partitions(tables, order, 3, n_init=2, rng=np.random.RandomState(5))
        assert_array_equal(found, expected)
        assert found.dtype == np.int32


# assignment


def test_rounding_is_sixty_four_units_in_the_last_place():
    assert rounding(2.0, np.float32) == 128 * float(np.finfo(np.float32).eps)
    assert rounding(0.5, np.float64) == 32 * float(np.finfo(float).eps)


def test_random_labels_are_drawn_uniformly_and_leave_no_cluster_empty():
    rng = np.random.default_rng(4)
    expected = refilled(rng.integers(3, size=(5, 6)), rng.random((5, 6)), 3, 0.0)
    found = random_labels(6, 3, 5, np.random.default_rng(4))
    assert_array_equal(found, expected)
    assert all(set(row) == {0, 1, 2} for row in found)


def test_exactly_the_slack_moves_no_sample_and_counts_as_equal():
    D = np.array([[[1.0, 1.0], [0.75, 0.5]]])
    z = np.zeros((1, 2), dtype=int)
    assert_array_equal(nearer(D, z, D[:, 0], 0.25), [[0, 1]])
    assert_array_equal(nearest(np.array([[[1.0, 0.0, 9.0], [0.75, 1.0, 0.0]]]), 0.25), [[0, 0, 1]])
    assert best_start(np.array([2.0, 1.5]), 0.5) == 0
    assert best_start(np.array([2.0, 1.5]), 0.25) == 1


def test_an_empty_cluster_takes_the_first_of_samples_equally_far():
    z = np.array([[0, 0, 0, 1]])
    d = np.array([[1.0, 3.0, 3.25, 9.0]])
    assert_array_equal(refilled(z, d, 3, 0.25), [[0, 2, 0, 1]])
    assert_array_equal(refilled(z, d, 3, 0.2), [[0, 0, 2, 1]])
    assert_array_equal(refilled(z, d, 4, 0.0), [[0, 3, 2, 1]])
    assert_array_equal(refilled(z, d, 2, 0.0), z)


def test_costs_are_infinite_until_every_cluster_has_a_sample():
    X = np.arange(4.0)[:, None]
    _, cost = descend(X, np.zeros((1, 4), dtype=int), 2, max_iter=1)
    assert cost[0] == np.inf
    z, cost = descend(X, np.array([[0, 0, 1, 1]]), 2, max_iter=1)
    assert_allclose(cost, 1.0)
    assert_array_equal(z, [[0, 0, 1, 1]])
    assert hartigan.sum_of_squares(X, z[0]) == 1.0


def test_means_and_sizes_of_clusters_are_those_of_their_members(rng):
    P, labels = rng.normal(size=(7, 2)), np.array([0, 2, 2, 0, 0, 2, 0])
    (means,), (counts,) = cluster_means(P, labels[None], 4)
    assert_array_equal(counts, [4, 0, 3, 0])
    assert_allclose(means[0], P[labels == 0].mean(axis=0))
    assert_allclose(means[2], P[labels == 2].mean(axis=0))
    assert_array_equal(means[[1, 3]], 0)
