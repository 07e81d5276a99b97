"""A scheme: what makes one run of a model differ from another, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Matrix
from kernelweave.solve.problem import Outcome, Problem, Record, State, Workspace

if TYPE_CHECKING:
    from kernelweave.solve.loop import Run

__all__ = [
    "Advance",
    "Change",
    "Finish",
    "GammaLike",
    "Iteration",
    "NeighborsLike",
    "Partition",
    "Scheme",
    "Start",
    "Step",
    "StopRule",
    "still_changing",
    "sweeps",
    "unchanged",
]

Start: TypeAlias = Callable[[Problem, np.random.Generator, Workspace], State]
Step: TypeAlias = Callable[[Problem, State, Workspace], State]
Finish: TypeAlias = Callable[[Problem, State], State]
# returns the change from one state to the next: 0 if S (and K) are the same arrays, nan if a new array is not finite
Change: TypeAlias = Callable[[State, State], float]
# takes the iterations so far, the tolerance and the machine epsilon of the kernels; returns why to stop, or None
StopRule: TypeAlias = Callable[[Sequence[Record], float, float], Outcome | None]
NeighborsLike: TypeAlias = int | Literal["auto", "all"]  # entries of a row of the last graph; "auto" is the version's
GammaLike: TypeAlias = float | Literal["auto"]


class Partition(Protocol):
    """A k-means that clusters the rows of P."""

    def __call__(self, P: Matrix, c: int, /, *, n_init: int, rng: np.random.RandomState) -> NDArray[np.int32]:
        """Return the labels of the best of `n_init` partitions of the rows of P into c clusters."""


class Iteration(NamedTuple):
    """What one iteration changed, step by step, and the terms of the objective after it."""

    changes: Sequence[float]
    terms: dict[str, float]


# one iteration of a run; None if it would change nothing
Advance: TypeAlias = Callable[[], Iteration | None]


def unchanged(problem: Problem, state: State) -> State:
    """Return the last state as it is."""
    return state


def still_changing(state: State) -> Outcome:
    """Return the outcome at max_iter of a scheme that has no more specific one."""
    return Outcome.MAX_ITER


def sweeps(run: Run) -> Advance:
    """Iterate by one sweep over the steps at a time."""
    return run.sweep


@dataclass(frozen=True, slots=True)
class Scheme:
    """A name, where to start, the steps in their order, the terms of the objective, and when to stop.

    `alpha`, `gamma` and `n_neighbors` (None for all entries of a row) are those that the steps have: the rows of new
    samples need them too. `partition` is the k-means that clusters the rows of P; None stands for plain k-means, as in
    the paper, which the caller has.
    """

    name: str
    start: Start
    steps: tuple[Step, ...]
    terms: Callable[[Problem, State], dict[str, float]]
    change: Change
    stop: StopRule
    alpha: float
    gamma: float
    n_neighbors: int | None = None
    at_max_iter: Callable[[State], Outcome] = still_changing
    finish: Finish = unchanged  # applied to the last state
    iterations: Callable[[Run], Advance] = sweeps  # or an acceleration of them
    partition: Partition | None = None
