"""The starts and the steps that models are made of.

A start has the identity as its graph (released), a random one (printed), the ridge graph (exact) or none (safeguarded).
A step maps (problem, state, work) to a new state and owns its parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from kernelweave._types import Matrix, Vector
from kernelweave.core.algebra.matrices import (
    definite_inverse,
    floor_spectrum,
    norm_exceeds,
    outer_square,
    ridge_inverse,
    symmetric_part,
)
from kernelweave.core.graphs.edges import cosine_factors, strongest_edges
from kernelweave.core.graphs.propagation import harmonic_scores
from kernelweave.core.paper.closed_forms import (
    combine,
    consensus_distances,
    consensus_weights,
    embedding,
    graph_from_inverse,
    identity_minus,
    kernel_residuals,
    kernel_step,
    parametrised_weights,
    positive_graph,
    residual,
    self_weights,
    smoothness,
    unexpressed,
)
from kernelweave.core.paper.nonnegative import NotOptimalError, exact_graph_step
from kernelweave.solve.problem import Outcome, Problem, State, StepError, Workspace

__all__ = [
    "Beta",
    "FirstKernel",
    "IdentityStart",
    "Infer",
    "InferLabels",
    "KeepPositiveGraph",
    "KernelStart",
    "LearnExactGraph",
    "LearnFreeGraph",
    "LearnGraph",
    "ParametriseKernel",
    "PerturbKernel",
    "PerturbSafely",
    "RandomStart",
    "RidgeStart",
    "SelfWeight",
    "SmootherLabels",
    "StopIfFar",
    "clip_kernel",
    "distances_of",
    "embed",
    "keep_kernel",
    "propagate",
    "residual_of",
    "single_kernel",
    "uniform_theta",
]

Infer: TypeAlias = Callable[[Problem, Matrix], Matrix]  # P on the positive, symmetric part of a graph
FirstKernel: TypeAlias = Callable[[Problem], tuple[Matrix, Vector]]  # K and the weights that go with it

_FAR = 1e3  # times the largest kernel


def embed(problem: Problem, S: Matrix) -> Matrix:
    """P for clustering: the smoothest orthonormal labels on the graph."""
    return embedding(positive_graph(S), problem.c, overwrite=True)


def propagate(problem: Problem, S: Matrix) -> Matrix:
    """P for classification: the harmonic extension of the known labels."""
    if problem.Y is None or problem.labelled is None:
        msg = "Classification needs a Problem with labels Y and the mask of labelled samples; got none."
        raise TypeError(msg)
    return harmonic_scores(positive_graph(S), problem.Y, problem.labelled).scores


def residual_of(state: State) -> Matrix:
    """M = (I - S)(I - S)', computed if the state does not have it."""
    return residual(state.S) if state.M is None else state.M


def distances_of(problem: Problem, state: State) -> Vector:
    """||H_i - K||, computed if the state does not have them."""
    return consensus_distances(problem.H, state.K) if state.d is None else state.d


def single_kernel(problem: Problem) -> tuple[Matrix, Vector]:
    """KGL's only kernel."""
    return problem.H[0], np.ones(1)


def uniform_theta(problem: Problem) -> tuple[Matrix, Vector]:
    """PMKL's uniform feasible weights, √θ_i = 1/r, and K = Σ θ_i H_i."""
    theta = np.full(len(problem.H), 1 / len(problem.H) ** 2)
    return combine(problem.H, theta), theta


@dataclass(frozen=True, slots=True)
class IdentityStart:
    """S = I, and P the known labels, 0 for the unknown; the first c unit vectors where there are none."""

    kernel: FirstKernel

    def __call__(self, problem: Problem, rng: np.random.Generator, work: Workspace) -> State:
        """Return the first state."""
        K, w = self.kernel(problem)
        P = np.eye(problem.n, problem.c, dtype=K.dtype) if problem.Y is None else problem.known
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
class KernelStart:
    """S = 0, and P the known labels, 0 for the unknown, where the first steps find S and P from K alone.

    It is the same for every order of the samples.
    """

    kernel: FirstKernel

    def __call__(self, problem: Problem, rng: np.random.Generator, work: Workspace) -> State:
        """Return the first state."""
        K, w = self.kernel(problem)
        return State(S=np.zeros_like(K), K=K, w=w, P=problem.known)


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
        S = identity_minus(self.gamma * A)
        np.maximum(S, 0, out=S)
        work.kept = A, K, self.gamma
        return State(S=S, K=K, w=w, P=self.infer(problem, S))


@dataclass(frozen=True, slots=True)
class Beta:
    """The paper's beta, or the scale-free one: relative = beta · Σ_i 1/(2 ||H_i - H̄||), H̄ the mean of the kernels.

    The sum is that of SMKL's weights at the mean, which decreases as 1/n.
    """

    beta: float | None = None
    relative: float = 30.0  # where the paper's beta is not given

    def value(self, problem: Problem) -> float:
        """Return the paper's beta for this problem."""
        if self.beta is not None:
            return self.beta
        return self.relative / problem.weight_at_mean


@dataclass(frozen=True, slots=True)
class LearnGraph:
    """S from its closed form, negatives set to 0; `symmetric` also averages S with its transpose, as released."""

    alpha: float
    gamma: float
    fixed_kernel: bool  # then its inverse is kept
    squared: bool
    symmetric: bool

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the new graph."""
        A = work.take_inverse(state.K, self.gamma)
        S = graph_from_inverse(A, state.P, alpha=self.alpha, gamma=self.gamma, squared=self.squared)
        if self.fixed_kernel:
            work.kept = A, state.K, self.gamma
        del A  # its memory is free unless it was kept
        np.maximum(S, 0, out=S)
        S = symmetric_part(S) if self.symmetric else S
        return replace(state, S=S, M=residual(S), q=None)


@dataclass(frozen=True, slots=True)
class LearnFreeGraph:
    """S from its closed form, the optimum over all S; S >= 0 is left to `KeepPositiveGraph`."""

    alpha: float
    gamma: float
    fixed_kernel: bool  # then its inverse is kept

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the new graph."""
        A = work.take_inverse(state.K, self.gamma)
        E = unexpressed(A, state.P, alpha=self.alpha, gamma=self.gamma, overwrite=not self.fixed_kernel)
        if self.fixed_kernel:
            work.kept = A, state.K, self.gamma
        M = outer_square(E)
        return replace(state, S=identity_minus(E), M=M, q=None)


@dataclass(frozen=True, slots=True)
class LearnExactGraph:
    """S as the optimum of its problem with S >= 0."""

    alpha: float
    gamma: float
    tol: float = 1e-9

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the optimal graph."""
        # single precision cannot reach `tol`
        K, P, S = (M.astype(np.float64) for M in (symmetric_part(state.K), state.P, state.S))
        try:
            optimal = exact_graph_step(K, P, S, alpha=self.alpha, gamma=self.gamma, tol=self.tol)
        except NotOptimalError as error:
            raise StepError(Outcome.NOT_OPTIMAL) from error
        S_new = optimal.astype(state.S.dtype)
        return replace(state, S=S_new, M=residual(S_new), q=None)


@dataclass(frozen=True, slots=True)
class KeepPositiveGraph:
    """The finish of free graphs: the positive, symmetric part of S, and P inferred on it unless that was done.

    With `n_neighbors` only the strongest entries of every row are kept, and P is inferred on these.
    """

    infer: Infer
    n_neighbors: int | None = None

    def __call__(self, problem: Problem, state: State) -> State:
        """Return the state with S >= 0."""
        S, factors = positive_graph(state.S), None
        if self.n_neighbors is not None:
            factors = cosine_factors(S)
            S = strongest_edges(S, self.n_neighbors)
        P = self.infer(problem, S) if self.n_neighbors is not None or state.q is None else state.P
        return replace(state, S=S, M=None, P=P, q=None, factors=factors)


@dataclass(frozen=True, slots=True)
class InferLabels:
    """P as inferred on the graph."""

    infer: Infer

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the new labels."""
        return replace(state, P=self.infer(problem, state.S), q=None)


@dataclass(frozen=True, slots=True)
class SmootherLabels:
    """P inferred on the positive part of S, but only if it is no less smooth on S itself than the P before, if any."""

    infer: Infer

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the new labels, or with the old ones."""
        P = self.infer(problem, state.S)
        before, after = smoothness(state.S, state.P, P)
        return replace(state, P=P, q=after) if after <= before or not state.P.any() else state


@dataclass(frozen=True, slots=True)
class SelfWeight:
    """SMKL's w from the distance of every kernel to K."""

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the new weights."""
        d = distances_of(problem, state)
        return replace(state, w=self_weights(d, problem.floor), d=d)


def keep_kernel(K: Matrix) -> Matrix:
    """Leave K as its closed form gives it."""
    return K


def clip_kernel(K: Matrix) -> Matrix:
    """Set the negatives of K to 0 in place, as the released program does."""
    return np.maximum(K, 0, out=K)


@dataclass(frozen=True, slots=True)
class PerturbKernel:
    """SMKL's K: the weighted mean of the kernels, perturbed by the graph, then made admissible (possibly in place)."""

    beta: Beta
    admit: Callable[[Matrix], Matrix] = keep_kernel

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the new consensus."""
        K = self.admit(kernel_step(problem.H, state.w, residual_of(state), beta=self.beta.value(problem)))
        return replace(state, K=K, d=consensus_distances(problem.H, K))


@dataclass(frozen=True, slots=True)
class PerturbSafely:
    """SMKL's w and K at once, the optimum over all K >= -γ/2: K + γI is positive definite by construction."""

    beta: Beta
    gamma: float

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the new weights and consensus, whose inverse is kept in the work space."""
        H, M, beta = problem.H, residual_of(state), self.beta.value(problem)
        m = float(np.vdot(M, M))
        if beta * len(H) <= m**0.5:  # <K, M> decreases faster than the distances grow: no optimum over all K
            return self._projected(problem, state)
        h = kernel_residuals(H, M)
        w, d = consensus_weights(problem.products, h, m, state.w, beta=beta, floor=problem.safeguarded_floor)
        K = kernel_step(H, w, M, beta=beta)
        A = definite_inverse(K, shift=self.gamma)
        if A is None or norm_exceeds(A, 2 / self.gamma):
            del K, A  # their memory is free for the projection
            return self._projected(problem, state)
        work.kept = A, K, self.gamma
        return replace(state, w=w, K=K, d=d, on_bound=False)

    def _projected(self, problem: Problem, state: State) -> State:
        """Return one step of majorisation from the K that is in bounds, projected on the bounds."""
        w = self_weights(distances_of(problem, state), problem.safeguarded_floor)
        M, beta = residual_of(state), self.beta.value(problem)
        K = floor_spectrum(kernel_step(problem.H, w, M, beta=beta), -self.gamma / 2, overwrite=True)
        return replace(state, w=w, K=K, d=consensus_distances(problem.H, K), on_bound=True)


@dataclass(frozen=True, slots=True)
class ParametriseKernel:
    """PMKL's weights θ and K = Σ θ_i H_i."""

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the new weights and consensus."""
        w = parametrised_weights(kernel_residuals(problem.H, residual_of(state)))
        return replace(state, w=w, K=combine(problem.H, w), d=None)


@dataclass(frozen=True, slots=True)
class StopIfFar:
    """The last step where K may diverge: it changes nothing, and fails if K is a thousand times larger than H."""

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the same state."""
        if float(np.linalg.norm(state.K)) > _FAR * problem.size:
            raise StepError(Outcome.DIVERGED)
        return state
