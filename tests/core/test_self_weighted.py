import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.consensus.self_weighted import agreement, gram_distances, median_weights
from kernelweave.core.paper.closed_forms import kernel_products
from kernelweave.kernels.bank import combine_tiles, kernel_moments


def tiles(H, size):
    n = H.shape[1]
    for i in range(0, n, size):
        for j in range(i, n, size):
            rows, cols = slice(i, min(i + size, n)), slice(j, min(j + size, n))
            yield rows, cols, H[:, rows, cols]


def gram(H):
    return kernel_moments(tiles(H, 30))[0]


@pytest.mark.parametrize("size", [7, 30, 100])
def test_the_correlations_of_kernels_are_those_of_their_entries_off_the_diagonal(small, size):
    off = ~np.eye(small.n, dtype=bool)
    assert_allclose(kernel_moments(tiles(small.H, size))[1], np.corrcoef([Hi[off] for Hi in small.H]), atol=1e-12)


def test_correlations_of_nearly_constant_kernels_do_not_cancel(small):
    H = 1 + 1e-7 * small.H
    assert_allclose(kernel_moments(tiles(H, 7))[1], kernel_moments(tiles(small.H, 7))[1], atol=1e-6)


def test_flat_kernels_correlate_with_none_and_are_trusted(small):
    H = np.stack([np.eye(small.n), np.ones((small.n, small.n)), *small.H])
    R = kernel_moments(tiles(H, 30))[1]
    assert_allclose(R[:2], 0, atol=1e-12)
    assert_array_equal(agreement(R)[:2], [1, 1])


@pytest.mark.parametrize("size", [7, 30, 100])
def test_both_passes_give_the_same_gram_matrix(small, size):
    assert_allclose(kernel_moments(tiles(small.H, size))[0], kernel_products(small.H))


@pytest.mark.parametrize("size", [7, 30, 100])
def test_the_gram_matrix_of_kernels_is_that_of_their_tiles(small, size):
    assert_allclose(kernel_moments(tiles(small.H, size))[0], np.einsum("iab,jab->ij", small.H, small.H))


@pytest.mark.parametrize("size", [7, 30])
@pytest.mark.parametrize("p", [[0.1, 0.2, 0.3, 0.4], [1.0, 0, 0, 0]])
def test_kernels_add_up_tile_by_tile(small, size, p):
    parts = ((rows, cols, np.tensordot(p, tile, axes=1)) for rows, cols, tile in tiles(small.H, size))
    K = combine_tiles(parts, small.n, small.H.dtype)
    assert_allclose(K, np.einsum("i,iab->ab", p, small.H), atol=1e-14)
    assert_array_equal(K, K.T)


def test_distances_to_the_consensus_need_only_the_gram_matrix(small):
    p = small.w / small.w.sum()
    K = np.einsum("i,iab->ab", p, small.H)
    d = gram_distances(gram(small.H), p)
    assert_allclose(d, [np.linalg.norm(Hi - K) for Hi in small.H])


def test_self_weights_find_the_geometric_median_of_the_kernels(small):
    p = median_weights(gram(small.H))
    K = np.einsum("i,iab->ab", p, small.H)
    unit = [(Hi - K) / np.linalg.norm(Hi - K) for Hi in small.H]
    assert p.sum() == pytest.approx(1)
    assert np.linalg.norm(np.sum(unit, axis=0)) < 1e-6  # the gradient of Σ ||H_i - K||


def test_equal_kernels_have_equal_shares(small):
    H = np.stack([small.K] * 5)
    assert_allclose(median_weights(*kernel_moments(tiles(H, 30))), np.full(5, 0.2))


def test_shares_do_not_change_with_the_unit_of_the_kernels(small):
    G = gram(small.H)
    assert_allclose(median_weights(1e-6 * G), median_weights(G), atol=1e-7)


@pytest.fixture
def alike(rng):
    """Nine noisy versions of one kernel of 40 samples."""
    A = rng.normal(size=(40, 5))
    return np.stack([A @ A.T + 0.5 * (E + E.T) for E in rng.normal(size=(9, 40, 40))])


def test_permuted_kernels_get_no_weight_to_speak_of(alike, rng):
    for i in (1, 4, 7):
        order = rng.permutation(40)
        alike[i] = alike[i][np.ix_(order, order)]
    p = median_weights(*kernel_moments(tiles(alike, 30)))
    junk = np.isin(np.arange(9), (1, 4, 7))
    assert p[junk].sum() < 0.1
    assert p[~junk].min() > 0.1


def test_kernels_that_agree_are_all_trusted_in_full(alike):
    assert (agreement(kernel_moments(tiles(alike, 30))[1]) > 0.5).all()


def test_a_kernel_is_trusted_through_one_that_follows_the_rest():
    R = np.array(
        [
            [1, 0.9, 0.9, 0.3, 0],
            [0.9, 1, 0.9, 0.3, 0],
            [0.9, 0.9, 1, 0.3, 0],
            [0.3, 0.3, 0.3, 1, 0.8],
            [0, 0, 0, 0.8, 1],
        ]
    )
    assert agreement(R)[4] > 0.2


@pytest.mark.parametrize("R", [np.zeros((2, 2)), np.eye(1), np.eye(4), np.kron(np.eye(2), np.ones((3, 3)))])
def test_without_a_majority_nobody_is_wrong(R):
    assert_array_equal(agreement(R), np.ones(len(R)))


def test_the_consensus_does_not_collapse_on_a_kernel_in_the_middle(rng):
    A = rng.normal(size=(30, 30))
    middle = A @ A.T
    noise = rng.normal(size=(3, 30, 30))
    H = np.stack([middle, *(middle + s * (E + E.T) for E in noise for s in (-1, 1))])
    G = gram(H)
    assert median_weights(G, floor=0.0)[0] > 0.99
    assert median_weights(G)[0] < 0.7


def test_the_moments_keep_no_tile_in_memory():
    size, n, r = 60, 1200, 12

    def drawn():
        for i in range(0, n, size):
            yield slice(i, i + size), slice(i, i + size), np.ones((r, size, size))

    tracemalloc.start()
    kernel_moments(drawn())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * 8 * r * size**2
