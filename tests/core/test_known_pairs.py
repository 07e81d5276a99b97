import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.core.consensus.known_pairs import known_moments, known_weights, masked_distances
from kernelweave.core.consensus.self_weighted import gram_distances, median_weights
from kernelweave.kernels.bank import combine_tiles, kernel_moments

N = 30
VIEW = np.array([0, 0, 1, 1, 1])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def H(rng):
    X = rng.normal(size=(5, N, 3))
    return X @ X.transpose(0, 2, 1) + 0.5


@pytest.fixture
def present(rng):
    present = rng.random((2, N)) < 0.7
    present[0, ~present.any(axis=0)] = True
    return present


def tiles_of(H, size=12):
    """Return the tiles on and above the diagonal, as the consensus reads them."""
    parts = [slice(i, min(i + size, N)) for i in range(0, N, size)]
    return [(rows, cols, H[:, rows, cols]) for i, rows in enumerate(parts) for cols in parts[i:]]


def test_masked_distances_are_root_mean_squares_over_the_known_entries(H, present, rng):
    p = rng.dirichlet(np.ones(5))
    G, _ = known_moments(tiles_of(H), present, VIEW)
    D = H - np.tensordot(p, H, 1)
    expected = [np.sqrt((D[i][np.ix_(present[v], present[v])] ** 2).mean()) for i, v in enumerate(VIEW)]
    assert_allclose(masked_distances(G, VIEW, p), expected)


def test_correlations_are_those_of_pairs_that_both_kernels_know(H, present):
    _, R = known_moments(tiles_of(H), present, VIEW)
    off = ~np.eye(N, dtype=bool)
    for i in range(5):
        for j in range(5):
            both = present[VIEW[i]] & present[VIEW[j]]
            pairs = np.outer(both, both) & off
            assert_allclose(R[i, j], np.corrcoef(H[i][pairs], H[j][pairs])[0, 1], atol=1e-10)


def test_with_nothing_missing_distances_and_weights_are_the_usual_ones(H):
    full = np.ones((2, N), dtype=bool)
    G, R = kernel_moments(tiles_of(H))
    G_known, R_known = known_moments(tiles_of(H), full, VIEW)
    p = np.full(5, 0.2)
    assert_allclose(N * masked_distances(G_known, VIEW, p), gram_distances(G, p))
    assert_allclose(R_known, R, atol=1e-6)
    assert_allclose(known_weights(G_known, R_known, VIEW), median_weights(G, R), atol=1e-6)


def test_a_kernel_of_noise_gets_the_least_weight_from_the_pairs_it_knows(rng, present):
    X = rng.normal(size=(N, 2))
    H = np.stack([np.exp(-(np.linalg.norm(X[:, None] - X, axis=2) ** 2) / s) for s in (1, 2, 3, 4, 5)])
    order = rng.permutation(N)
    H[4] = H[4][np.ix_(order, order)]
    p = known_weights(*known_moments(tiles_of(H), present, VIEW), VIEW)
    assert p.argmin() == 4
    assert_allclose(p.sum(), 1)
    parts = [(rows, cols, np.tensordot(p, tile, axes=1)) for rows, cols, tile in tiles_of(H)]
    assert_allclose(combine_tiles(parts, N, H.dtype), np.tensordot(p, H, axes=1))


def test_a_kernel_that_is_constant_but_for_rounding_correlates_with_none(H, present):
    H = H.copy()
    H[0] = 1 + 1e-5 * H[1]  # the variance that is left is no more than rounding in single precision
    _, R = known_moments(tiles_of(H), present, VIEW)
    assert_array_equal(R[0], 0)
    assert_array_equal(R[:, 0], 0)
    assert_array_equal(R.diagonal()[1:], 1)
