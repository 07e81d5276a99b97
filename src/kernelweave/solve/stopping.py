"""When a run stops: how much a step changed, and what the iterations so far say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import symmetric_spectral_norm
from kernelweave.solve.problem import Outcome, Record, State

__all__ = [
    "Change",
    "SmallChange",
    "StopRule",
    "graph_change",
    "joint_change",
    "small_change_or_level",
    "spectral_change",
    "still_changing",
    "why_still_changing",
]

# the change from one state to the next: 0 if S (and K) are the same arrays, nan if a new array is not finite
Change: TypeAlias = Callable[[State, State], float]
# of the iterations so far, the tolerance and the machine epsilon of the kernels: why to stop, or None to continue
StopRule: TypeAlias = Callable[[Sequence[Record], float, float], Outcome | None]

_ROWS = 16  # whose differences fit into the cache
_LEVEL_FOR = 5
_LARGEST_EDGE = 2.0


def graph_change(before: State, after: State) -> float:
    """||S_new - S||_F / ||S||_F."""
    if not (_finite(before.K, after.K) and _finite(before.P, after.P)):
        return np.nan
    return _relative(before.S, after.S)


def joint_change(before: State, after: State) -> float:
    """The larger of the relative changes of S and K: S may stand still while K changes."""
    if not _finite(before.P, after.P):
        return np.nan
    return float(np.maximum(_relative(before.S, after.S), _relative(before.K, after.K)))  # nan if either is


def spectral_change(before: State, after: State) -> float:
    """||S_new - S||_2 / ||S||_2 of symmetric graphs: the stop rule of the released program."""
    if not (_finite(before.S, after.S) and _finite(before.K, after.K) and _finite(before.P, after.P)):
        return np.nan
    if after.S is before.S:
        return 0.0
    return _ratio(symmetric_spectral_norm(after.S - before.S), symmetric_spectral_norm(before.S))


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
    return _ratio(*np.sqrt(squares)) if np.isfinite(squares).all() else np.nan


def _ratio(change: float, size: float) -> float:
    """Return change / size; of a graph without edges (size 0): inf, or 0 if nothing changed."""
    if size == 0:
        return np.inf if change > 0 else 0.0
    return float(change / size)


@dataclass(frozen=True, slots=True)
class SmallChange:
    """Converged after an iteration that changes less than the tolerance, from iteration `min_iter` on."""

    min_iter: int = 1

    def __call__(self, records: Sequence[Record], tol: float, eps: float) -> Outcome | None:
        """Return CONVERGED, or None to continue."""
        return Outcome.CONVERGED if len(records) >= self.min_iter and records[-1].change < tol else None


def small_change_or_level(records: Sequence[Record], tol: float, eps: float) -> Outcome | None:
    """Converged after a small change; level if the objective, which never increases, is the same for 5 iterations."""
    if records[-1].change < tol:
        return Outcome.CONVERGED
    if len(records) <= _LEVEL_FOR:
        return None
    first, last = records[-1 - _LEVEL_FOR].objective, records[-1].objective
    return Outcome.LEVEL if first - last <= 4 * eps * abs(first) else None


def still_changing(state: State) -> Outcome:
    """Return the outcome at max_iter of a scheme that can say no more about it."""
    return Outcome.MAX_ITER


def why_still_changing(state: State) -> Outcome:
    """Return the outcome at max_iter of a safeguarded run.

    Without labels no entry of S = I - γ(K + γI)^-1 is outside of -1..1: larger ones come from alpha.
    """
    if max(float(state.S.max()), -float(state.S.min())) > _LARGEST_EDGE:
        return Outcome.OVERRULED
    return Outcome.ON_BOUND if state.on_bound else Outcome.MAX_ITER
