"""Tasks in several processes, or on the workers of a dask scheduler."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext
from typing import TypeVar

from joblib import Parallel, delayed, parallel_config

from kernelweave.errors import InvalidInputError, ProcessEndedError
from kernelweave.experiments.rows import Row

__all__ = ["check_jobs", "in_parallel"]

T = TypeVar("T")

_PATIENCE = 3.0  # seconds for a dask scheduler to answer


def check_jobs(jobs: int) -> None:
    """Refuse numbers of processes that mean nothing: 0, and those below -1."""
    if jobs == 0 or jobs < -1:
        msg = f"jobs must be a number of processes, or -1 for every core; got {jobs}."
        raise InvalidInputError(msg)


def in_parallel(
    tasks: Sequence[T], work: Callable[[T], list[Row]], jobs: int, dask: str | None = None
) -> Iterator[tuple[T, list[Row]]]:
    """Yield the tasks with their rows as they finish, in any order.

    Parameters
    ----------
    tasks : sequence
        What to do.
    work : callable
        Returns the rows of a task; it is pickled for the processes.
    jobs : int
        Number of processes; -1 uses all cores.
    dask : str, optional
        Address of a dask scheduler, whose workers replace the processes.

    Yields
    ------
    task : object
        One of the tasks.
    rows : list of dict
        Its rows.

    Raises
    ------
    ProcessEndedError
        If one of the processes ends.
    """
    with _dask(dask) if dask else nullcontext():
        backend = {} if dask else {"n_jobs": jobs, "backend": "loky"}
        parallel = Parallel(**backend, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        with closing(parallel(delayed(_numbered)(i, work, task) for i, task in enumerate(tasks))) as found:
            try:
                for i, rows in found:
                    yield tasks[i], rows
            except BrokenProcessPool as error:
                codes = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))
                which = f" ({codes[1]})" if codes else ""
                msg = f"A process ended before its task was done{which}: a crash, or too little memory for {jobs} jobs."
                raise ProcessEndedError(msg) from error


def _numbered(i: int, work: Callable[[T], list[Row]], task: T) -> tuple[int, list[Row]]:
    return i, work(task)


@contextmanager
def _dask(address: str) -> Iterator[None]:
    """Run joblib on the workers of a dask scheduler."""
    try:
        from distributed import Client
    except ImportError as error:
        msg = 'Running on dask needs its packages, which are not installed: run pip install "kernelweave[dask]".'
        raise InvalidInputError(msg) from error
    connect: Callable[..., Client] = Client  # its signature has no annotations
    try:
        client = connect(address, timeout=_PATIENCE, set_as_default=True)
    except (OSError, ValueError) as error:
        msg = f"There is no dask scheduler at {address!r}: {error}. Start one with `dask scheduler`."
        raise InvalidInputError(msg) from error
    with closing(client), parallel_config("dask"):
        yield
