"""Weights of kernels and trust in views: fixed points, thresholds and the smallest inputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.consensus.known_pairs import known_moments, known_weights, masked_distances
from kernelweave.core.consensus.self_weighted import (
    agreement,
    fixed_point_weights,
    gram_distances,
    median_weights,
    trust,
)
from kernelweave.core.consensus.view_trust import ViewRelations, related, standard_relation, view_trust
from kernelweave.kernels import bank as bank_module
from kernelweave.kernels.bank import KernelTiles, kernel_moments

DOUBLE = np.dtype(np.float64)


def tiles(H, size):
    n = H.shape[1]
    parts = [slice(i, min(i + size, n)) for i in range(0, n, size)]
    return [(rows, cols, H[:, rows, cols]) for k, rows in enumerate(parts) for cols in parts[k:]]


def correlations(rng, r=6, common=1.0):
    X = rng.normal(size=(40, r)) + common * rng.normal(size=(40, 1))
    return np.corrcoef(X.T)


def best_paths(R):
    """Return the largest product of correlations along any path between two kernels."""
    best = np.maximum(R, 0)
    for k in range(len(R)):
        best = np.maximum(best, best[:, [k]] * best[[k]])
    return best


@pytest.mark.parametrize("seed", range(4))
def test_agreement_is_the_best_product_of_correlations_from_a_leading_kernel(seed):
    rng = np.random.default_rng(seed)
    R = correlations(rng)
    R[4] = R[:, 4] = 0  # flat
    kept = [0, 1, 2, 3, 5]
    inner = np.maximum(R[np.ix_(kept, kept)], 0)
    v = np.abs(np.linalg.eigh(inner)[1][:, -1])
    u = (best_paths(inner) * (v / v.max())).max(axis=1)
    assert (u > 0.1).sum() > 2.5
    found = agreement(R)
    assert_allclose(found[kept], u)
    assert found[4] == 1


def test_half_of_the_kernels_above_the_threshold_are_no_majority():
    chain = np.eye(4)
    chain[0, 1] = chain[1, 0] = 0.9
    assert_array_equal(agreement(chain), np.ones(4))
    chain[1, 2] = chain[2, 1] = 0.9
    assert agreement(chain)[3] < 1e-12
    assert agreement(chain)[:3].min() > 0.8


def test_an_agreement_of_a_tenth_is_no_trust_lost_and_less_is_in_proportion():
    R = np.ones((4, 4))
    R[3, :3] = R[:3, 3] = 0.05
    u = agreement(R)
    assert 0 < u[3] < 0.1
    assert_allclose(trust(R, 4), [1, 1, 1, u[3] / 0.1])
    assert_array_equal(trust(None, 3), np.ones(3))
    assert_array_equal(agreement(np.zeros((3, 3))), np.ones(3))


@pytest.mark.parametrize("floor", [0.0, 0.1, 0.5, 2.0])
def test_weights_are_a_fixed_point_of_trust_over_distance(small, floor):
    G = np.einsum("iab,jab->ij", small.H, small.H)
    t = np.array([1.0, 0.5, 1.0, 0.2])
    p = median_weights(G, None, t, floor=floor)
    delta = floor * np.median(gram_distances(G, t / t.sum()))
    w = t / np.maximum(gram_distances(G, p), delta)
    assert_allclose(p, w / w.sum(), atol=1e-6)
    assert p.sum() == pytest.approx(1)


def test_distances_have_the_floor_of_a_tenth_of_the_median_unless_told(small):
    H = np.concatenate([small.H, small.H[:1], small.H[:1] + 1e-9])
    G = np.einsum("iab,jab->ij", H, H)
    assert_array_equal(median_weights(G), median_weights(G, floor=0.1))
    assert abs(median_weights(G) - median_weights(G, floor=0.2)).max() > 1e-4


def test_equal_kernels_of_any_size_and_kernels_of_zeros_have_equal_weights():
    for size in (0.0, 1e-140, 1e-3, 1e100):
        assert_allclose(median_weights(np.full((3, 3), size)), 1 / 3)
    d = fixed_point_weights(lambda p: np.zeros(2), np.ones(2), least=0.0)
    assert_allclose(d, 0.5)


def test_distances_below_the_least_count_as_the_least():
    p = fixed_point_weights(lambda p: np.array([0.001, 1.0, 4.0]), np.ones(3), least=2.0, floor=0.1)
    assert_allclose(p, np.array([2, 2, 1]) / 5)
    p = fixed_point_weights(lambda p: np.array([0.001, 1.0, 4.0]), np.ones(3), least=0.0, floor=0.5)
    assert_allclose(p, np.array([2, 1, 0.25]) / 3.25)


def test_the_iteration_ends_where_weights_no_longer_change():
    calls = []

    def distances(p):
        calls.append(p)
        return 1 + 0.5 * p

    p = fixed_point_weights(distances, np.array([1.0, 2.0]), least=0.0)
    w = np.array([1.0, 2.0]) / (1 + 0.5 * p)
    assert_allclose(p, w / w.sum(), atol=1e-8)
    assert 2 < len(calls) < 30
    assert np.abs(calls[-1] - calls[-2]).max() >= 1e-8  # it would have ended before
    constant = []
    fixed_point_weights(lambda p: constant.append(p) or np.ones(2), np.ones(2), least=0.0)
    assert len(constant) == 1


def test_the_iteration_is_given_up_after_a_thousand_steps():
    calls = []

    def alternating(p):
        calls.append(p)
        return np.array([1.0, 2.0]) if len(calls) % 2 else np.array([2.0, 1.0])

    fixed_point_weights(alternating, np.ones(2), least=0.0)
    assert len(calls) == 1001


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 4, 9])
def test_moments_are_those_of_all_entries_and_correlations_those_off_the_diagonal(dtype, size):
    rng = np.random.default_rng(0)
    H = rng.normal(size=(3, 9, 9)) + 3
    H = ((H + H.transpose(0, 2, 1)) / 2).astype(dtype)
    before = H.copy()
    G, R = kernel_moments(iter(tiles(H, size)))
    off = ~np.eye(9, dtype=bool)
    assert_allclose(G, np.einsum("iab,jab->ij", H, H, dtype=float), rtol=1e-4 if dtype == np.float32 else 1e-12)
    assert_allclose(R, np.corrcoef(H[:, off]), atol=1e-5)
    assert_array_equal(H, before)


def test_a_millionth_of_the_variance_of_all_entries_is_flat_and_more_is_not():
    n = 6
    off = np.triu(np.ones((n, n)), 1)
    pattern = np.where((np.add.outer(np.arange(n), np.arange(n)) % 2) == 0, 1.0, -1.0) * (off + off.T)
    pattern -= (pattern.sum() / (n * (n - 1))) * (off + off.T)
    for factor, varies in ((0.5, 0), (2.0, 1)):
        diagonal = np.diag(np.arange(n) * 10.0)
        spread = (diagonal**2).sum() - diagonal.sum() ** 2 / n**2
        H = diagonal + pattern * np.sqrt(factor * 1e-6 * spread / (pattern**2).sum())
        _, R = kernel_moments(tiles(H[None], n))
        assert R[0, 0] == varies


def test_one_sample_has_moments_and_no_correlations():
    G, R = kernel_moments(tiles(np.array([[[2.0]], [[3.0]]]), 1))
    assert_allclose(G, [[4, 6], [6, 9]])
    assert_array_equal(R, 0)


def stack_tiles(H, asked=None):
    def tile(rows, cols, dtype=None, p=None):
        if asked is not None:
            asked.append((rows, cols))
        part = H[:, rows, cols].astype(dtype)
        return part if p is None else np.tensordot(p.astype(dtype), part, axes=1)

    return tile


def test_tiles_of_all_kernels_take_a_third_of_a_matrix_within_limits():
    for n, r, size in ((1200, 1, 512), (1200, 4, 346), (1200, 100, 192), (90, 1, 192)):
        asked = []
        H = np.zeros((1, n, n), dtype=np.float32)
        for _ in KernelTiles(stack_tiles(H, asked), r, n).of(np.dtype(np.float32)):
            pass
        ends = sorted({rows.stop for rows, _ in asked})
        assert ends == [*range(size, n, size), n]
        assert len(asked) == len(ends) * (len(ends) + 1) // 2
        assert all(cols.start >= rows.start for rows, cols in asked)


def test_tiles_of_a_sum_have_the_least_size_and_are_checked_if_asked():
    n = 400
    H = np.random.default_rng(0).random((2, n, n))
    p, seen = np.array([0.25, 0.75]), []
    plain = list(KernelTiles(stack_tiles(H), 2, n).of(DOUBLE, p))
    checked = KernelTiles(stack_tiles(H), 2, n, lambda part, training: seen.append((part.shape, training)))
    assert [rows.stop - rows.start for rows, cols, _ in plain if rows == cols] == [192, 192, 16]
    for (_, _, tile), (rows, cols, again) in zip(plain, checked.of(DOUBLE, p), strict=True):
        assert_allclose(tile, again, rtol=1e-12)
        assert seen[-1] == ((2, *tile.shape), rows == cols)
    for rows, cols, tile in checked.of(DOUBLE):
        assert_array_equal(tile, H[:, rows, cols])


# samples that a view lacks


def test_a_view_of_one_sample_or_of_none_has_the_mean_of_its_pairs():
    rng = np.random.default_rng(0)
    H = rng.normal(size=(2, 5, 5))
    H = H + H.transpose(0, 2, 1)
    present = np.array([[False] * 4 + [True], [False] * 5])
    for size in (2, 5):
        G, R = known_moments(tiles(H, size), present, np.array([0, 1]))
        assert_allclose(G[0], np.outer(H[:, 4, 4], H[:, 4, 4]))
        assert_array_equal(G[1], 0)
        assert_array_equal(R, 0)


def test_two_kernels_are_compared_on_the_pairs_that_both_know():
    rng = np.random.default_rng(1)
    H = rng.normal(size=(3, 7, 7))
    H = H + H.transpose(0, 2, 1)
    present = np.array([[1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 1]], dtype=bool)
    view = np.array([0, 1, 1])
    for size in (3, 7):
        G, R = known_moments(tiles(H, size), present, view)
        both = np.ix_([2, 3, 4], [2, 3, 4])
        off = ~np.eye(3, dtype=bool)
        assert_allclose(R[0, 1], np.corrcoef(H[0][both][off], H[1][both][off])[0, 1], atol=1e-12)
        own = np.ix_(present[1], present[1])
        assert_allclose(G[1, 0, 2], (H[0][own] * H[2][own]).mean())
        p = np.array([0.5, 0.2, 0.3])
        K = np.tensordot(p, H, axes=1)
        expected = [np.sqrt(((H[i] - K)[np.ix_(present[v], present[v])] ** 2).mean()) for i, v in enumerate(view)]
        assert_allclose(masked_distances(G, view, p), expected)


def test_a_kernel_flat_off_the_diagonal_is_told_by_a_millionth_of_its_second_moment():
    rng = np.random.default_rng(0)
    E = rng.normal(size=(8, 8))
    E = E + E.T
    off = ~np.eye(8, dtype=bool)
    E = (E - E[off].mean()) / E[off].std()
    for spread, flat in ((0.5e-3, True), (2e-3, False)):
        H = np.stack([1 + spread * E, E])
        _, R = known_moments(tiles(H, 3), np.ones((1, 8), dtype=bool), np.zeros(2, dtype=int))
        assert (R[0, 0] == 0) == flat
        assert R[1, 1] == 1


def test_known_weights_are_a_fixed_point_and_multiply_the_trust_in_views():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 20, 3))
    H = X @ X.transpose(0, 2, 1)
    present = rng.random((2, 20)) < 0.8
    view = np.array([0, 0, 1, 1])
    G, _ = known_moments(tiles(H, 7), present, view)
    R = np.ones((4, 4))
    for of_views in (1.0, np.array([1.0, 1.0, 0.25, 0.25])):
        p = known_weights(G, R, view, of_views)
        t = np.ones(4) * of_views
        delta = 0.1 * np.median(masked_distances(G, view, t / t.sum()))
        w = t / np.maximum(masked_distances(G, view, p), delta)
        assert_allclose(p, w / w.sum(), atol=1e-7)
    assert_array_equal(known_weights(G, R, view), known_weights(G, R, view, 1.0))
    same = np.ones((1, 3, 3))
    assert_allclose(known_weights(same, np.ones((3, 3)), np.zeros(3, dtype=int)), 1 / 3)


# views


def test_a_relation_is_half_at_its_threshold_and_none_below_zero():
    assert_allclose(related(np.array([-3.0, 0.0, 2.0, 4.0, 8.0]), 4.0), [0, 0, 1 / 17, 0.5, 16 / 17])


def test_relations_are_counted_in_standard_deviations():
    rho = np.full((2, 2), 0.5)
    for m, expected in ((3.0, 0.0), (2.0, 0.0), (4.0, 0.5 * np.sqrt(2)), (11.0, 0.5 * np.sqrt(44))):
        Z = standard_relation(rho, np.full((2, 2), m))
        assert_allclose(Z, [[0, expected], [expected, 0]])


def test_trust_follows_from_the_strongest_relation_of_every_view():
    rng = np.random.default_rng(0)
    Z = rng.uniform(0, 12, size=(4, 4))
    Z = (Z + Z.T) / 2
    np.fill_diagonal(Z, 0)
    Z[3] = Z[:, 3] = [1.0, 0.5, 2.0, 0.0]
    m = np.array([[50, 40, 30, 8], [40, 50, 20, 6], [30, 20, 50, 4], [8, 6, 4, 10]], dtype=float)

    def half(z, h):
        return max(z, 0) ** 4 / (max(z, 0) ** 4 + h**4)

    c = np.sqrt(m * (m - 3) / 2)
    np.fill_diagonal(c, 0)
    for v in range(4):
        evidence = Z.max() * c[v].max() / c.max()
        expected = 1 - half(evidence, 6.0) * (1 - half(Z[v].max(), 4.0))
        assert view_trust(Z, m)[v] == pytest.approx(expected)
    nobody = np.full((3, 3), 3.0)  # too few samples to judge by
    assert_array_equal(view_trust(np.zeros((3, 3)), nobody), 1)


@pytest.mark.parametrize("size", [2, 3, 9])
def test_sums_over_tiles_are_those_of_the_whole_and_need_three_views(size):
    rng = np.random.default_rng(0)
    H = rng.normal(size=(4, 9, 9)) + 2
    H = H + H.transpose(0, 2, 1)
    view, present = np.array([0, 1, 1, 2]), rng.random((3, 9)) < 0.7
    relations = ViewRelations(view, present)
    passed = list(relations.watch(tiles(H, size)))
    assert len(passed) == len(tiles(H, size))
    A = np.stack([H[view == v].mean(axis=0) for v in range(3)])
    first = A[:, :size, :size].mean(axis=(1, 2), keepdims=True)
    assert_allclose(relations.centre, first)
    A = (A - first) * ~np.eye(9, dtype=bool) * (present[:, :, None] & present[:, None, :])
    for v in range(3):
        for w in range(3):
            both = np.outer(present[w], present[w])
            assert relations.cross[v, w] == pytest.approx((A[v] * A[w]).sum())
            assert relations.second[v, w] == pytest.approx((A[v] ** 2 * both).sum())
            assert_allclose(relations.sums[v, w], (A[v] * both).sum(axis=1), atol=1e-12)
            assert relations.common[v, w] == (present[v] & present[w]).sum()
    two = ViewRelations(np.array([0, 1]), present[:2])
    assert len(list(two.watch(tiles(H[:2], size)))) == len(passed)
    assert_array_equal(two.cross, 0)
    assert_array_equal(two.trust(), 1)


def test_variance_at_the_level_of_rounding_counts_as_none():
    rng = np.random.default_rng(0)
    E = rng.normal(size=(12, 12))
    E = E + E.T
    i, j = np.nonzero(~np.eye(12, dtype=bool))
    design = np.zeros((len(i), 12))
    design[np.arange(len(i)), i] = 1
    design[np.arange(len(i)), j] = 1
    rest = np.zeros((12, 12))
    rest[i, j] = E[i, j] - design @ np.linalg.lstsq(design, E[i, j], rcond=None)[0]
    rest /= np.linalg.norm(rest)
    level = np.ones((12, 12))
    size = np.sqrt(132.0)  # of the constant part
    for share in (0.1, 1.0, 10.0):
        H = np.stack([level + np.sqrt(share * 1e-10) * size * rest] * 3)
        relations = ViewRelations(np.arange(3), np.ones((3, 12), dtype=bool))
        list(relations.watch(tiles(H, 12)))
        assert relations.correlations()[0, 1] == pytest.approx(share / (share + 1), rel=1e-3)


def test_the_first_tile_sets_the_size_of_all(monkeypatch):
    monkeypatch.setattr(bank_module, "_TILE", (5, 8))
    sizes = [rows.stop for rows, cols, _ in KernelTiles(stack_tiles(np.zeros((1, 30, 30))), 3, 30).of(DOUBLE)][:1]
    assert sizes == [8]  # 30 / sqrt(9) is 10


@pytest.mark.parametrize(("apart", "expected"), [(6e-8, 2), (2e-8, 1)])
def test_a_change_of_a_hundred_millionth_goes_on_and_less_ends(apart, expected):
    calls = []  # weights change by a quarter of what distances differ
    fixed_point_weights(lambda p: calls.append(p) or np.array([1.0, 1 + apart]), np.ones(2), least=0.0)
    assert len(calls) == expected


def test_relations_are_compared_as_objects_and_take_views_alone():
    view, present = np.arange(2), np.ones((2, 3), dtype=bool)
    assert ViewRelations(view, present) != ViewRelations(view, present)
    with pytest.raises(TypeError, match="positional argument"):
        ViewRelations(view, present, np.empty(0))
