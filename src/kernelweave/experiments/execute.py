"""Execution of one task in a worker: fits, scores, and rows with their provenance."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelweave import smkl_path
from kernelweave._types import Array, Mask, Samples
from kernelweave.baselines.self_expression import FirstRounds, SelfExpressiveClassifier
from kernelweave.core.partitions.agreement import modularity
from kernelweave.datasets import label_split, mask_labels
from kernelweave.experiments.choices import Parameters
from kernelweave.experiments.commits import versions
from kernelweave.experiments.data import LabelledSamples
from kernelweave.experiments.methods import build, estimator_class, shares_a_fit
from kernelweave.experiments.rows import Row
from kernelweave.experiments.spec import Method
from kernelweave.experiments.store import SharedData, open_kernels, open_samples
from kernelweave.experiments.tasks import Point, Task
from kernelweave.kernels import recipe
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity

__all__ = ["run_task"]

Classes = NDArray[np.int64]
_NO_FIGURES: Row = {"acc": None, "nmi": None, "purity": None, "evidence": None, "undecided": None}


def run_task(task: Task, shared: SharedData) -> list[Row]:
    """Return the rows of a task; a fit that fails gives a row with the reason. BLAS runs on one thread."""
    samples = open_samples(shared.samples(task.data.name, task.preprocessing))
    if task.method is None:
        return [_row(task, 0, 0.0, _shape(samples))]
    work = _Work(task, task.method, samples, shared)
    with threadpool_limits(1):
        runs = _path(work) if task.path else _each(work)
        rows = {i: _row(task, i, seconds, found) for i, seconds, found in runs}
    return [rows[i] for i in range(len(task.points))]


@dataclass(frozen=True, slots=True)
class _Work:
    """A task with its method, samples and kernels."""

    task: Task
    method: Method
    samples: LabelledSamples
    shared: SharedData

    def parameters(self, point: Point) -> Parameters:
        return {**self.method.parameters, **point.parameters}

    def shares_a_fit(self, point: Point) -> bool:
        cls = estimator_class(self.method.estimator, self.task.kind)
        return self.task.fraction is None and shares_a_fit(cls, self.parameters(point))

    def input(self, point: Point) -> Samples:
        """Return the features, all kernels, their mean, or the one kernel of a point."""
        if self.method.input == "features":
            return self.samples.X
        task = self.task
        kernels = open_kernels(self.shared.kernels(task.data.name, self.method.kernels, task.preprocessing))
        if self.method.input == "kernels":
            return kernels
        if self.method.input == "mean-kernel":
            return np.mean(kernels, axis=0)
        bank = self.method.kernels
        return kernels[recipe(bank).names.index(point.kernel.removesuffix(f" of {bank}"))]

    def model(self, point: Point) -> BaseEstimator:
        model = build(
            self.method.estimator,
            self.task.kind,
            self.method.input,
            self.parameters(point),
            n_classes=self.task.data.n_classes,
            seed=point.seed,
        )
        _share_first_rounds(model, self.shared.samples(self.task.data.name, self.task.preprocessing))
        return model

    def labelled(self, point: Point) -> Mask | None:
        """Return the mask of the labelled samples, or None if no labels are given."""
        if self.task.fraction is None or self.task.protocol is None:
            return None
        return label_split(self.samples.y, self.task.fraction, self.task.protocol, point.seed)

    def known(self, labelled: Mask | None) -> Array | None:
        """Return y with the other labels masked."""
        return None if labelled is None else mask_labels(self.samples.y, labelled)


def _each(work: _Work) -> Iterator[tuple[int, float, Row]]:
    """Yield index, seconds and figures of every point; repeats of a setting share a fit where they can."""
    model, setting = None, None
    caught: list[warnings.WarningMessage] = []  # of the last fit: repeats that share it share its outcome
    for i, point in enumerate(work.task.points):
        X = work.input(point)
        begun = perf_counter()
        try:
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                if model is not None and setting == point.parameters and work.shares_a_fit(point):
                    found = _score_clusters(model, model.labels_for(point.seed), work.samples.y)
                else:
                    labelled = work.labelled(point)
                    model = work.model(point).fit(X, work.known(labelled))
                    setting, caught = point.parameters, heard
                    found = _score(model, work.samples.y, labelled)
                found |= _end(model, caught)
                found |= _confirmed(work, point, model, X, found)
        except Exception as error:  # any error becomes a row, so that the other tasks still run
            model, found = None, _failure(error)
        yield i, perf_counter() - begun, found


def _path(work: _Work) -> Iterator[tuple[int, float, Row]]:
    """Yield the same for a path over alpha with warm starts; after a failure the path is started again."""
    points = work.task.points
    first = points[0]
    X, labelled = work.input(first), work.labelled(first)
    alphas = list(dict.fromkeys(point.parameters["alpha"] for point in points))
    while alphas:
        models = smkl_path(work.model(first), X, {"alpha": alphas}, y=work.known(labelled))
        while alphas:
            begun = perf_counter()
            here = [(i, point) for i, point in enumerate(points) if point.parameters["alpha"] == alphas[0]]
            try:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model = next(models)
            except Exception as error:
                alphas.pop(0)
                yield from ((i, perf_counter() - begun, _failure(error)) for i, _ in here)
                break
            alphas.pop(0)
            for i, point in here:
                if labelled is None and point.seed != first.seed:
                    found = _score_clusters(model, model.labels_for(point.seed), work.samples.y)
                else:
                    found = _score(model, work.samples.y, labelled)
                yield i, perf_counter() - begun, found | _end(model, caught)
                begun = perf_counter()


def _confirmed(work: _Work, point: Point, model: BaseEstimator, X: Samples, found: Row) -> Row:
    """Return the share of labels that differ after twice as many iterations, for a run that stopped at max_iter."""
    if not work.method.confirm or found["outcome"] != "MAX_ITER":
        return {}
    labelled = work.labelled(point)
    more = work.model(point).set_params(max_iter=2 * model.max_iter).fit(X, work.known(labelled))
    if labelled is None:
        return {"moved": 1 - clustering_accuracy(model.labels_for(point.seed), more.labels_)}
    return {"moved": float((model.transduction_ != more.transduction_)[~labelled].mean())}


def _score(model: BaseEstimator, y: Classes, labelled: Mask | None) -> Row:
    if labelled is None:
        return _score_clusters(model, model.labels_, y)
    right = (model.transduction_ == y)[~labelled]
    undecided = int(model.undecided_.sum()) if hasattr(model, "undecided_") else None
    return {"acc": float(right.mean()), "undecided": undecided}


def _score_clusters(model: BaseEstimator, labels: Array, y: Classes) -> Row:
    return {
        "acc": clustering_accuracy(y, labels),
        "nmi": normalized_mutual_information(y, labels),
        "purity": purity(y, labels),
        "evidence": _evidence(model, labels),
    }


def _evidence(model: BaseEstimator, labels: Array) -> float | None:
    """Return the modularity of the clusters on the model's own graph: a criterion that uses no labels."""
    if not hasattr(model, "graph_"):
        return None
    return modularity(sparse.csr_array(model.graph_), labels)


def _shape(samples: LabelledSamples) -> Row:
    n, d = samples.X.shape
    return {"n_samples": n, "n_features": d, "n_classes": len(np.unique(samples.y)), "outcome": "CONVERGED"}


def _end(model: BaseEstimator, caught: list[warnings.WarningMessage]) -> Row:
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
        "preprocessing": task.preprocessing,
        "seed": point.seed,
        "split": task.protocol or "",
        "fraction": task.fraction,
        **_NO_FIGURES,
        "n_iter": None,
        "moved": None,
        "error": "",
        **found,
        "seconds": seconds,
        **versions(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "key": task.row_keys[i],
    }


def _share_first_rounds(model: BaseEstimator, samples: Path) -> None:
    """Let the models of a process that learn codes of the same samples compute those without labels once."""
    if isinstance(model, SelfExpressiveClassifier):
        model.share_first_rounds(_first_rounds(samples))


@lru_cache(maxsize=2)  # of a data set with 1400 samples a dozen take half a gigabyte
def _first_rounds(samples: Path) -> FirstRounds:
    return {}
