"""The largest entries of every row, against sorting."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave.core.algebra.matrices import largest_columns

RNG = np.random.default_rng(0)
WIDE = RNG.normal(size=(40, 301))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 3, 10, 37, 301, 500])
def test_the_largest_entries_are_those_of_a_sort(k, dtype):
    values = WIDE.astype(dtype)
    assert_array_equal(largest_columns(values, k), np.argsort(-values, axis=1, kind="stable")[:, :k])


@pytest.mark.parametrize("k", [1, 3, 10, 37])
def test_ties_go_to_the_first_column(k):
    values = np.round(WIDE)
    assert_array_equal(largest_columns(values, k), np.argsort(-values, axis=1, kind="stable")[:, :k])
    assert_array_equal(largest_columns(np.zeros((2, 301)), k), np.tile(np.arange(k), (2, 1)))


def test_rows_with_entries_that_are_infinite_are_sorted_too():
    values = np.where(RNG.random((20, 301)) < 0.98, -np.inf, WIDE[:20])
    assert_array_equal(largest_columns(values, 10), np.argsort(-values, axis=1, kind="stable")[:, :10])


def test_no_row_gives_no_columns():
    assert largest_columns(np.empty((0, 301)), 4).shape == (0, 4)
