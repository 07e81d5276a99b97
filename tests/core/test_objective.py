import numpy as np
from numpy.testing import assert_allclose

from kernelweave.core.graphs.coordinates import laplacian
from kernelweave.core.paper.closed_forms import (
    consensus_distances,
    perturbation_term,
    residual,
    self_weights,
    smoothness,
)
from kernelweave.solve import Problem, State
from kernelweave.solve.schemes import Terms


def test_terms_are_those_of_the_paper(small):
    K, S, P = small.K, small.S, small.P
    state = State(S, K, np.ones(len(small.H)), P, M=residual(S), q=5.0)
    terms = Terms(alpha=0.2, gamma=0.3)(Problem(small.H, c=2), state)
    assert_allclose(terms["fit"], np.trace(K - 2 * K @ S + S.T @ K @ S))
    assert_allclose(terms["ridge"], 0.3 * np.linalg.norm(S) ** 2)
    assert_allclose(terms["smoothness"], 0.2 * 5)
    assert_allclose(smoothness(S, P, 2 * P), [f * np.trace(P.T @ laplacian(S) @ P) for f in (1, 4)])


def test_perturbation_is_twice_the_paper_s_weighted_squares_at_the_self_weights(small):
    d = consensus_distances(small.H, small.K)
    w = self_weights(d, 0.0)
    assert_allclose(perturbation_term(d, 1e-12, beta=5.0), 5 * 2 * (w * d**2).sum())


def test_perturbation_is_smooth_at_the_floor():
    below, above = (perturbation_term(np.array([d]), 1.0, beta=1.0) for d in (1 - 1e-6, 1 + 1e-6))
    assert_allclose(above - below, 2e-6, rtol=1e-5)
    assert perturbation_term(np.array([0.0]), 1.0, beta=1.0) == 0.5
