"""Numbers that are equal but for rounding."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave.core.algebra.matrices import TIE
from kernelweave.core.graphs.new_rows import level_ties

NOISE = {np.float64: 1e-12, np.float32: 1e-6}


@pytest.mark.parametrize("dtype", NOISE)
def test_rounding_does_not_choose_between_equal_entries(rng, dtype):
    F = np.tile(rng.uniform(1, 2, size=(200, 3)), 3)
    noisy = F * (1 + NOISE[dtype] * rng.normal(size=F.shape))
    assert (noisy.astype(dtype).argmax(axis=1) >= 3).any()
    assert_array_equal(level_ties(noisy.astype(dtype)).argmax(axis=1), F[:, :3].argmax(axis=1))


@pytest.mark.parametrize("dtype", NOISE)
def test_entries_that_differ_stay_as_they_are(rng, dtype):
    largest = rng.uniform(1, 2, size=(50, 1))
    F = (largest * [0, 0.5, 1 - 2 * TIE[np.dtype(dtype).itemsize], 1]).astype(dtype)
    assert_array_equal(level_ties(F.copy()), F)


@pytest.mark.parametrize("dtype", NOISE)
def test_equal_entries_become_the_largest_of_them_at_any_scale(dtype):
    F = np.array([1 - TIE[np.dtype(dtype).itemsize] / 2, 0.3, 1], dtype=dtype) * np.array(
        [[1e-30], [1], [1e30]], dtype=dtype
    )
    largest = F.max(axis=1)
    level_ties(F)
    assert_array_equal(F[:, 0], largest)
    assert_array_equal(F[:, 2], largest)
    assert (F[:, 1] < largest).all()


def test_rows_without_scores_stay_zero():
    assert_array_equal(level_ties(np.zeros((2, 3))), np.zeros((2, 3)))
