"""Where a run starts: the identity graph (released), a random one (printed), the ridge graph (exact, safeguarded)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kernelweave._types import Matrix, Vector
from kernelweave.core.paper.graph_step import identity_minus, ridge_inverse
from kernelweave.core.paper.kernel_step import combine
from kernelweave.core.paper.kernel_weights import consensus_distances, self_weights
from kernelweave.solve.problem import Problem, State, Workspace
from kernelweave.solve.steps import Infer

__all__ = [
    "FirstKernel",
    "IdentityStart",
    "RandomStart",
    "RidgeStart",
    "self_weighted_mean",
    "single_kernel",
    "uniform_theta",
]

FirstKernel: TypeAlias = Callable[[Problem], tuple[Matrix, Vector]]  # K and the weights that go with it


def self_weighted_mean(problem: Problem, floor: float) -> tuple[Matrix, Vector]:
    """K = Σ H_i / r, and SMKL's weights of its distances."""
    K = combine(problem.H, np.full(problem.r, 1 / problem.r))
    return K, self_weights(consensus_distances(problem.H, K), floor)


def single_kernel(problem: Problem) -> tuple[Matrix, Vector]:
    """KGL's only kernel."""
    return problem.H[0], np.ones(1)


def uniform_theta(problem: Problem) -> tuple[Matrix, Vector]:
    """PMKL's uniform feasible weights, √θ_i = 1/r, and K = Σ θ_i H_i."""
    theta = np.full(problem.r, 1 / problem.r**2)
    return combine(problem.H, theta), theta


@dataclass(frozen=True, slots=True)
class IdentityStart:
    """S = I, and P the known labels, 0 for the unknown; the first c unit vectors where there are none."""

    kernel: FirstKernel

    def __call__(self, problem: Problem, rng: np.random.Generator, work: Workspace) -> State:
        """Return the first state."""
        K, w = self.kernel(problem)
        P = np.eye(problem.n, problem.c, dtype=K.dtype)
        if problem.Y is not None and problem.labelled is not None:
            P = np.where(problem.labelled[:, None], problem.Y, 0).astype(K.dtype)
        return State(S=np.eye(problem.n, dtype=K.dtype), K=K, w=w, P=P)


@dataclass(frozen=True, slots=True)
class RandomStart:
    """S uniform in [0, 1], and P from it, which the printed order needs: its first step is that of S."""

    kernel: FirstKernel
    infer: Infer

    def __call__(self, problem: Problem, rng: np.random.Generator, work: Workspace) -> State:
        """Return the first state."""
        K, w = self.kernel(problem)
        S = rng.random((problem.n, problem.n)).astype(K.dtype)
        return State(S=S, K=K, w=w, P=self.infer(problem, S))


@dataclass(frozen=True, slots=True)
class RidgeStart:
    """S = max(I - γA, 0), the graph of K without labels, and P from it: the same for every order of the samples."""

    kernel: FirstKernel
    infer: Infer
    gamma: float

    def __call__(self, problem: Problem, rng: np.random.Generator, work: Workspace) -> State:
        """Return the first state, with A = (K + γI)^-1 kept in the work space."""
        K, w = self.kernel(problem)
        A = ridge_inverse(K, gamma=self.gamma)
        work.keep_inverse(A, K, self.gamma)
        S = identity_minus(self.gamma * A)
        np.maximum(S, 0, out=S)
        return State(S=S, K=K, w=w, P=self.infer(problem, S))
