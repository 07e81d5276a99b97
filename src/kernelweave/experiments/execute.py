"""One task, in a worker: fits, scores, and rows with their provenance."""

from __future__ import annotations

import json
import platform
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np
import scipy
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import kernelweave
from kernelweave import smkl_path
from kernelweave.core.graphs.affinity import modularity
from kernelweave.datasets import label_split, mask_labels
from kernelweave.experiments.data import Samples
from kernelweave.experiments.methods import build, estimator_class
from kernelweave.experiments.sharing import labels_for_seed, shares_a_fit
from kernelweave.experiments.store import SharedData, open_kernels, open_samples
from kernelweave.experiments.tasks import Point, Task
from kernelweave.kernels import recipe
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity

__all__ = ["run_task"]

Row = dict[str, Any]
_NO_FIGURES: Row = {"acc": None, "nmi": None, "purity": None, "evidence": None, "undecided": None}


def run_task(task: Task, shared: SharedData) -> list[Row]:
    """Return the rows of a task; a fit that fails gives rows with the reason. BLAS runs on one thread."""
    samples = open_samples(shared.samples(task.data.name))
    if task.method is None:
        return [_row(task, 0, 0.0, _shape(samples))]
    with threadpool_limits(1):
        runs = _path(task, samples, shared) if task.path else _each(task, samples, shared)
        rows = {i: _row(task, i, seconds, found) for i, seconds, found in runs}
    return [rows[i] for i in range(len(task.points))]


def _each(task: Task, samples: Samples, shared: SharedData) -> Iterator[tuple[int, float, Row]]:
    """Yield index, seconds and figures of every point, fitted on its own; repeats of a setting may share the fit."""
    model, setting = None, None
    for i, point in enumerate(task.points):
        X = _input(task, point, samples, shared)
        begun = perf_counter()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                if model is not None and setting == point.parameters and _shared_fit(task, point):
                    found = _score_clusters(model, labels_for_seed(model, point.seed), samples.y)
                else:
                    labelled = _labelled(task, point, samples.y)
                    model = _model(task, point).fit(X, None if labelled is None else mask_labels(samples.y, labelled))
                    setting = point.parameters
                    found = _score(model, samples.y, labelled)
            found |= _end(model, caught)
        except Exception as error:  # whatever it is, the other tasks go on and the row tells
            model, found = None, _failure(error)
        yield i, perf_counter() - begun, found


def _path(task: Task, samples: Samples, shared: SharedData) -> Iterator[tuple[int, float, Row]]:
    """Yield the same for a path over alpha, each setting started from the one before; after a failure, from afresh."""
    first = task.points[0]
    X, labelled = _input(task, first, samples, shared), _labelled(task, first, samples.y)
    y = None if labelled is None else mask_labels(samples.y, labelled)
    alphas = list(dict.fromkeys(point.parameters["alpha"] for point in task.points))
    while alphas:
        models = smkl_path(_model(task, first), X, {"alpha": alphas}, y=y)
        while alphas:
            begun = perf_counter()
            points = [(i, point) for i, point in enumerate(task.points) if point.parameters["alpha"] == alphas[0]]
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model = next(models)
            except Exception as error:
                alphas.pop(0)
                yield from ((i, perf_counter() - begun, _failure(error)) for i, _ in points)
                break
            alphas.pop(0)
            for i, point in points:
                found = _score(model, samples.y, labelled)
                if labelled is None and point.seed != first.seed:
                    found = _score_clusters(model, labels_for_seed(model, point.seed), samples.y)
                yield i, perf_counter() - begun, found | _end(model, caught)
                begun = perf_counter()


def _shared_fit(task: Task, point: Point) -> bool:
    parameters = {**task.method.parameters, **point.parameters}
    return task.fraction is None and shares_a_fit(estimator_class(task.method.estimator, task.kind), parameters)


def _input(task: Task, point: Point, samples: Samples, shared: SharedData) -> Any:
    if task.method.input == "features":
        return samples.X
    kernels = open_kernels(shared.kernels(task.data.name, task.method.kernels))
    if task.method.input == "kernels":
        return kernels
    return kernels[recipe(task.method.kernels).names.index(point.kernel)]


def _model(task: Task, point: Point) -> Any:
    method = task.method
    parameters = {**method.parameters, **point.parameters}
    return build(
        method.estimator, task.kind, method.input, parameters, n_classes=task.data.n_classes, seed=point.seed
    )  # fmt: skip


def _labelled(task: Task, point: Point, y: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    if task.fraction is None:
        return None
    return label_split(y, task.fraction, task.protocol, point.seed)


def _score(model: Any, y: NDArray[np.int64], labelled: NDArray[np.bool_] | None) -> Row:
    if labelled is None:
        return _score_clusters(model, model.labels_, y)
    right = (model.transduction_ == y)[~labelled]
    undecided = int(model.undecided_.sum()) if hasattr(model, "undecided_") else None
    return {"acc": float(right.mean()), "undecided": undecided}


def _score_clusters(model: Any, labels: NDArray[Any], y: NDArray[np.int64]) -> Row:
    return {
        "acc": clustering_accuracy(y, labels),
        "nmi": normalized_mutual_information(y, labels),
        "purity": purity(y, labels),
        "evidence": _evidence(model, labels),
    }


def _evidence(model: Any, labels: NDArray[Any]) -> float | None:
    """Return what speaks for a setting without labels: the modularity of its clusters on its own graph."""
    if not hasattr(model, "graph_"):
        return None
    return modularity(sparse.csr_array(model.graph_), labels)


def _shape(samples: Samples) -> Row:
    n, d = samples.X.shape
    return {"n_samples": n, "n_features": d, "n_classes": len(np.unique(samples.y)), "outcome": "CONVERGED"}


def _end(model: Any, caught: list[warnings.WarningMessage]) -> Row:
    short = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    outcome = model.outcome_.name if hasattr(model, "outcome_") else ("MAX_ITER" if short else "CONVERGED")
    n_iter = getattr(model, "n_iter_", None)
    return {"outcome": outcome, "n_iter": None if n_iter is None else int(n_iter)}


def _failure(error: Exception) -> Row:
    return {"outcome": "FAILED", "error": f"{type(error).__name__}: {error}"}


def _row(task: Task, i: int, seconds: float, found: Row) -> Row:
    point, method, data = task.points[i], task.method, task.data
    parameters = {**method.parameters, **point.parameters} if method else {}
    return {
        "experiment": task.experiment,
        "preset": task.preset,
        "dataset": data.name,
        "data_sha256": data.sha256,
        "n_samples": data.n_samples,
        "n_features": data.n_features,
        "n_classes": data.n_classes,
        "method": method.name if method else "data",
        "estimator": method.estimator if method else "",
        "selection": method.selection if method else "",
        "parameters": json.dumps(parameters, sort_keys=True),
        "kernel": point.kernel,
        "seed": point.seed,
        "split": task.protocol or "",
        "fraction": task.fraction,
        **_NO_FIGURES,
        "n_iter": None,
        "error": "",
        **found,
        "seconds": seconds,
        **_versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "key": task.row_keys[i],
    }


@cache
def _versions() -> Row:
    return {
        "kernelweave": kernelweave.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "sklearn": sklearn.__version__,
        "python": platform.python_version(),
    }
