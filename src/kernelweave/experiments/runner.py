"""Run the unfinished tasks of an experiment in parallel; the rows of each are written when it finishes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kernelweave.experiments.execute import run_task
from kernelweave.experiments.parallel import check_jobs, in_parallel
from kernelweave.experiments.refining import expected_second_stage, second_stage
from kernelweave.experiments.rows import Results, Row
from kernelweave.experiments.spec import Spec
from kernelweave.experiments.store import SharedData
from kernelweave.experiments.tasks import Task, expand

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Timed", "Watch", "run_experiment"]


class Timed(Protocol):
    """A task whose duration is estimated."""

    @property
    def label(self) -> str:
        """What tasks of similar speed have in common."""

    @property
    def cost(self) -> float:
        """A rough estimate of the work."""


class Watch(Protocol):
    """An observer of a run, such as a progress bar."""

    def begin(
        self, tasks: Sequence[Timed], finished: Sequence[tuple[Timed, list[Row]]], later: Sequence[Timed]
    ) -> None:
        """Handle the start of a stage: tasks to run, finished ones with their rows, and tasks like the next stage's."""

    def done(self, task: Timed, rows: list[Row]) -> None:
        """Handle a finished task and its rows."""


def run_experiment(
    spec: Spec,
    out: str | os.PathLike[str],
    *,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
    jobs: int = 1,
    dask: str | None = None,
    resume: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
) -> pd.DataFrame:
    """Run the unfinished tasks of an experiment, and return all its rows.

    Parameters
    ----------
    spec : Spec
        The experiment, from `load_spec`.
    out : str or path
        Folder for the results. Finished tasks of this experiment in it are kept and not run again.
    datasets, methods : list of str, optional
        Run only these of the experiment.
    jobs : int, default=1
        Number of processes, each with one BLAS thread; -1 uses all cores.
    dask : str, optional
        Address of a running dask.distributed scheduler whose workers can read `out`; they replace the `jobs`
        processes.
    resume : bool, default=False
        Continue even if the folder holds rows of another experiment or preset; tasks in common are not run again.
    data_home : path-like, optional
        Folder of the data files, see `kernelweave.datasets.load_dataset`.
    watch : Watch, optional
        Observer of the run.

    Returns
    -------
    rows : pandas.DataFrame
        One row per setting and repeat; also written to results.parquet and results.csv in the folder.

    Raises
    ------
    ResultsError
        If the folder cannot be written, holds other results, or has a corrupt file.
    """
    check_jobs(jobs)
    results = Results(Path(out))
    wanted = spec.narrowed(datasets, methods)
    first = expand(wanted)
    results.open(spec, resume=resume)
    run = partial(_run_stage, results=results, jobs=jobs, dask=dask, data_home=data_home, watch=watch)
    run(first, later=expected_second_stage(wanted))
    second = second_stage(wanted, results.finished(first))
    if second:
        run(second, later=[])
    every = expand(spec)
    return results.consolidate(every + second_stage(spec, results.finished(every)))


def _run_stage(
    wanted: list[Task],
    *,
    later: list[Task],
    results: Results,
    jobs: int,
    dask: str | None,
    data_home: str | os.PathLike[str] | None,
    watch: Watch | None,
) -> None:
    """Run the unfinished ones of some tasks."""
    finished = results.finished(wanted)
    tasks = [task for task in wanted if task.name not in finished]
    if watch is not None:
        watch.begin(tasks, [(task, finished[task.name]) for task in wanted if task.name in finished], later)
    if not tasks:
        return
    shared = SharedData.build(results.folder.absolute(), tasks, data_home)
    try:
        for task, rows in in_parallel(tasks, partial(run_task, shared=shared), jobs, dask):
            results.add(task, rows)
            if watch is not None:
                watch.done(task, rows)
    finally:
        shared.remove()
