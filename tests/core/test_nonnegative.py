import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls
from scipy.spatial.distance import cdist

from kernelweave.core.paper import nonnegative
from kernelweave.core.paper.nonnegative import NotOptimalError, exact_graph_step, optimality_gap


def test_exact_graph_agrees_with_nonnegative_least_squares_on_every_column(small):
    alpha, gamma = 0.8, 0.2
    S = exact_graph_step(small.K, small.P, small.S, alpha=alpha, gamma=gamma, tol=1e-11)
    G = cdist(small.P, small.P, "sqeuclidean")
    R = np.linalg.cholesky(small.K + gamma * np.eye(small.n)).T
    for i in range(small.n):
        expected, _ = nnls(R, np.linalg.solve(R.T, small.K[i] - alpha * G[i] / 4))
        assert_allclose(S[:, i], expected, atol=1e-9)


def test_exact_graph_meets_its_optimality_conditions_from_any_start(small, rng):
    gamma, alpha = 0.01, 5.0
    Q = small.K + gamma * np.eye(small.n)
    B = small.K - alpha * cdist(small.P, small.P, "sqeuclidean") / 4
    starts = (np.zeros_like(small.K), small.S, 100 * rng.random(small.K.shape))
    graphs = [exact_graph_step(small.K, small.P, S, alpha=alpha, gamma=gamma, tol=1e-10) for S in starts]
    for S in graphs:
        assert S.min() == 0
        assert optimality_gap(S, Q, B) < 1e-10 * np.abs(B).max()
        assert_allclose(S, graphs[0], atol=1e-7)


def test_a_start_with_the_right_entries_is_solved_in_one_sweep(small, monkeypatch):
    S = exact_graph_step(small.K, small.P, small.S, alpha=0.8, gamma=0.2, tol=1e-11)
    monkeypatch.setattr(nonnegative, "_MAX_SWEEPS", 1)
    assert_allclose(exact_graph_step(small.K, small.P, 7 * S, alpha=0.8, gamma=0.2, tol=1e-11), S, atol=1e-12)


def test_exchanging_one_entry_at_a_time_ends_at_the_same_graph(small, monkeypatch):
    S = exact_graph_step(small.K, small.P, small.S, alpha=0.8, gamma=0.2, tol=1e-11)
    monkeypatch.setattr(nonnegative, "_PATIENCE", -1)
    assert_allclose(exact_graph_step(small.K, small.P, small.S, alpha=0.8, gamma=0.2, tol=1e-11), S, atol=1e-9)


def test_a_problem_that_is_not_convex_is_an_error(small):
    K = small.K - 2 * np.linalg.eigvalsh(small.K)[-1] * np.eye(small.n)
    with pytest.raises(NotOptimalError, match=r"not positive definite, .* raise gamma"):
        exact_graph_step(K, small.P, np.ones_like(K), alpha=1.0, gamma=0.1, tol=1e-9)


def test_running_out_of_sweeps_is_an_error_and_not_a_wrong_graph(small, monkeypatch):
    monkeypatch.setattr(nonnegative, "_MAX_SWEEPS", 2)
    with pytest.raises(NotOptimalError, match="after 2 sweeps: raise gamma"):
        exact_graph_step(small.K, small.P, small.S, alpha=1.0, gamma=0.1, tol=1e-12)
