"""Kernels that do not tell some samples apart."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave.core.algebra.matrices import has_alike_rows


def gaussian(X):
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-D / D.mean())


GRID = np.array(list(product([0.0, 1, 2], repeat=3)))
RING = np.column_stack([np.cos(np.arange(30) * np.pi / 15), np.sin(np.arange(30) * np.pi / 15)])
SYMMETRIC = {"grid": gaussian(GRID), "ring": gaussian(RING), "identity": np.eye(9), "constant": np.ones((5, 5))}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_samples_that_a_symmetry_exchanges_are_alike_in_every_order(name, dtype, rng):
    K = SYMMETRIC[name].astype(dtype)
    order = rng.permutation(len(K))
    assert has_alike_rows(K, np.arange(len(K)))
    assert has_alike_rows(np.ascontiguousarray(K[np.ix_(order, order)]), np.arange(len(K)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_at_random_are_not_alike(rng, dtype):
    assert not has_alike_rows(gaussian(rng.normal(size=(300, 4))).astype(dtype), np.arange(300))


def test_only_the_given_rows_are_compared(rng):
    X = rng.normal(size=(20, 3))
    K = gaussian(np.vstack([X, X[:1]]))  # a copy is alike
    assert has_alike_rows(K, np.arange(21))
    assert not has_alike_rows(K, np.arange(20))
    assert not has_alike_rows(K, np.array([3]))


def test_the_kernel_is_not_changed(rng):
    K = gaussian(rng.normal(size=(20, 3)))
    before = K.copy()
    has_alike_rows(K, np.arange(20))
    assert_array_equal(K, before)
