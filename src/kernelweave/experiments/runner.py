"""Run an experiment: what is not yet there, in parallel, each finished task kept at once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from joblib import Parallel, delayed, parallel_config

from kernelweave.errors import InvalidInputError
from kernelweave.experiments.execute import run_task
from kernelweave.experiments.rows import Results
from kernelweave.experiments.spec import Spec
from kernelweave.experiments.store import SharedData
from kernelweave.experiments.tasks import Task, expand

if TYPE_CHECKING:
    import pandas

__all__ = ["Watch", "run_experiment"]

_PATIENCE = 3.0  # seconds for a dask scheduler to answer


class Watch(Protocol):
    """Who is told how a run goes on."""

    def begin(self, tasks: list[Task], already: int) -> None:
        """Take note of the tasks to run, and of how many were there already."""

    def done(self, task: Task, rows: list[dict[str, Any]]) -> None:
        """Take note of a finished task."""


def run_experiment(
    spec: Spec,
    out: Path,
    *,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
    jobs: int = 1,
    dask: str | None = None,
    resume: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
) -> pandas.DataFrame:
    """Run what an experiment lacks in its folder, and return all its rows.

    Parameters
    ----------
    spec : Spec
        The experiment, from `load_spec`.
    out : Path
        Folder for the results. What is there of this experiment is kept and not run again.
    datasets, methods : list of str, optional
        Run only these of the experiment.
    jobs : int, default=1
        Processes, each with one thread of BLAS; -1 takes every core.
    dask : str, optional
        Address of a running dask.distributed scheduler whose workers see `out`; `jobs` then plays no part.
    resume : bool, default=False
        Go on even if the folder holds rows of another experiment or preset; tasks in common are not run again.
    data_home : path-like, optional
        Folder of the data files, see `kernelweave.datasets.load_dataset`.
    watch : Watch, optional
        Is told about every finished task.

    Returns
    -------
    rows : pandas.DataFrame
        A row per setting and repeat; also in results.parquet and results.csv of the folder.

    Raises
    ------
    ResultsError
        If the folder cannot be written, holds something else, or has a corrupt file.
    """
    if jobs == 0 or jobs < -1:
        msg = f"jobs must be a number of processes, or -1 for every core; got {jobs}."
        raise InvalidInputError(msg)
    results = Results(out)
    wanted = expand(spec.narrowed(datasets, methods))
    results.open(spec, resume=resume)
    every = expand(spec)
    finished = results.finished(every)
    tasks = [task for task in wanted if task.name not in finished]
    if watch is not None:
        watch.begin(tasks, already=len(wanted) - len(tasks))
    if tasks:
        shared = SharedData.build(out.absolute(), tasks, data_home)
        try:
            for task, rows in _run(tasks, shared, jobs, dask):
                results.add(task, rows)
                if watch is not None:
                    watch.done(task, rows)
        finally:
            shared.remove()
    return results.consolidate(every)


def _run(tasks: list[Task], shared: SharedData, jobs: int, dask: str | None) -> Iterator[tuple[Task, list[Any]]]:
    """Yield the tasks with their rows as they are done, in any order."""
    with _dask(dask) if dask else nullcontext():
        backend = {} if dask else {"n_jobs": jobs, "backend": "loky"}
        parallel = Parallel(**backend, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        with closing(parallel(delayed(_run_one)(i, task, shared) for i, task in enumerate(tasks))) as found:
            for i, rows in found:
                yield tasks[i], rows


def _run_one(i: int, task: Task, shared: SharedData) -> tuple[int, list[dict[str, Any]]]:
    return i, run_task(task, shared)


def _dask(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        msg = 'Running on dask needs its packages, which are not installed: run pip install "kernelweave[dask]".'
        raise InvalidInputError(msg) from error
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=True)
    except (OSError, ValueError) as error:
        msg = f"There is no dask scheduler at {address!r}: {error}. Start one with `dask scheduler`."
        raise InvalidInputError(msg) from error
    return _DaskSession(client)


class _DaskSession:
    """joblib on the workers of a dask client, which is closed at the end."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._config: Any = None

    def __enter__(self) -> None:
        self._config = parallel_config("dask")
        self._config.__enter__()

    def __exit__(self, *error: object) -> None:
        self._config.__exit__(*error)
        self._client.close()
