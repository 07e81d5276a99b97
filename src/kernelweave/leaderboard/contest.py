"""Run the trials of a leaderboard that are not finished, and return all rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave.datasets import dataset_info
from kernelweave.errors import InvalidInputError
from kernelweave.experiments.parallel import check_jobs, in_parallel
from kernelweave.experiments.rows import Results
from kernelweave.experiments.runner import Watch
from kernelweave.leaderboard.entrants import default_entrants, find_entrant
from kernelweave.leaderboard.play import TRIAL_COLUMNS, play
from kernelweave.leaderboard.protocol import CONDITIONS, Condition, Protocol
from kernelweave.leaderboard.trials import plan

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["run_benchmark"]


def run_benchmark(
    out: Path,
    datasets: Sequence[str],
    methods: Sequence[str] | None = None,
    *,
    conditions: Sequence[Condition] = ("plain",),
    protocol: Protocol | None = None,
    jobs: int = 1,
    resume: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    watch: Watch | None = None,
) -> pd.DataFrame:
    """Run methods on data sets under one protocol without labels, and return all rows of the folder.

    Parameters
    ----------
    out : Path
        Folder for the results. Finished trials in it are kept; more data sets, methods, conditions and seeds add to
        it.
    datasets : sequence of str
        Names of `kernelweave.datasets.list_datasets`.
    methods : sequence of str, optional
        Names as in `find_entrant`; all that are installed if not given.
    conditions : sequence of {"plain", "unknown", "gaps", "noise", "labels"}, default=("plain",)
        What the methods are given.
    protocol : Protocol, optional
        Seeds, number of samples and limits.
    jobs : int, default=1
        Number of processes, each with one BLAS thread; -1 uses all cores.
    resume : bool, default=False
        Continue even if the folder holds rows under other limits.
    data_home : path-like, optional
        Folder of the data files, see `kernelweave.datasets.load_dataset`.
    watch : Watch, optional
        Observer of the run.

    Returns
    -------
    rows : pandas.DataFrame
        One row per trial; also written to results.parquet and results.csv in the folder.
    """
    check_jobs(jobs)
    unknown = [condition for condition in conditions if condition not in CONDITIONS]
    if unknown or not conditions:
        msg = f"There is no condition {unknown[0] if unknown else ''!r}: choose of {', '.join(CONDITIONS)}."
        raise InvalidInputError(msg)
    chosen = protocol or Protocol()
    entrants = default_entrants() if methods is None else tuple(find_entrant(name) for name in methods)
    trials = plan([dataset_info(name) for name in datasets], entrants, conditions, chosen)
    results = Results(out, TRIAL_COLUMNS)
    results.open(chosen, resume=resume)
    finished = results.finished(trials)
    todo = [trial for trial in trials if trial.name not in finished]
    if watch is not None:
        watch.begin(todo, [(trial, finished[trial.name]) for trial in trials if trial.name in finished], [])
    for trial, rows in in_parallel(todo, partial(play, data_home=data_home), jobs):
        results.add(trial, rows)
        if watch is not None:
            watch.done(trial, rows)
    return results.consolidate_all()
