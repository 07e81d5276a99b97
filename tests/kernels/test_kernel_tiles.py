"""Kernel matrices tile by tile."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave import Views
from kernelweave.core.consensus.self_weighted import median_weights
from kernelweave.kernels import PrecomputedBank, ViewBank, recipe
from kernelweave.kernels import bank as bank_module
from kernelweave.kernels.bank import KernelTiles, combine_tiles, kernel_moments
from kernelweave.samples import KernelStack

RNG = np.random.default_rng(0)
DENSE = np.abs(RNG.normal(size=(150, 6)))
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def tiles_of(H):
    """Return the tiles of precomputed matrices."""
    names = tuple(map(str, range(len(H))))
    return KernelTiles(PrecomputedBank(names).fit_tiles(KernelStack(H, names)), len(H), H.shape[1])


@pytest.mark.parametrize("X", [DENSE, sparse.csr_array(DENSE * (DENSE > 0.7))], ids=["dense", "sparse"])
def test_tiles_of_a_bank_are_its_kernel_matrices(X):
    bank = recipe("released-12")
    tiles = KernelTiles(bank.fit_tiles(X), 12, 150)
    H = bank.grams(X)
    seen = np.zeros((150, 150), dtype=int)
    for rows, cols, tile in tiles.of(DOUBLE):
        assert_allclose(tile, H[:, rows, cols], atol=1e-12)
        seen[rows, cols] += 1
    assert_array_equal(np.triu(seen), np.triu(np.ones((150, 150))))


def test_tiles_of_several_tables_stand_one_after_the_other():
    banks = recipe("released-7"), recipe("released-12")
    views = DENSE[:, :4], DENSE[:, 2:]
    both = ViewBank(dict(zip("ab", banks, strict=True)))
    tiles = KernelTiles(both.fit_tiles(Views(dict(zip("ab", views, strict=True)))), 19, 150)
    H = np.concatenate([b.grams(X) for b, X in zip(banks, views, strict=True)])
    for p, K in zip(np.eye(19), H, strict=True):
        assert_allclose(combine_tiles(tiles.of(DOUBLE, p), 150, DOUBLE), K, atol=1e-12)
    p = RNG.dirichlet(np.ones(19))
    assert_allclose(combine_tiles(tiles.of(DOUBLE, p), 150, DOUBLE), np.tensordot(p, H, axes=1), atol=1e-12)


def test_tiles_can_be_had_in_single_precision():
    tiles = KernelTiles(recipe("released-12").fit_tiles(DENSE), 12, 150)
    for (_, _, coarse), (_, _, fine) in zip(tiles.of(SINGLE), tiles.of(DOUBLE), strict=True):
        assert (coarse.dtype, fine.dtype) == (np.float32, np.float64)
        assert_allclose(coarse, fine, atol=1e-5)


@pytest.mark.parametrize(("kept", "atol"), [(SINGLE, 2e-6), (DOUBLE, 1e-13)], ids=["single", "double"])
@pytest.mark.parametrize("size", [40, 64, 150, 400])
def test_the_consensus_is_the_plain_sum_of_the_kernels_whatever_the_size_of_tiles(size, kept, atol, monkeypatch):
    monkeypatch.setattr(bank_module, "_TILE", (size, size))
    X = np.abs(np.random.default_rng(3).normal(size=(300, 6)))
    bank = recipe("released-12")
    tiles = KernelTiles(bank.fit_tiles(X.astype(kept)), 12, 300)
    G, R = kernel_moments(tiles.of(kept))
    p = median_weights(G, R)
    K = combine_tiles(tiles.of(kept, p), 300, kept)
    H = bank.grams(X)
    assert K.dtype == kept
    assert_allclose(K, np.tensordot(p, H, axes=1), atol=atol)
    assert_array_equal(K, K.T)
    assert_allclose(G, np.einsum("iab,jab->ij", H, H), rtol=1e-5 if kept == SINGLE else 1e-12)
    assert_allclose(p, median_weights(*kernel_moments(KernelTiles(bank.fit_tiles(X), 12, 300).of(DOUBLE))), atol=1e-4)


def test_no_tile_takes_more_than_half_of_a_kernel_matrix():
    tiles = tiles_of(np.zeros((12, 1000, 1000), dtype=np.float32))
    assert max(tile.size for _, _, tile in tiles.of(SINGLE)) <= 1000**2 / 2


def test_precomputed_matrices_are_cut_in_the_same_way():
    H = RNG.normal(size=(3, 200, 200))
    H = H + H.transpose(0, 2, 1)
    for p, K in zip(np.eye(3), H, strict=True):
        assert_allclose(combine_tiles(tiles_of(H).of(DOUBLE, p), 200, DOUBLE), K)
