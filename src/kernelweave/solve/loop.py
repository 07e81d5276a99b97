"""The one loop: it knows no algorithm, only start, steps and stop."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from kernelweave.core.nonnegative import NotOptimalError
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
    run = _Run(problem, scheme, scheme.start(problem, rng) if start is None else start)
    records: list[Record] = []
    outcome = Outcome.MAX_ITER
    for iteration in range(1, max_iter + 1):
        begun = perf_counter()
        failure, change = run.advance()
        if failure is not None:
            outcome = failure
            break
        records.append(Record(scheme.terms(problem, run.state), change, run.state.w, perf_counter() - begun))
        if watch is not None:
            watch(iteration, run.state, records[-1])
        if iteration >= scheme.min_iter and change < tol:
            outcome = Outcome.CONVERGED
            break
        if scheme.monotone and _level(records, problem):
            outcome = Outcome.LEVEL
            break
    return Solution(run.finish(), History(tuple(records)), outcome)


class _Run:
    """A state on its way: the only holder of it, so that what a step replaces is freed at once."""

    def __init__(self, problem: Problem, scheme: Scheme, state: State) -> None:
        self.problem, self.scheme, self.state = problem, scheme, state

    def finish(self) -> State:
        """Do to the last state what the scheme does at its end."""
        self.state = self.state.bare()  # what is not needed any more makes room for the last step
        return self.state if self.scheme.finish is None else self.scheme.finish(self.problem, self.state)

    def advance(self) -> tuple[Outcome | None, float]:
        """Take all steps: why one has no result, with the state before it kept, and the largest change of a step."""
        change = 0.0
        with np.errstate(all="ignore"):  # what goes wrong shows as a state that is not finite
            for step in self.scheme.steps:
                after = self._after(step)
                if isinstance(after, Outcome):
                    return after, change
                change = max(change, self.scheme.change(self.state, after))
                self.state = after
        if float(np.linalg.norm(self.state.K)) > _FAR_BEYOND * self.problem.size:
            return Outcome.DIVERGED, change
        return None, change

    def _after(self, step: Step) -> State | Outcome:
        """Return the state after a step, or why there is none."""
        before = self.state
        try:
            after = step(self.problem, before)
        except np.linalg.LinAlgError:
            return Outcome.NOT_FINITE
        except NotOptimalError:
            return Outcome.NOT_OPTIMAL
        pairs = ((before.S, after.S), (before.K, after.K), (before.P, after.P))
        finite = all(new is old or np.isfinite(new.sum()) for old, new in pairs)
        return after if finite else Outcome.NOT_FINITE


def _level(records: list[Record], problem: Problem) -> bool:
    """Whether the objective has not fallen beyond rounding in the last iterations."""
    if len(records) <= _LEVEL_FOR:
        return False
    first, last = records[-1 - _LEVEL_FOR].objective, records[-1].objective
    return first - last <= 4 * float(np.finfo(problem.H.dtype).eps) * abs(first)
