"""The one loop: an initial state, iterations of a scheme, its stop rule and its finish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from kernelweave.solve.problem import Problem, State, Workspace
from kernelweave.solve.result import History, Outcome, Record, Solution, StepError
from kernelweave.solve.scheme import Iteration, Scheme

__all__ = ["Run", "minimise"]

_ROUNDING = 256  # a relative change of this many units in the last place is rounding: 3e-5 in single precision


@dataclass(slots=True)
class Run:
    """A problem, a scheme, and the state reached: the only reference to it, so that what a step replaces is freed."""

    problem: Problem
    scheme: Scheme
    state: State
    tol: float
    work: Workspace = field(default_factory=Workspace)

    def sweep(self, *, enough: float = 0.0) -> Iteration | None:
        """Take all steps once; None, without a step taken, if the first one changes less than `enough`.

        Raises
        ------
        StepError
            If a step fails or its result is not finite. The state is the one before that step.
        """
        changes: list[float] = []
        with np.errstate(all="ignore"):  # an overflow shows as a state that is not finite
            for step in self.scheme.steps:
                try:
                    after = step(self.problem, self.state, self.work)
                except np.linalg.LinAlgError as error:
                    raise StepError(Outcome.NOT_FINITE) from error
                changes.append(self.scheme.change(self.state, after))
                if np.isnan(changes[-1]):
                    raise StepError(Outcome.NOT_FINITE)
                if changes[0] < enough:
                    return None
                self.state = after
        return Iteration(changes, self.scheme.terms(self.problem, self.state))


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
    """Iterate a scheme until its stop rule holds or `max_iter` is reached.

    Parameters
    ----------
    problem : Problem
        The kernels, the number of clusters or classes, and the known labels.
    scheme : Scheme
        The start, the steps of an iteration, when to stop and what to do with the last state.
    max_iter : int
        The largest number of iterations.
    tol : float
        Relative change of the graph below which the run has converged; raised to what rounding allows.
    rng : numpy.random.Generator
        The source of a random start.
    watch : callable, optional
        Called with the number of the iteration, its state and its record after every iteration.
    start : State, optional
        Where to start instead of the scheme's own start.

    Returns
    -------
    Solution
        The last state, the history, and why the run stopped.
    """
    eps = float(np.finfo(problem.H.dtype).eps)
    tol = max(tol, _ROUNDING * eps)
    work = Workspace()
    run = Run(problem, scheme, scheme.start(problem, rng, work) if start is None else start, tol, work)
    advance = scheme.iterations(run)
    records: list[Record] = []
    outcome = None
    while outcome is None and len(records) < max_iter:
        begun = perf_counter()
        try:
            iteration = advance()
        except StepError as error:
            outcome = error.outcome
            break
        if iteration is None:
            outcome = Outcome.CONVERGED
            break
        records.append(Record(iteration.terms, max(iteration.changes), run.state.w, perf_counter() - begun))
        if watch is not None:
            watch(len(records), run.state, records[-1])
        outcome = scheme.stop(records, tol, eps)
    outcome = outcome or scheme.at_max_iter(run.state)
    state = run.state.bare()
    del run, work, advance  # their memory is free for the last step
    return Solution(scheme.finish(problem, state), History(tuple(records)), outcome)
