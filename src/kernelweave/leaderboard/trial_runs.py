"""Run the trials of a leaderboard that are not finished: fit within limits, score, and keep rows with provenance."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from kernelweave._types import Array
from kernelweave.datasets import dataset_info
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError, ProcessEndedError
from kernelweave.experiments.commits import versions
from kernelweave.experiments.parallel import check_jobs, in_parallel
from kernelweave.experiments.rows import Results, Row
from kernelweave.experiments.runner import Watch
from kernelweave.leaderboard.begun import Begun, ended_in
from kernelweave.leaderboard.entrants import default_entrants, find_entrant
from kernelweave.leaderboard.limits import OutOfTimeError, PeakMemory, check_limits, limited
from kernelweave.leaderboard.protocol import CONDITIONS, Condition, Protocol
from kernelweave.leaderboard.trial_data import TrialData, prepare, trial_data
from kernelweave.leaderboard.trials import Trial, plan
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TRIAL_COLUMNS", "run_benchmark", "run_trial"]

TRIAL_COLUMNS: dict[str, str] = {
    "dataset": "string", "data_sha256": "string", "domain": "string", "n_samples": "Int64", "n_views": "Int64",
    "n_features": "Int64", "n_classes": "Int64", "method": "string", "estimator": "string", "parameters": "string",
    "prepared": "string", "condition": "string", "seed": "Int64", "acc": "float64", "nmi": "float64", "ari": "float64",
    "purity": "float64", "n_found": "Int64", "seconds": "float64", "mib": "float64", "outcome": "string",
    "error": "string", "protocol": "string", "kernelweave": "string", "numpy": "string", "scipy": "string",
    "sklearn": "string", "python": "string", "commit": "string", "created": "string", "key": "string",
}  # fmt: skip
_NO_FIGURES: Row = {"acc": None, "nmi": None, "ari": None, "purity": None, "n_found": None}


def run_benchmark(
    out: str | os.PathLike[str],
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
    out : str or path
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

    Raises
    ------
    ProcessEndedError
        If a method ends one of several processes. With one process it ends this one; the trials that were running then
        come last when the run is resumed.
    """
    check_jobs(jobs)
    unknown = [condition for condition in conditions if condition not in CONDITIONS]
    if unknown or not conditions:
        msg = f"There is no condition {unknown[0] if unknown else ''!r}: choose of {', '.join(CONDITIONS)}."
        raise InvalidInputError(msg)
    chosen = protocol or Protocol()
    entrants = default_entrants() if methods is None else tuple(find_entrant(name) for name in methods)
    trials = plan([dataset_info(name) for name in datasets], entrants, conditions, chosen)
    out = Path(out)
    results, begun = Results(out, TRIAL_COLUMNS), Begun(out)
    results.open(chosen, resume=resume)
    finished, left = results.finished(trials), begun.left()
    todo = [trial for trial in trials if trial.name not in finished]
    todo.sort(key=lambda trial: trial.name in left)
    if watch is not None:
        watch.begin(todo, [(trial, finished[trial.name]) for trial in trials if trial.name in finished], [])
    try:
        for trial, rows in in_parallel(todo, partial(_marked_trial, begun=begun, data_home=data_home), jobs):
            results.add(trial, rows)
            if watch is not None:
                watch.done(trial, rows)
    except ProcessEndedError as error:
        msg = f"{error} Finished trials are kept in {out}: the same call resumes the run. {ended_in(out) or ''}"
        raise ProcessEndedError(msg.strip()) from error
    except BaseException:
        begun.clear()
        raise
    begun.clear()
    return results.consolidate_all()


def _marked_trial(trial: Trial, begun: Begun, data_home: str | os.PathLike[str] | None) -> list[Row]:
    with begun.running(trial):
        return run_trial(trial, data_home)


def run_trial(trial: Trial, data_home: str | os.PathLike[str] | None = None) -> list[Row]:
    """Return the row of a trial; BLAS runs on one thread.

    The outcome is "FINISHED", "MAX_ITER" if the method warned that it had not converged, "NOT FINISHED" at a limit,
    "REFUSED" if the method does not take such samples, or "FAILED".
    """
    check_limits()
    data = trial_data(trial.data.name, trial.condition, trial.seed, trial.protocol, data_home)
    X = prepare(trial.entrant, data)
    told = trial.condition != "unknown" and trial.entrant.role == "clusterer"
    model = trial.entrant.build(data.n_classes if told else None, trial.seed)
    found = _fitted(trial, model, X, data)
    return [_row(trial, data, found)]


def _fitted(trial: Trial, model: BaseEstimator, X: object, data: TrialData) -> Row:
    peak, limits, fitted = PeakMemory(), trial.protocol, False
    begun = process_time()
    try:
        with threadpool_limits(1), warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            with limited(limits.max_seconds, limits.max_gib):
                model.fit(X, data.known)
        seconds, fitted = process_time() - begun, True
        found = _scores(model, data)
        short = any(issubclass(warning.category, ConvergenceWarning) for warning in heard)
        found |= {"outcome": "MAX_ITER" if short else "FINISHED", "error": ""}
    except OutOfTimeError:
        seconds = process_time() - begun
        found = {"outcome": "NOT FINISHED", "error": f"stopped after {limits.max_seconds:g} s of CPU time"}
    except (MemoryError, NotEnoughMemoryError) as error:
        seconds = process_time() - begun
        found = {"outcome": "NOT FINISHED", "error": f"needs more than {limits.max_gib:g} GiB: {error}"}
    except Exception as error:  # any error becomes a row, so that the other trials still run
        seconds = process_time() - begun
        outcome = "REFUSED" if isinstance(error, InvalidInputError) and not fitted else "FAILED"
        found = {"outcome": outcome, "error": f"{type(error).__name__}: {error}"}
    return {**found, "seconds": seconds, "mib": peak.mib()}


def _scores(model: BaseEstimator, data: TrialData) -> Row:
    if data.labelled is not None:
        right = (np.asarray(model.transduction_) == data.y)[~data.labelled]
        return {"acc": float(right.mean())}
    labels = np.asarray(model.labels_)
    return {
        "acc": clustering_accuracy(data.y, _whole(labels)),
        "nmi": normalized_mutual_information(data.y, _whole(labels)),
        "ari": float(adjusted_rand_score(data.y, labels)),
        "purity": purity(data.y, _whole(labels)),
        "n_found": len(np.unique(labels[labels >= 0])),
    }


def _whole(labels: Array) -> Array:
    """Return labels from 0; the samples that a method calls noise, -1, are one more cluster."""
    _, codes = np.unique(labels, return_inverse=True)
    return np.asarray(codes)


def _row(trial: Trial, data: TrialData, found: Row) -> Row:
    info, entrant = trial.data, trial.entrant
    return {
        "dataset": info.name,
        "data_sha256": info.sha256 or info.git_blob or "",
        "domain": info.domain,
        "n_samples": data.views.n_samples,
        "n_views": info.n_views,
        "n_features": info.n_features,
        "n_classes": data.n_classes,
        "method": entrant.name,
        "estimator": entrant.target,
        "parameters": json.dumps(entrant.parameters, sort_keys=True, default=str),
        "prepared": entrant.prepared,
        "condition": trial.condition,
        "seed": trial.seed,
        **_NO_FIGURES,
        **found,
        "protocol": trial.protocol.limits,
        **versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "key": trial.row_keys[0],
    }
