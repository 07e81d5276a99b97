"""The one loop: it knows no algorithm, only start, steps and stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np

from kernelweave.core.nonnegative import NotOptimalError
from kernelweave.solve.problem import Problem, State
from kernelweave.solve.result import History, Outcome, Record, Solution
from kernelweave.solve.scheme import Scheme

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
    state = scheme.start(problem, rng) if start is None else start
    records: list[Record] = []
    outcome = Outcome.MAX_ITER
    for iteration in range(1, max_iter + 1):
        begun, S, K = perf_counter(), state.S, state.K
        with np.errstate(all="ignore"):  # what goes wrong shows as a state that is not finite
            after = _advance(problem, scheme, state)
        if isinstance(after, Outcome):
            outcome = after
            break
        state = after
        change = scheme.change(S, K, state)
        records.append(Record(scheme.terms(problem, state), change, state.w, perf_counter() - begun))
        if watch is not None:
            watch(iteration, state, records[-1])
        if iteration >= scheme.min_iter and change < tol:
            outcome = Outcome.CONVERGED
            break
        if scheme.monotone and _level(records, problem):
            outcome = Outcome.LEVEL
            break
    if scheme.finish is not None:
        del S, K, after
        state = replace(state, A=None)  # what is not needed any more makes room for the last step
        state = scheme.finish(problem, state)
    return Solution(state, History(tuple(records)), outcome)


def _level(records: list[Record], problem: Problem) -> bool:
    """Whether the objective has not fallen beyond rounding in the last iterations."""
    if len(records) <= _LEVEL_FOR:
        return False
    first, last = records[-1 - _LEVEL_FOR].objective, records[-1].objective
    return first - last <= 4 * float(np.finfo(problem.H.dtype).eps) * abs(first)


def _advance(problem: Problem, scheme: Scheme, state: State) -> State | Outcome:
    """Return the state after all steps, or why there is none."""
    try:
        for step in scheme.steps:
            state = step(problem, state)
            if not (np.isfinite(state.S.sum()) and np.isfinite(state.K.sum()) and np.isfinite(state.P.sum())):
                return Outcome.NOT_FINITE
    except np.linalg.LinAlgError:
        return Outcome.NOT_FINITE
    except NotOptimalError:
        return Outcome.NOT_OPTIMAL
    if float(np.linalg.norm(state.K)) > _FAR_BEYOND * problem.size:
        return Outcome.DIVERGED
    return state
