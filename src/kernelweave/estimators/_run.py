"""What happens around a run of the solver: threads, progress, warnings, errors."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelweave.errors import NotFiniteError
from kernelweave.solve import Outcome, Problem, Record, Scheme, Solution, State, minimise

__all__ = ["solve", "threads"]


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Hold BLAS and OpenMP to `n_jobs` threads; None leaves them as they are, -1 takes every core."""
    if n_jobs is None:
        yield
        return
    with threadpool_limits(effective_n_jobs(n_jobs)):
        yield


def solve(
    problem: Problem,
    scheme: Scheme,
    *,
    max_iter: int,
    tol: float,
    random_state: np.random.RandomState,
    verbose: int,
    start: State | None = None,
) -> Solution:
    """Return the solution; warn if it did not converge, raise if there is none."""
    try:
        solution = minimise(
            problem,
            scheme,
            max_iter=max_iter,
            tol=tol,
            rng=np.random.default_rng(random_state.randint(np.iinfo(np.int32).max)),
            watch=_progress(scheme.name, max_iter) if verbose else None,
            start=start,
        )
    except np.linalg.LinAlgError as error:
        msg = f"{scheme.name} could not start. {Outcome.NOT_FINITE.value}"
        raise NotFiniteError(msg) from error
    if solution.outcome.failed:
        msg = f"{scheme.name} stopped in iteration {solution.n_iter + 1}. {solution.outcome.value}"
        raise NotFiniteError(msg)
    if not solution.outcome.converged:
        msg = (
            f"{scheme.name} stopped after {max_iter} iterations with a relative change of "
            f"{solution.history[-1].change:.2g} (tol={tol:g}). {solution.outcome.value}"
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=4)
    return solution


def _progress(name: str, max_iter: int) -> Callable[[int, State, Record], None]:
    def watch(iteration: int, state: State, record: Record) -> None:
        sys.stderr.write(
            f"[{name}] iteration {iteration}/{max_iter}: objective {record.objective:.8g}, "
            f"change {record.change:.2e}, {record.seconds:.2f} s\n"
        )

    return watch
