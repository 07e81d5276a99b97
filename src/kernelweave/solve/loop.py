"""The one loop: an initial state, iterations of a scheme, how much each changes, when to stop, and the finish.

Slow runs are accelerated by iterations that start where the last three consensus kernels are heading (SQUAREM).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import symmetric_spectral_norm
from kernelweave.solve.problem import History, Outcome, Problem, Record, Solution, State, StepError, Workspace
from kernelweave.solve.scheme import Iteration, Scheme

__all__ = [
    "Leaps",
    "Run",
    "SmallChange",
    "extrapolated",
    "graph_change",
    "joint_change",
    "minimise",
    "small_change_or_level",
    "spectral_change",
    "why_still_changing",
]

_ROUNDING = 256  # a relative change of this many units in the last place is rounding: 3e-5 in single precision
_ROWS = 128
_CACHED_BYTES = 2**18  # of differences, which fit into the cache
_SLOW_FROM = 10  # iterations: most runs end before, and need no memory for the kernels
_FIRST, _LEAST, _MOST = 4.0, 2.0, 1e4  # bounds of the stride
_LEVEL_FOR = 5  # iterations
_LARGEST_EDGE = 2.0


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
        largest = max(iteration.changes)  # infinite for a graph without edges before: then all of the new one counts
        change = largest if np.isfinite(largest) else 1.0
        records.append(Record(iteration.terms, change, run.state.w, perf_counter() - begun))
        if watch is not None:
            watch(len(records), run.state, records[-1])
        outcome = scheme.stop(records, tol, eps)
    outcome = outcome or scheme.at_max_iter(run.state)
    state = replace(run.state, M=None)
    del run, work, advance  # their memory is free for the last step
    last = state if outcome.failed else scheme.finish(problem, state)  # a graph that overflows has no last step
    return Solution(last, History(tuple(records)), outcome, state.P)


@dataclass(slots=True)
class Leaps:
    """The iterations of a run whose graph S follows from K and P by its first step.

    From the tenth iteration on, an iteration starts from an extrapolated K and is kept if the objective is no higher
    after it. The run ends within an iteration if neither its first step nor the last steps of the iteration before
    change more than the tolerance: the other steps would not either.
    """

    run: Run
    reach: float = _FIRST
    objective: float = np.inf
    last_change: float = np.inf  # the largest one of the steps of the last sweep but the first
    seen: int = 0
    kernels: list[Matrix] = field(default_factory=list)

    def __call__(self) -> Iteration | None:
        """Take one iteration, from an extrapolated K or from the state as it is; None if it would change nothing."""
        iteration = self._leap() if len(self.kernels) == 3 else None
        if iteration is None:
            iteration = self.run.sweep(enough=self.run.tol if self.last_change < self.run.tol else 0.0)
            if iteration is None:
                return None
            self.last_change = max(iteration.changes[1:], default=0.0)
        self.objective = sum(iteration.terms.values())
        self.seen += 1
        if self.seen > _SLOW_FROM - 3:
            self.kernels.append(self.run.state.K)
        return iteration

    def _leap(self) -> Iteration | None:
        """Take an iteration from an extrapolated K; None, with the state as it was, if it is not kept."""
        run, before = self.run, replace(self.run.state, M=None)
        K = extrapolated(*self.kernels, reach=self.reach)
        if K is None:
            self.kernels = self.kernels[1:]
            return None
        self.kernels, self.last_change = self.kernels[2:], np.inf
        run.state = replace(before, K=K, d=None)
        del K  # the run holds the only reference
        try:
            iteration = run.sweep()
        except StepError:
            iteration = None
        if iteration is None or not sum(iteration.terms.values()) <= self.objective:  # also if it is nan
            run.state, self.reach = before, max(self.reach / 2, _LEAST)
            return None
        self.kernels, self.reach = [], min(4 * self.reach, _MOST)
        self.last_change = max(iteration.changes[1:], default=0.0)
        return Iteration([run.scheme.change(before, run.state)], iteration.terms)


def extrapolated(K0: Matrix, K1: Matrix, K2: Matrix, *, reach: float) -> Matrix | None:
    """K_0 + 2s(K_1 - K_0) + s²(K_2 - 2K_1 + K_0), s = ||K_1 - K_0|| / ||K_2 - 2K_1 + K_0|| (Varadhan and Roland, 2008).

    The stride s is at most `reach`; None if it is at most 1, which is not ahead of K_2.
    """
    strips = [slice(i, i + _ROWS) for i in range(0, len(K0), _ROWS)]  # no matrices for the differences
    step = sum(float(np.sum((K1[i] - K0[i]) ** 2)) for i in strips)
    bend = sum(float(np.sum((K2[i] - 2 * K1[i] + K0[i]) ** 2)) for i in strips)
    s = min(float(np.sqrt(step / max(bend, float(np.finfo(np.float64).tiny)))), reach)  # infinite if straight
    if s <= 1:
        return None
    K = np.empty_like(K2)
    for i in strips:
        K[i] = K0[i] + 2 * s * (K1[i] - K0[i]) + s * s * (K2[i] - 2 * K1[i] + K0[i])
    return K


def graph_change(before: State, after: State) -> float:
    """||S_new - S||_F / ||S||_F."""
    if not (_finite(before.K, after.K) and _finite(before.P, after.P)):
        return np.nan
    return _relative(before.S, after.S)


def joint_change(before: State, after: State) -> float:
    """The larger of the relative changes of S and K: S may stand still while K changes."""
    if not np.isfinite(after.P.sum()):
        return np.nan
    return float(np.maximum(_relative(before.S, after.S), _relative(before.K, after.K)))  # nan if either is


def spectral_change(before: State, after: State) -> float:
    """||S_new - S||_2 / ||S||_2 of symmetric graphs: the stop rule of the released program."""
    if not (_finite(before.S, after.S) and _finite(before.K, after.K) and _finite(before.P, after.P)):
        return np.nan
    return _relative(before.S, after.S, symmetric_spectral_norm)


def _finite(M: Matrix, M_new: Matrix) -> bool:
    return M_new is M or bool(np.isfinite(M_new.sum()))


def _relative(M: Matrix, M_new: Matrix, norm: Callable[[Matrix], float] | None = None) -> float:
    """||M_new - M|| / ||M||, in the Frobenius norm by default; NaN if a norm is not finite.

    Of a graph without edges (M = 0) it is infinite, or 0 if nothing changed.
    """
    if M_new is M:
        return 0.0
    if norm is None:
        change = size = 0.0
        step = max(_CACHED_BYTES // M[0].nbytes, 1)
        for i in range(0, len(M), step):  # no matrix for the difference
            rows = M[i : i + step]
            D = M_new[i : i + step] - rows
            change += float(np.vdot(D, D))
            size += float(np.vdot(rows, rows))
        change, size = change**0.5, size**0.5
    else:
        change, size = norm(M_new - M), norm(M)
    if not np.isfinite(change + size):
        return np.nan
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


def why_still_changing(state: State) -> Outcome:
    """Return the outcome at max_iter of a safeguarded run.

    Without labels no entry of S = I - γ(K + γI)^-1 is outside of -1..1: larger ones come from alpha.
    """
    if max(float(state.S.max()), -float(state.S.min())) > _LARGEST_EDGE:
        return Outcome.OVERRULED
    return Outcome.ON_BOUND if state.on_bound else Outcome.MAX_ITER
