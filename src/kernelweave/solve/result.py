"""The result of a run: the last state, the history of every iteration, and why it stopped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import overload

import numpy as np

from kernelweave._types import Vector
from kernelweave.solve.problem import State

__all__ = ["History", "Outcome", "Record", "Solution", "StepError"]


class Outcome(Enum):
    """Why the loop stopped; the value is the sentence shown to the user."""

    CONVERGED = "The graph stopped changing."
    LEVEL = "The objective stopped falling: what still changes in the graph makes no difference to it."
    MAX_ITER = "The graph was still changing at max_iter: raise max_iter or tol."
    ON_BOUND = (
        "The consensus is on its bound K >= -gamma/2, since beta is too small to hold it near the kernels, and was "
        "still changing at max_iter: raise beta, gamma or max_iter."
    )
    OVERRULED = (
        "alpha is so large for this gamma that the labels overrule the kernels: edges are far outside of -1..1, and "
        "were still changing at max_iter: lower alpha, or raise gamma or max_iter."
    )
    NOT_FINITE = "A step produced inf or nan, or met a singular system: raise gamma or beta."
    DIVERGED = "The consensus grew far beyond the kernels: raise beta or gamma, or use the safeguarded scheme."
    NOT_OPTIMAL = "The graph problem was not solved to optimality in its budget of sweeps: raise gamma."

    @property
    def converged(self) -> bool:
        """Whether the graph or the objective stopped changing."""
        return self in (Outcome.CONVERGED, Outcome.LEVEL)

    @property
    def failed(self) -> bool:
        """Whether a step had no result, or one that cannot be used."""
        return self in (Outcome.NOT_FINITE, Outcome.DIVERGED, Outcome.NOT_OPTIMAL)


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
    """The last state of a run, the history of its iterations, and why it stopped."""

    state: State
    history: History
    outcome: Outcome

    @property
    def n_iter(self) -> int:
        """The number of iterations."""
        return len(self.history.records)
