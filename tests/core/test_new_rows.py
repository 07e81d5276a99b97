"""Rows of the graph for new samples, against the problem with the new sample in it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from kernelweave.core.algebra.matrices import ridge_inverse
from kernelweave.core.graphs.affinity import (
    KernelAffinities,
    kernel_sqdist,
    neighbour_scales,
    ridge_affinity,
    self_tuned,
)
from kernelweave.core.graphs.coordinates import shrinkage
from kernelweave.core.graphs.new_rows import (
    bordered_rows,
    graph_rows,
    harmonic_rows,
    row_sqdist,
    self_similarities,
    unlike_all,
)
from kernelweave.core.paper.closed_forms import graph_from_inverse

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def whole():
    X = RNG.normal(size=(31, 4))
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    return np.exp(-D / 4)


def scales(K):
    """Return the squared distance of every sample to its seventh neighbour."""
    return neighbour_scales(kernel_sqdist(K), len(K) - 1)


def test_the_ridge_row_is_the_entry_of_the_system_with_the_new_sample_in_it(whole):
    K, k, own = whole[:30, :30], whole[30:, :30], whole[30:, 30]
    g = 0.3
    row = bordered_rows(k @ ridge_inverse(K, gamma=g), k, own, g=g)
    full = np.eye(31) - g * np.linalg.inv(whole + g * np.eye(31))
    assert_allclose(row[0], full[30, :30], atol=1e-12)


def test_the_self_tuned_row_is_that_of_the_graph_with_the_new_sample_in_it_but_for_the_others_scales(whole):
    K, k, own = whole[:30, :30], whole[30:, :30], whole[30:, 30]
    D = row_sqdist(k, own, K.diagonal())
    row = self_tuned(D, neighbour_scales(D, 30), scales(whole)[:30])
    assert_allclose(row[0], KernelAffinities(whole, 0.1)("tuned").values[30, :30], atol=1e-12)


def test_scales_are_those_of_the_graph(whole):
    s = np.sqrt(scales(whole))
    expected = np.exp(-(2 - 2 * whole) / np.outer(s, s))
    np.fill_diagonal(expected, 0)
    assert_allclose(expected, KernelAffinities(whole, 0.1)("tuned").values, atol=1e-12)


def test_a_copy_of_a_training_sample_gets_the_column_of_that_sample(whole):
    P = RNG.normal(size=(31, 2))
    A = ridge_inverse(whole, gamma=0.5)
    S = np.maximum(graph_from_inverse(A, P, alpha=0, gamma=0.5), 0)
    assert_allclose(graph_rows(A, whole[:3], P, alpha=0), S[:, :3].T, atol=1e-12)
    assert_array_equal((whole[:3] @ A).argmax(axis=1), [0, 1, 2])


def test_the_row_is_the_optimum_of_its_problem_where_no_entry_is_negative(whole):
    k, P, alpha, gamma = whole[:1, 1:], RNG.normal(size=(30, 2)), 1e-3, 100.0
    K = whole[1:, 1:]
    s = graph_rows(ridge_inverse(K, gamma=gamma), k, P, alpha=alpha)[0]
    p = s @ P / s.sum()
    gradient = -2 * k[0] + 2 * (K + gamma * np.eye(30)) @ s + alpha / 2 * ((p - P) ** 2).sum(axis=1)
    assert s.min() > 0
    assert_allclose(gradient, 0, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 2.0])
def test_the_row_is_the_fixed_point_of_alternating_updates(whole, alpha):
    k, K, P = whole[:4, 4:], whole[4:, 4:], RNG.normal(size=(27, 2))
    A = ridge_inverse(K, gamma=0.5)
    S = np.maximum(k @ A, 0)
    for _ in range(5):
        p = S @ P / S.sum(axis=1, keepdims=True)
        G = ((p[:, None] - P) ** 2).sum(axis=2)
        S = np.maximum((k - alpha / 4 * G) @ A, 0)
    assert_allclose(graph_rows(A, k, P, alpha=alpha), S, atol=1e-10)


def test_permuting_the_training_samples_permutes_the_row(whole):
    K, k = whole[:30, :30], whole[30:, :30]
    order = RNG.permutation(30)
    row = bordered_rows(k @ ridge_inverse(K, gamma=0.3), k, np.ones(1), g=0.3)
    A = ridge_inverse(K[np.ix_(order, order)], gamma=0.3)
    permuted = bordered_rows(k[:, order] @ A, k[:, order], np.ones(1), g=0.3)
    assert_allclose(permuted[0], row[0, order], atol=1e-12)


def test_means_of_neighbours_reproduce_constants_and_say_who_has_none():
    S = sparse.csr_array(np.array([[0.0, 2.0, 1.0], [0.0, 0.0, 0.0]]))
    means, reached = harmonic_rows(S, np.array([[1.0, 3.0], [1.0, 6.0], [1.0, 0.0]]))
    assert_allclose(means, [[1, 4], [0, 0]])
    assert_array_equal(reached, [True, False])


def test_an_equal_diagonal_is_known_of_new_samples_too(whole):
    A = ridge_inverse(whole, gamma=0.1)
    assert_allclose(self_similarities(whole[:2] / 2 @ A, whole[:2] / 2, whole.diagonal()), 1)


def test_a_diagonal_that_differs_is_known_of_copies_of_training_samples_as_gamma_vanishes(whole):
    K = whole * np.outer(np.arange(1, 32), np.arange(1, 32))
    own = K.diagonal()
    # K - K(K + g I)^-1 K = g K (K + g I)^-1 lies between 0 and g I, and the self-similarity is not below k'Ak
    found = self_similarities(K @ ridge_inverse(K, gamma=0.1), K, own)
    assert (found >= own - 0.1).all()
    assert_allclose(found[20:22], own[20:22], rtol=0, atol=0.1)  # large ones, next to which g is small
    near = [self_similarities(K @ ridge_inverse(K, gamma=g), K, own) for g in (1e-4, 1e-6, 1e-8)]
    errors = [np.abs(found / own - 1).max() for found in near]
    assert_allclose(np.array(errors) / errors[-1], [1e4, 1e2, 1], rtol=0.02)  # in proportion to gamma
    assert errors[-1] < 1e-4


def test_dividing_by_the_shrinkage_puts_means_of_neighbours_back_where_degrees_are_equal():
    ring = np.roll(np.eye(20), 1, axis=1) + np.roll(np.eye(20), -1, axis=1)
    angle = 2 * np.pi * np.arange(20) / 20
    P = np.column_stack([np.ones(20), np.cos(angle), np.sin(angle)])
    means, _ = harmonic_rows(ring, P)
    assert_allclose(means / shrinkage(ring, P), P, atol=1e-12)
    assert_allclose(shrinkage(sparse.csr_array(ring), P), shrinkage(ring, P))


def test_ridge_rows_of_single_precision_stay_in_it(whole):
    K = whole.astype(np.float32)
    rows = bordered_rows(K[:2] @ ridge_inverse(K, gamma=0.3), K[:2], np.ones(2, dtype=np.float32), g=0.3)
    assert rows.dtype == np.float32
    assert ridge_affinity(K, gamma=0.3).dtype == np.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sample_whose_kernel_is_0_but_for_rounding_is_unlike_all(dtype):
    least = np.finfo(dtype).eps
    K_x = np.array([[0, 0], [least, -least], [3 * least, 0], [0, -3 * least], [0.0, 1]], dtype=dtype)
    assert unlike_all(K_x, np.ones(5, dtype=dtype)).tolist() == [True, True, False, False, False]
    assert unlike_all(K_x, np.full(5, 4, dtype=dtype)).tolist() == [True, True, True, True, False]
