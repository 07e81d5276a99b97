"""One case: an estimator, its parameters, its samples and labels; then `fit`, and calls that use the fitted model."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

import kernelweave
from kernelweave import baselines
from tests.fuzz.after import later_calls
from tests.fuzz.draw import Draw
from tests.fuzz.grams import kernels
from tests.fuzz.oracle import Outcome, judged, wrong_with_answer, wrong_with_fit
from tests.fuzz.tables import samples
from tests.fuzz.values import labels, parameters

ESTIMATORS = [
    cls
    for package in (kernelweave, baselines)
    for name in package.__all__
    if isinstance(cls := getattr(package, name), type) and issubclass(cls, BaseEstimator)
]
METHODS = ("predict", "predict_proba", "transform", "undecided")


@dataclass(frozen=True)
class Call:
    """One call and its outcome."""

    name: str
    outcome: Outcome


@dataclass(frozen=True)
class Case:
    """A model and its source of samples; `draw` goes on with the choices after it."""

    draw: Draw
    model: Any
    matrices: bool  # whether X holds kernels or distances

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.model.get_params(deep=False).items())
        return f"{type(self.model).__name__}({given})\n  {', '.join(self.draw.notes)}"


def make_case(seed: int, index: int) -> Case:
    """Return one case; the estimators take turns."""
    draw = Draw(seed, index)
    cls = ESTIMATORS[index % len(ESTIMATORS)]
    given = parameters(draw, cls)
    precomputed = draw.chance(0.3)
    word = next((name for name in ("kernels", "kernel") if name in cls().get_params()), None)
    if precomputed and word:
        given[word] = "distances" if "distances" in cls._of_matrices and draw.chance(0.5) else "precomputed"
        given.pop("views", None)
    if "solver" in cls().get_params() and draw.chance(0.6):
        given["solver"] = draw.one(["dense", "local", "landmark"])
    return Case(draw, cls(**given), bool(precomputed and word))


def run_case(case: Case) -> Iterator[Call]:
    """Run one case; every call of it is returned with its outcome."""
    draw, model = case.draw, case.model
    outcome, found = judged(lambda: kernels(draw) if case.matrices else samples(draw))
    if found is None:  # Views, Chunks and comparisons check what they are given
        yield Call("samples", outcome)
        return
    X, n = found
    y = labels(draw, n) if is_classifier(model) else None
    yield from _calls(draw, model, X, y, n)


def _calls(draw: Draw, model: Any, X: Any, y: Any, n: int) -> Iterator[Call]:
    before = _copied(X)
    outcome, fitted = judged(lambda: model.fit(X, y), lambda fitted: wrong_with_fit(fitted, None))
    if not outcome.is_bad and not _same(X, before):
        outcome = Outcome("wrong", "fit changed X")
    yield Call(f"{type(model).__name__}.fit", outcome)
    if fitted is None:
        return
    again = draw.chance(0.5)
    for method in METHODS:
        if hasattr(model, method):

            def answer(method: str = method) -> Any:
                return getattr(model, method)(X if again else _new(draw, X))

            found, _ = judged(answer, lambda a, m=method: wrong_with_answer(m, a, None))
            yield Call(f"{type(model).__name__}.{method}", found)
    if draw.chance(0.1):
        yield Call(f"{type(model).__name__}.save", judged(lambda: _saved(model), lambda same: same or None)[0])
    if draw.chance(0.1):
        yield Call(f"{type(model).__name__}.repr", judged(lambda: (repr(model), model._repr_html_()))[0])
    for name, outcome in later_calls(draw, model, X, y, n):
        yield Call(f"{name} of {type(model).__name__}", outcome)


def _new(draw: Draw, X: Any) -> Any:
    """Return samples that are not those of `fit`: others, or the same ones with a change."""
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and draw.chance(0.6):
        with np.errstate(all="ignore"):
            return X[: draw.integer(1, len(X))] * draw.one([1 + 1e-12, 1.01, -1, 0, 1e3, 1e150, 1e-150, 1e300])
    return samples(draw)[0]


def _saved(model: Any) -> str:
    """Save a model and load it; return what differs."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.kw")
        again = kernelweave.load(Path(folder) / "model.kw")
    name = "transduction_" if hasattr(model, "transduction_") else "labels_"
    same = np.array_equal(getattr(model, name), getattr(again, name))
    return "" if same and vars(again).keys() == vars(model).keys() else "a saved model differs"


def _copied(X: Any) -> Any:
    return copy.deepcopy(X) if isinstance(X, np.ndarray) or sparse.issparse(X) else None


def _same(X: Any, before: Any) -> bool:
    if before is None:
        return True
    if sparse.issparse(X):
        return X.shape == before.shape and repr(X) == repr(before) and (before != X).nnz == _nans(X)
    return X.dtype == before.dtype and X.tobytes() == before.tobytes()


def _nans(X: Any) -> int:
    data = X.tocoo().data
    return int(np.count_nonzero(data != data))
