"""Run one trial: fit within limits, score, and return the row with its provenance."""

from __future__ import annotations

import json
import os
import warnings
from datetime import UTC, datetime
from time import process_time

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from kernelweave._types import Array
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError
from kernelweave.experiments.commits import versions
from kernelweave.experiments.rows import Row
from kernelweave.leaderboard.contest_data import TrialData, prepare, trial_data
from kernelweave.leaderboard.limits import OutOfTimeError, PeakMemory, check_limits, limited
from kernelweave.leaderboard.trials import Trial
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity

__all__ = ["TRIAL_COLUMNS", "play"]

TRIAL_COLUMNS: dict[str, str] = {
    "dataset": "string", "data_sha256": "string", "domain": "string", "n_samples": "Int64", "n_views": "Int64",
    "n_features": "Int64", "n_classes": "Int64", "method": "string", "estimator": "string", "parameters": "string",
    "prepared": "string", "condition": "string", "seed": "Int64", "acc": "float64", "nmi": "float64", "ari": "float64",
    "purity": "float64", "n_found": "Int64", "seconds": "float64", "mib": "float64", "outcome": "string",
    "error": "string", "protocol": "string", "kernelweave": "string", "numpy": "string", "scipy": "string",
    "sklearn": "string", "python": "string", "commit": "string", "created": "string", "key": "string",
}  # fmt: skip

_NO_FIGURES: Row = {"acc": None, "nmi": None, "ari": None, "purity": None, "n_found": None}


def play(trial: Trial, data_home: str | os.PathLike[str] | None = None) -> list[Row]:
    """Return the row of a trial; BLAS runs on one thread.

    The outcome is "FINISHED", "MAX_ITER" if the method warned that it had not converged, "NOT FINISHED" at a limit,
    "REFUSED" if the method does not take such samples, or "FAILED".
    """
    check_limits()
    data = trial_data(trial.data.name, trial.condition, trial.seed, trial.protocol, data_home)
    X = prepare(trial.entrant, data)
    told = trial.condition != "unknown" and trial.entrant.role == "clusterer"
    model = trial.entrant.build(data.n_classes if told else None, trial.seed)
    found = _run(trial, model, X, data)
    return [_row(trial, data, found)]


def _run(trial: Trial, model: BaseEstimator, X: object, data: TrialData) -> Row:
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
