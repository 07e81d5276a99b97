"""Kernel matrices in place of samples."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kernelweave import SMKLClassifier, SMKLClustering, WeaveClassifier, WeaveClustering
from kernelweave.baselines import LGC, MKKM, RMKKM, SSR, KernelKMeans, LateFusion, SimpleMKKM
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


@pytest.mark.parametrize("kind", [KernelKMeans, SSR])
def test_distances_in_place_of_the_only_kernel_are_refused(kind):
    D = np.abs(np.arange(20.0)[:, None] - np.arange(20))
    with pytest.raises(InvalidInputError, match="has a zero diagonal and no negative values, so it is a matrix of"):
        kind(2, kernel="precomputed").fit(D)
    with pytest.raises(InvalidInputError, match=r"a matrix with trace -20, but k.x, x. is positive: pass kernels with"):
        kind(2, kernel="precomputed").fit(-np.exp(-D))


@pytest.mark.parametrize("kind", [MKKM, RMKKM, SimpleMKKM, LateFusion])
def test_k_means_of_several_kernels_refuses_distances_and_negative_kernels(kind):
    D = np.abs(np.arange(20.0)[:, None] - np.arange(20))
    good = np.exp(-D)
    with pytest.raises(InvalidInputError, match="'far' has a zero diagonal and no negative values, so it is a matrix"):
        kind(2, kernels="precomputed").fit({"good": good, "far": D})
    with pytest.raises(InvalidInputError, match=r"'minus' is a matrix with trace -20, but k.x, x. is positive"):
        kind(2, kernels="precomputed").fit({"good": good, "minus": -good})


def test_graph_methods_take_affinities_without_a_diagonal():
    W = np.kron(np.eye(2), np.ones((10, 10))) + 0.01 - 1.01 * np.eye(20)
    y = np.array([0, *[-1] * 18, 1])
    assert not W.diagonal().any()
    assert_array_equal(LGC("precomputed").fit(W, y).transduction_, np.arange(20) // 10)
