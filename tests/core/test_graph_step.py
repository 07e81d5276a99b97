import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from kernelweave.core.algebra.matrices import ridge_inverse
from kernelweave.core.paper.closed_forms import (
    graph_from_inverse,
    label_distances,
    residual,
    unexpressed,
)


def graph_of(K, P, *, alpha, gamma, squared=True):
    return graph_from_inverse(ridge_inverse(K, gamma=gamma), P, alpha=alpha, gamma=gamma, squared=squared)


def graph_gradient(S, K, G, alpha, gamma):
    """Gradient of Tr(-2KS + S'KS) + γ||S||² + (α/2)<G, S>, the paper's Eq. 12 and 13."""
    return 2 * (K @ S - K + gamma * S + alpha / 4 * G)


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 50.0])
def test_gradient_of_the_graph_problem_vanishes(small, squared, alpha):
    S = graph_of(small.K, small.P, alpha=alpha, gamma=0.5, squared=squared)
    G = label_distances(small.P, squared=squared)
    assert_allclose(graph_gradient(S, small.K, G, alpha, 0.5), 0, atol=1e-11 * max(1, alpha))


def test_the_graph_is_the_column_by_column_solve_of_the_paper(small):
    S = graph_of(small.K, small.P, alpha=0.7, gamma=0.5)
    G = cdist(small.P, small.P, "sqeuclidean")
    for i in range(small.n):
        column = np.linalg.solve(0.5 * np.eye(small.n) + small.K, small.K[i] - 0.7 * G[i] / 4)
        assert_allclose(S[:, i], column, atol=1e-12)


def test_the_graph_with_a_constant_embedding_is_kernel_ridge(small):
    S = graph_of(small.K, np.ones((small.n, 3)), alpha=1.0, gamma=0.5)
    ridge = np.linalg.solve(small.K + 0.5 * np.eye(small.n), small.K)
    assert_allclose(S, ridge, atol=1e-12)


def test_graph_of_an_indefinite_kernel_is_still_the_solution_of_its_system(small):
    K = small.K - 2 * np.eye(small.n)
    S = graph_of(K, small.P, alpha=0.1, gamma=0.3)
    G = cdist(small.P, small.P, "sqeuclidean")
    assert np.linalg.eigvalsh(K + 0.3 * np.eye(small.n)).min() < 0
    assert_allclose(graph_gradient(S, K, G, 0.1, 0.3), 0, atol=1e-9)


def test_permuting_samples_permutes_the_graph(small, rng):
    order = rng.permutation(small.n)
    S = graph_of(small.K, small.P, alpha=0.7, gamma=0.5)
    permuted = graph_of(small.K[np.ix_(order, order)], small.P[order], alpha=0.7, gamma=0.5)
    assert_allclose(permuted, S[np.ix_(order, order)], atol=1e-12)


@pytest.mark.parametrize(("squared", "metric"), [(True, "sqeuclidean"), (False, "euclidean")])
def test_label_distances_are_those_of_the_rows(small, squared, metric):
    # a root of a difference of squares keeps half the digits near 0
    assert_allclose(label_distances(small.P, squared=squared), cdist(small.P, small.P, metric), atol=1e-8)


def test_residual_gives_the_fit_term_of_any_symmetric_kernel(small):
    fit = np.trace(small.K - 2 * small.K @ small.S + small.S.T @ small.K @ small.S)
    assert_allclose(np.vdot(small.K, residual(small.S)), fit, rtol=1e-12)


def test_the_graph_keeps_float32_and_agrees_with_float64(small):
    single = graph_of(small.K.astype(np.float32), small.P.astype(np.float32), alpha=0.7, gamma=0.5)
    double = graph_of(small.K, small.P, alpha=0.7, gamma=0.5)
    assert single.dtype == np.float32
    assert_allclose(single, double, atol=2e-5)


def test_what_is_unexpressed_is_built_in_the_memory_of_the_inverse(small):
    A = ridge_inverse(small.K, gamma=0.5)
    E = unexpressed(A, small.P, alpha=0.3, gamma=0.5)
    assert_allclose(np.eye(small.n) - E, graph_of(small.K, small.P, alpha=0.3, gamma=0.5), atol=1e-13)
    assert not np.shares_memory(E, A)
    assert_allclose(unexpressed(A, small.P, alpha=0.3, gamma=0.5, overwrite=True), E, atol=0)
    assert_allclose(A, E, atol=0)
