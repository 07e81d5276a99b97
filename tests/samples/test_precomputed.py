"""Kernel matrices in place of samples."""

import numpy as np
from numpy.testing import assert_array_equal

from kernelweave.samples import KernelStack

H = np.random.default_rng(0).normal(size=(2, 5, 7))


def test_a_stack_knows_its_samples_and_what_it_asks_of_a_solver():
    stack = KernelStack(H, ("a", "b"))
    assert stack.n_samples == 5
    assert stack.shape == (5, 7)
    assert stack.dtype == np.float64
    assert stack.asks == {"precomputed": "precomputed kernels"}


def test_selected_samples_are_rows_and_names_stay():
    some = KernelStack(H, ("a", "b")).select([4, 1])
    assert_array_equal(some.matrices, H[:, [4, 1]])
    assert some.names == ("a", "b")
    assert_array_equal(KernelStack(H, ("a", "b")).select(np.arange(5) > 2).matrices, H[:, 3:])


def test_another_precision_is_a_copy_unless_it_is_the_same():
    stack = KernelStack(H, ("a", "b"))
    assert stack.astype(np.float32).dtype == np.float32
    assert stack.astype(np.float64, copy=False).matrices is H
