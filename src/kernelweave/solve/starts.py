"""Where a run starts: the identity graph (released), a random one (printed), the ridge graph (exact)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernelweave._types import Matrix, Vector
from kernelweave.core.paper.graph_step import graph_from_inverse, ridge_inverse
from kernelweave.core.paper.kernel_step import combine
from kernelweave.core.paper.kernel_weights import consensus_distances, self_weights
from kernelweave.solve.problem import Problem, State
from kernelweave.solve.steps import Step

__all__ = ["identity_start", "random_start", "ridge_start", "self_weighted_mean", "uniform_theta"]


def self_weighted_mean(problem: Problem) -> tuple[Matrix, Vector]:
    """K = Σ H_i / r, and SMKL's weights of its distances."""
    K = combine(problem.H, np.full(problem.r, 1 / problem.r))
    return K, self_weights(consensus_distances(problem.H, K), problem.floor)


def uniform_theta(problem: Problem) -> tuple[Matrix, Vector]:
    """PMKL's uniform feasible weights, √θ_i = 1/r, and K = Σ θ_i H_i."""
    theta = np.full(problem.r, 1 / problem.r**2)
    return combine(problem.H, theta), theta


def _given_labels(problem: Problem) -> Matrix:
    """P before any step: the known labels, 0 for the unknown; the first c unit vectors where there are none."""
    if problem.Y is not None and problem.labelled is not None:
        return np.where(problem.labelled[:, None], problem.Y, 0).astype(problem.H.dtype)
    return np.eye(problem.n, problem.c, dtype=problem.H.dtype)


def _state(problem: Problem, kernel: tuple[Matrix, Vector], S: Matrix) -> State:
    K, w = kernel
    return State(S=S, K=K, w=w, P=_given_labels(problem))


def identity_start(problem: Problem, kernel: tuple[Matrix, Vector]) -> State:
    """S = I."""
    return _state(problem, kernel, np.eye(problem.n, dtype=problem.H.dtype))


def random_start(problem: Problem, kernel: tuple[Matrix, Vector], infer: Step, rng: np.random.Generator) -> State:
    """S uniform in [0, 1], and P from it, which the printed order (S first) needs before it can start."""
    S = rng.random((problem.n, problem.n)).astype(problem.H.dtype)
    return infer(problem, _state(problem, kernel, S))


def ridge_start(problem: Problem, kernel: tuple[Matrix, Vector], infer: Step, gamma: float) -> State:
    """S = the graph of K without labels, and P from it: the same for every order of the samples."""
    K, _ = kernel
    A = ridge_inverse(K, gamma=gamma)
    S = graph_from_inverse(A, np.zeros((problem.n, 1), dtype=K.dtype), alpha=0, gamma=gamma)
    return replace(infer(problem, _state(problem, kernel, np.maximum(S, 0, out=S))), A=A)
