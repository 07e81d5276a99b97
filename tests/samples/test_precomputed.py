"""Kernel matrices in place of samples."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave import SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.baselines import LGC
from kernelweave.errors import InvalidInputError
from kernelweave.samples import KernelStack

H = np.random.default_rng(0).normal(size=(2, 5, 7))


def test_a_stack_knows_its_samples_and_what_it_asks_of_a_solver():
    stack = KernelStack(H, ("a", "b"))
    assert stack.n_samples == 5
    assert stack.shape == (5, 7)
    assert stack.dtype == np.float64
    assert stack.requirements == {"precomputed": "precomputed kernels"}


def test_selected_samples_are_rows_and_names_stay():
    some = KernelStack(H, ("a", "b")).select([4, 1])
    assert_array_equal(some.matrices, H[:, [4, 1]])
    assert some.names == ("a", "b")
    assert_array_equal(KernelStack(H, ("a", "b")).select(np.arange(5) > 2).matrices, H[:, 3:])


def test_another_precision_is_a_copy_unless_it_is_the_same():
    stack = KernelStack(H, ("a", "b"))
    assert stack.astype(np.float32).dtype == np.float32
    assert stack.astype(np.float64, copy=False).matrices is H


@pytest.mark.parametrize("kind", [WeaveClustering, WeaveClassifier, SMKLClustering, SMKLClassifier])
def test_distances_in_place_of_a_kernel_are_refused(kind):
    points = np.random.default_rng(0).normal(size=(20, 3))
    D = np.linalg.norm(points[:, None] - points, axis=2)
    y = np.where(np.arange(20) < 6, np.arange(20) % 2, -1)
    with pytest.raises(
        InvalidInputError, match="'measured' has a zero diagonal and no negative values, so it is a matrix"
    ):
        kind(kernels="precomputed").fit({"good": np.exp(-(D**2)), "measured": D}, y)


def test_graph_methods_take_affinities_without_a_diagonal():
    W = np.kron(np.eye(2), np.ones((10, 10))) + 0.01 - 1.01 * np.eye(20)
    y = np.array([0, *[-1] * 18, 1])
    assert not W.diagonal().any()
    assert_array_equal(LGC("precomputed").fit(W, y).transduction_, np.arange(20) // 10)
