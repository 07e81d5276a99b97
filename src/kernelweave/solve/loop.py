"""The one loop: it knows no algorithm, only start, steps and stop."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from kernelweave.core.paper.nonnegative import NotOptimalError
from kernelweave.solve.leap import Leaper
from kernelweave.solve.problem import Problem, State
from kernelweave.solve.result import History, Outcome, Record, Solution
from kernelweave.solve.scheme import Scheme
from kernelweave.solve.steps import Step

__all__ = ["minimise"]

_FAR_BEYOND = 1e3  # times the largest kernel
_LEVEL_FOR = 5
_ROUNDING = 256  # a relative change of this many units in the last place is rounding: 3e-5 in single precision


def minimise(
    problem: Problem,
    scheme: Scheme,
    *,
    max_iter: int,
    tol: float,
    rng: np.random.Generator,
    watch: Callable[[int, State, Record], None] | None = None,
    start: State | None = None,
) -> Solution:
    """Run the scheme, from `start` or its own, until the graph changes less than `tol`; `watch` sees each iteration."""
    tol = max(tol, _ROUNDING * float(np.finfo(problem.H.dtype).eps))
    run = _Run(problem, scheme, scheme.start(problem, rng) if start is None else start, tol)
    records: list[Record] = []
    outcome = None
    while outcome is None and len(records) < max_iter:
        begun = perf_counter()
        outcome, change, terms = run.iterate()
        if outcome is not None:
            break
        records.append(Record(terms, change, run.state.w, perf_counter() - begun))
        if watch is not None:
            watch(len(records), run.state, records[-1])
        if len(records) >= scheme.min_iter and change < tol:
            outcome = Outcome.CONVERGED
        elif scheme.monotone and _level(records, problem):
            outcome = Outcome.LEVEL
    if outcome is None:
        outcome = scheme.unsettled(run.state)
    return Solution(run.finish(), History(tuple(records)), outcome)


class _Run:
    """A state on its way: the only holder of it, so that what a step replaces is freed at once."""

    def __init__(self, problem: Problem, scheme: Scheme, state: State, tol: float) -> None:
        self.problem, self.scheme, self.state, self.tol = problem, scheme, state, tol
        self.objective = np.inf
        self.rest = np.inf  # the largest change of a step in the last iteration, the first step's left out
        self.leaper = Leaper() if scheme.accelerated else None

    def iterate(self) -> tuple[Outcome | None, float, dict[str, float]]:
        """Take all steps once: why they came to an end, the largest change, and the terms of the objective."""
        leap = self._leap()
        if leap is not None:
            return None, *leap
        outcome, change = self._advance()
        if outcome is not None:
            return outcome, change, {}
        terms = self.scheme.terms(self.problem, self.state)
        self._reached(terms)
        return None, change, terms

    def finish(self) -> State:
        """Do to the last state what the scheme does at its end."""
        self.leaper = None
        self.state = self.state.bare()  # what is not needed any more makes room for the last step
        return self.state if self.scheme.finish is None else self.scheme.finish(self.problem, self.state)

    def _leap(self) -> tuple[float, dict[str, float]] | None:
        """Take all steps from a point ahead, or none if there is none or the objective is higher after them."""
        ahead = None if self.leaper is None else self.leaper.ahead(self.state)
        if self.leaper is None or ahead is None:
            return None
        before, self.state, self.rest = self.state.bare(), ahead, np.inf  # from here nothing was at rest yet
        del ahead
        failure, _ = self._advance()
        terms = {} if failure else self.scheme.terms(self.problem, self.state)
        lower = failure is None and sum(terms.values()) <= self.objective
        self.leaper.judged(taken=lower)
        if not lower:
            self.state, self.rest = before, np.inf
            return None
        self._reached(terms)
        return self.scheme.change(before, self.state), terms

    def _reached(self, terms: dict[str, float]) -> None:
        self.objective = sum(terms.values())
        if self.leaper is not None:
            self.leaper.note(self.state.K)

    def _advance(self) -> tuple[Outcome | None, float]:
        """Take all steps: why they end early, with the state before the last step kept, and the largest change."""
        changes: list[float] = []
        with np.errstate(all="ignore"):  # what goes wrong shows as a state that is not finite
            for step in self.scheme.steps:
                after = self._after(step)
                if isinstance(after, Outcome):
                    return after, max(changes, default=0.0)
                changes.append(self.scheme.change(self.state, after))
                if np.isnan(changes[-1]):
                    return Outcome.NOT_FINITE, changes[-1]
                if len(changes) == 1 and self.scheme.accelerated and max(changes[0], self.rest) < self.tol:
                    self.state = self.state.bare()  # the steps before and this one changed nothing: so would the others
                    return Outcome.CONVERGED, changes[0]
                self.state = after
        self.rest = max(changes[1:], default=0.0)
        if not self.scheme.monotone and float(np.linalg.norm(self.state.K)) > _FAR_BEYOND * self.problem.size:
            return Outcome.DIVERGED, max(changes)
        return None, max(changes)

    def _after(self, step: Step) -> State | Outcome:
        """Return the state after a step, or why there is none."""
        try:
            after = step(self.problem, self.state)
        except np.linalg.LinAlgError:
            return Outcome.NOT_FINITE
        except NotOptimalError:
            return Outcome.NOT_OPTIMAL
        return after if np.isfinite(after.P.sum()) else Outcome.NOT_FINITE


def _level(records: list[Record], problem: Problem) -> bool:
    """Whether the objective has not fallen beyond rounding in the last iterations."""
    if len(records) <= _LEVEL_FOR:
        return False
    first, last = records[-1 - _LEVEL_FOR].objective, records[-1].objective
    return first - last <= 4 * float(np.finfo(problem.H.dtype).eps) * abs(first)
