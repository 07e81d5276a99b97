"""What is given (Problem), what is sought (State), what the steps of a run reuse (Workspace), its result (Solution)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import overload

import numpy as np

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.core.algebra.matrices import ridge_inverse
from kernelweave.core.paper.closed_forms import (
    DISTANCE_FLOOR,
    SAFEGUARDED_FLOOR,
    kernel_products,
    product_distances,
    self_weights,
)

__all__ = ["History", "Outcome", "Problem", "Record", "Solution", "State", "StepError", "Workspace"]


@dataclass(frozen=True)
class Problem:
    """The base kernels H (r, n, n), the number c of clusters or classes and, for classification, the known labels."""

    H: Matrix
    c: int
    Y: Matrix | None = None  # (n, c) one-hot; rows of unlabelled samples are 0
    labelled: Mask | None = None  # (n,)

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.H[0])

    @property
    def known(self) -> Matrix:
        """The known labels, (n, c): rows of unlabelled samples are 0, and all rows where there are no labels."""
        if self.Y is None or self.labelled is None:
            return np.zeros((self.H.shape[1], self.c), dtype=self.H.dtype)
        return np.where(self.labelled[:, None], self.Y, 0).astype(self.H.dtype)

    @cached_property
    def products(self) -> Matrix:
        """HH, HH_ij = <H_i, H_j>, summed in double precision."""
        return kernel_products(self.H)

    @cached_property
    def weight_at_mean(self) -> float:
        """Σ_i 1/(2 ||H_i - H̄||), H̄ the mean of the kernels: the sum of SMKL's weights at it.

        Distances are at least a hundredth of the kernel's norm: a single kernel is at distance 0 from its mean.
        """
        HH, ones = self.products, np.ones(len(self.H))
        d, _ = product_distances(HH, ones, 0 * ones, 0.0, beta=1.0)
        return float(self_weights(d, 0.01 * np.sqrt(HH.diagonal())).sum())

    @cached_property
    def size(self) -> float:
        """The largest ||H_i||_F."""
        return float(max(np.linalg.norm(Hi) for Hi in self.H))

    @cached_property
    def floor(self) -> float:
        """δ: distances ||H_i - K|| below it are raised to it, so that weights are finite."""
        return DISTANCE_FLOOR * self.size

    @cached_property
    def safeguarded_floor(self) -> float:
        """δ of the safeguarded version, which computes distances from products of kernels."""
        return SAFEGUARDED_FLOOR * float(np.sqrt(self.products.diagonal().max()))


@dataclass(frozen=True, slots=True)
class State:
    """One point of the search: graph S, consensus K, weights w, labels P, and quantities derived from them.

    A step that changes S sets or drops M and q; one that changes K sets or drops d; one that changes P, q. No step
    overwrites an array of a state. Starts and solutions have no M.
    """

    S: Matrix
    K: Matrix
    w: Vector
    P: Matrix
    M: Matrix | None = None  # (I - S)(I - S)', the residual of S
    d: Vector | None = None  # ||H_i - K||
    on_bound: bool = False  # whether the constraint K >= -γ/2 is active
    q: float | None = None  # Tr(P'LP), set if P was inferred on the positive part of this S
    factors: Vector | None = None  # by which entries of S were compared, if only the strongest of each row are kept


@dataclass(slots=True)
class Workspace:
    """Owned by one run: the inverse A of the last K, for the next graph step, which may overwrite it.

    It saves time and memory and changes no result: what is not here is computed.
    """

    kept: tuple[Matrix, Matrix, float] | None = None  # A = (K + γI)^-1, K and γ

    def take_inverse(self, K: Matrix, gamma: float) -> Matrix:
        """Return A = (K + γI)^-1, kept or computed. It is the caller's, who may overwrite it, or keep it again."""
        if self.kept is not None and self.kept[1] is K and self.kept[2] == gamma:
            A, self.kept = self.kept[0], None
            return A
        self.kept = None  # frees it before another one is allocated
        return ridge_inverse(K, gamma=gamma)


class Outcome(Enum):
    """Why the loop stopped; the value is the sentence shown to the user.

    `converged` tells whether the graph or the objective stopped changing, `failed` whether a step had no result, or one
    that cannot be used.
    """

    CONVERGED = "The graph stopped changing."
    LEVEL = "The objective stopped decreasing, although the graph still changed a little."
    MAX_ITER = "The graph was still changing at max_iter: raise max_iter or tol."
    ON_BOUND = (
        "The consensus is on its bound K >= -gamma/2, since beta is too small to hold it near the kernels, and was "
        "still changing at max_iter: raise beta, gamma or max_iter."
    )
    OVERRULED = (
        "alpha is so large for this gamma that the labels dominate the kernels: edges are far outside of -1..1, and "
        "were still changing at max_iter: lower alpha, or raise gamma or max_iter."
    )
    NOT_FINITE = "A step produced inf or nan, or met a singular system: raise gamma or beta."
    DIVERGED = "The consensus grew far beyond the kernels: raise beta or gamma, or use the safeguarded scheme."
    NOT_OPTIMAL = "The graph problem was not solved to optimality in its budget of sweeps: raise gamma."

    def __init__(self, sentence: str) -> None:
        self.converged = self.name in ("CONVERGED", "LEVEL")
        self.failed = self.name in ("NOT_FINITE", "DIVERGED", "NOT_OPTIMAL")


class StepError(ArithmeticError):
    """A step has no result that a run can continue from; `outcome` says why."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.value)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Record:
    """One iteration: the terms of the objective, the relative change of the graph, the weights, the seconds."""

    terms: dict[str, float]
    change: float
    weights: Vector
    seconds: float

    @property
    def objective(self) -> float:
        """The sum of the terms."""
        return sum(self.terms.values())


@dataclass(frozen=True, slots=True)
class History:
    """The records of the iterations in order, and their values as arrays."""

    records: tuple[Record, ...]

    @property
    def objective(self) -> Vector:
        """The objective after every iteration."""
        return np.array([record.objective for record in self.records])

    @property
    def terms(self) -> dict[str, Vector]:
        """Every term of the objective by name, after every iteration."""
        names = self.records[0].terms if self.records else ()
        return {name: np.array([record.terms[name] for record in self.records]) for name in names}

    @property
    def change(self) -> Vector:
        """The relative change of the graph in every iteration; an accelerated run may end by that of the next graph."""
        return np.array([record.change for record in self.records])

    @property
    def weights(self) -> Vector:
        """The raw kernel weights after every iteration, (n_iter, r)."""
        return np.array([record.weights for record in self.records])

    @property
    def seconds(self) -> Vector:
        """The time of every iteration."""
        return np.array([record.seconds for record in self.records])

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, index: int | slice) -> Record | tuple[Record, ...]:
        return self.records[index]


@dataclass(frozen=True, slots=True)
class Solution:
    """The last state of a run, the history of its iterations, why it stopped, and the labels P of the last iteration.

    The finish of a scheme may infer other labels on the graph that it keeps; the graph was learned with these.
    """

    state: State
    history: History
    outcome: Outcome
    P: Matrix

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.history.records)
