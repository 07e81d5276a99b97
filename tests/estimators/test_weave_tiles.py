import numpy as np
import pytest
from kernelweave.estimators._weave_tiles import KernelTiles, stack_tiles
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.core.consensus.self_weighted import combine_tiles
from kernelweave.kernels import recipe

RNG = np.random.default_rng(0)
DENSE = np.abs(RNG.normal(size=(150, 6)))


@pytest.mark.parametrize("X", [DENSE, sparse.csr_array(DENSE * (DENSE > 0.7))], ids=["dense", "sparse"])
def test_tiles_of_a_bank_are_its_kernel_matrices(X):
    bank = recipe("released-12")
    tiles = KernelTiles([bank.fit_tiles(X)], (12, 150, 150), X.dtype)
    H = bank.grams(X)
    seen = np.zeros((150, 150), dtype=int)
    for rows, cols, tile in tiles:
        assert_allclose(tile, H[:, rows, cols], atol=1e-12)
        seen[rows, cols] += 1
    assert_array_equal(np.triu(seen), np.triu(np.ones((150, 150))))


def test_tiles_of_several_tables_stand_one_after_the_other():
    banks = recipe("released-7"), recipe("released-12")
    views = DENSE[:, :4], DENSE[:, 2:]
    tiles = KernelTiles([b.fit_tiles(X) for b, X in zip(banks, views, strict=True)], (19, 150, 150), DENSE.dtype)
    H = np.concatenate([b.grams(X) for b, X in zip(banks, views, strict=True)])
    K = combine_tiles(tiles, np.eye(19), 150)
    assert_allclose(K, H, atol=1e-12)


def test_tiles_can_be_had_in_single_precision():
    tiles = KernelTiles([recipe("released-12").fit_tiles(DENSE)], (12, 150, 150), DENSE.dtype)
    for (_, _, coarse), (_, _, fine) in zip(tiles.single(), tiles, strict=True):
        assert (coarse.dtype, fine.dtype) == (np.float32, np.float64)
        assert_allclose(coarse, fine, atol=1e-5)


def test_no_tile_takes_more_than_half_of_a_kernel_matrix():
    tiles = stack_tiles(np.zeros((12, 1000, 1000), dtype=np.float32))
    assert max(tile.size for _, _, tile in tiles) <= 1000**2 / 2


def test_precomputed_matrices_are_cut_in_the_same_way():
    H = RNG.normal(size=(3, 200, 200))
    H = H + H.transpose(0, 2, 1)
    assert_allclose(combine_tiles(stack_tiles(H), np.eye(3), 200), H)
