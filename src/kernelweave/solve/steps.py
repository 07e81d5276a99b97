"""The steps that models are made of: each takes (problem, state), owns its parameters and returns a new state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from kernelweave.core.graph import graph_step
from kernelweave.core.kernel import combine, kernel_step
from kernelweave.core.labels import embedding, harmonic
from kernelweave.core.linalg import symmetric_part
from kernelweave.core.nonnegative import exact_graph_step
from kernelweave.core.weights import (
    consensus_distances,
    kernel_residuals,
    parametrised_weights,
    self_weights,
)
from kernelweave.kernels._types import Matrix
from kernelweave.solve.problem import Problem, State

__all__ = [
    "Embed",
    "InferLabels",
    "LearnExactGraph",
    "LearnGraph",
    "ParametriseKernel",
    "PerturbKernel",
    "SelfWeight",
    "Step",
    "clip_kernel",
    "keep_kernel",
]

Step: TypeAlias = Callable[[Problem, State], State]


@dataclass(frozen=True, slots=True)
class LearnGraph:
    """S from its closed form, negatives set to 0; `symmetric` also averages S with its transpose, as released."""

    alpha: float
    gamma: float
    squared: bool
    symmetric: bool

    def __call__(self, problem: Problem, state: State) -> State:
        """Return the state with the new graph."""
        S = graph_step(state.K, state.P, alpha=self.alpha, gamma=self.gamma, squared=self.squared)
        return state.with_graph(symmetric_part(S) if self.symmetric else S)


@dataclass(frozen=True, slots=True)
class LearnExactGraph:
    """S as the optimum of its problem with S >= 0."""

    alpha: float
    gamma: float
    tol: float = 1e-9

    def __call__(self, problem: Problem, state: State) -> State:
        """Return the state with the optimal graph."""
        # `tol` is beyond single precision
        K, P, S = (M.astype(np.float64) for M in (symmetric_part(state.K), state.P, state.S))
        optimal = exact_graph_step(K, P, S, alpha=self.alpha, gamma=self.gamma, tol=self.tol)
        return state.with_graph(optimal.astype(state.S.dtype))


@dataclass(frozen=True, slots=True)
class SelfWeight:
    """SMKL's w from the distance of every kernel to K."""

    def __call__(self, problem: Problem, state: State) -> State:
        """Return the state with the new weights."""
        return replace(state, w=self_weights(consensus_distances(problem.H, state.K), problem.floor))


def keep_kernel(K: Matrix) -> Matrix:
    """Leave K as its closed form gives it."""
    return K


def clip_kernel(K: Matrix) -> Matrix:
    """Set the negatives of K to 0, as the released program does."""
    return np.maximum(K, 0, out=K)


@dataclass(frozen=True, slots=True)
class PerturbKernel:
    """SMKL's K: the weighted mean of the kernels, perturbed by the graph, then made admissible."""

    beta: float
    admit: Callable[[Matrix], Matrix] = keep_kernel

    def __call__(self, problem: Problem, state: State) -> State:
        """Return the state with the new consensus."""
        return replace(state, K=self.admit(kernel_step(problem.H, state.w, state.M, beta=self.beta)))


@dataclass(frozen=True, slots=True)
class ParametriseKernel:
    """PMKL's weights θ and K = Σ θ_i H_i."""

    def __call__(self, problem: Problem, state: State) -> State:
        """Return the state with the new weights and consensus."""
        w = parametrised_weights(kernel_residuals(problem.H, state.M))
        return replace(state, w=w, K=combine(problem.H, w))


@dataclass(frozen=True, slots=True)
class Embed:
    """P for clustering: the smoothest orthonormal labels on the graph."""

    def __call__(self, problem: Problem, state: State) -> State:
        """Return the state with the new embedding."""
        return replace(state, P=embedding(state.S, problem.c))


@dataclass(frozen=True, slots=True)
class InferLabels:
    """P for classification: the harmonic extension of the known labels."""

    def __call__(self, problem: Problem, state: State) -> State:
        """Return the state with the labels inferred on its graph."""
        if problem.Y is None or problem.labelled is None:
            msg = "InferLabels needs a Problem with labels Y and the mask of labelled samples."
            raise TypeError(msg)
        return replace(state, P=harmonic(state.S, problem.Y, problem.labelled))
