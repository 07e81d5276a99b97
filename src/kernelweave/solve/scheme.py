"""A scheme: what makes one run of a model differ from another, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import symmetric_spectral_norm
from kernelweave.solve.problem import Problem, State
from kernelweave.solve.result import Outcome
from kernelweave.solve.steps import Step

__all__ = ["Change", "Scheme", "graph_change", "joint_change", "spectral_change", "still_changing"]

Terms: TypeAlias = Callable[[Problem, State], dict[str, float]]
# what one step changed: 0 where it left S (or K) alone, nan where S or K is not finite after it
Change: TypeAlias = Callable[[State, State], float]

_ROWS = 128


def still_changing(state: State) -> Outcome:
    """Return what can be said of any run."""
    return Outcome.MAX_ITER


@dataclass(frozen=True, slots=True)
class Scheme:
    """A name, where to start, the steps in their order, the terms of the objective, and when to stop."""

    name: str
    start: Callable[[Problem, np.random.Generator], State]
    steps: tuple[Step, ...]
    terms: Terms
    change: Change
    min_iter: int
    finish: Step | None = None  # what is done to the last state
    monotone: bool = False  # whether the objective cannot rise, so that a level one means the end
    accelerated: bool = False  # S follows from K and P: may leap to another K, and end where the next S is the same
    unsettled: Callable[[State], Outcome] = still_changing  # why a run is not at rest at max_iter


def graph_change(before: State, after: State) -> float:
    """||S_new - S||_F / ||S||_F."""
    return _relative(before.S, after.S) if _finite(before.K, after.K) else np.nan


def joint_change(before: State, after: State) -> float:
    """The larger of the relative changes of S and K: a graph that rests while K moves is not at its end."""
    return float(np.maximum(_relative(before.S, after.S), _relative(before.K, after.K)))  # nan if either is


def spectral_change(before: State, after: State) -> float:
    """||S_new - S||_2 / ||S||_2 of symmetric graphs: the released stop rule."""
    if not (_finite(before.S, after.S) and _finite(before.K, after.K)):
        return np.nan
    if after.S is before.S:
        return 0.0
    return symmetric_spectral_norm(after.S - before.S) / symmetric_spectral_norm(before.S)


def _finite(M: Matrix, M_new: Matrix) -> bool:
    return M_new is M or bool(np.isfinite(M_new.sum()))


def _relative(M: Matrix, M_new: Matrix) -> float:
    if M_new is M:
        return 0.0
    squares = np.zeros(2)
    for i in range(0, len(M), _ROWS):  # no matrix for the difference
        rows = M[i : i + _ROWS]
        D = M_new[i : i + _ROWS] - rows
        squares += np.vdot(D, D), np.vdot(rows, rows)
    if not np.isfinite(squares).all():
        return np.nan
    change, size = np.sqrt(squares)
    if size == 0:  # a graph without edges
        return np.inf if change > 0 else 0.0
    return float(change / size)
