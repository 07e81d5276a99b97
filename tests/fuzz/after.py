"""What is done with a model after `fit`: explanations, plots, paths over parameters, the importance of views."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.base import is_classifier

import kernelweave
from kernelweave import explain, plots
from kernelweave.estimators._learned import LearnedClassifier, LearnedClusterer
from tests.fuzz.draw import Draw
from tests.fuzz.oracle import Outcome, judged, not_finite, wrong_with_fit
from tests.fuzz.tables import samples
from tests.fuzz.values import HOSTILE, labels

mpl.use("Agg")

OF_MODELS = [
    plots.plot_weights, plots.plot_graph, plots.plot_convergence, plots.plot_confidence, plots.plot_spectrum,
    plots.plot_evidence, plots.plot_embedding,
]  # fmt: skip
_GRIDS: list[Any] = [
    {"alpha": [1e-3, 1e-1]}, {"gamma": [0.1, 1], "alpha": [1e-5]}, {"beta": [0.1, 10]}, {"relative_beta": [0.1, 1]},
    {"alpha": np.array([1.0])}, {"gamma": [1e100]}, {"alpha": [1e-300, 1e300]}, {"gamma": (1e-12, 0.5)},
    {}, None, 3, "alpha", {"alpha": 3}, {"alpha": "ab"}, {"alpha": [None]}, {"alpha": [0, "1"]}, {"alpha": []},
    {"alpha": [np.nan]}, {"beta": [-1]}, {"n_clusters": [2, 3]}, {3: [1]}, [("alpha", [1])], {"alpha": {0.1: 1}},
    {"alpha": [[1], [2]]}, {"alpha": iter([1])}, {"beta": [1], "relative_beta": [1]}, {"gamma": [10**400]},
]  # fmt: skip


def later_calls(draw: Draw, model: Any, X: Any, y: Any, n: int) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcomes of a few calls that read a fitted model."""
    if isinstance(model, LearnedClusterer | LearnedClassifier) and draw.chance(0.06):
        yield "smkl_path", _path(draw, model, X, y)
    if draw.chance(0.12):
        name, call = draw.one(_EXPLAINED)
        yield name, judged(lambda: call(draw, model, X, n), _wrong_with_explanation)[0]
    if draw.chance(0.03):
        yield from _plots(draw, model, X, n)
    if draw.chance(0.02):
        yield "view_importance", judged(lambda: _importance(draw, model, X, y), _wrong_with_numbers)[0]


def _path(draw: Draw, model: Any, X: Any, y: Any) -> Outcome:
    grid = draw.one(_GRIDS[:8]) if draw.chance(0.5) else draw.one(_GRIDS)
    draw.notes.append(f"path over {grid!r}")
    wrong = judged(
        lambda: list(kernelweave.smkl_path(model, X, grid, y=y)),
        lambda path: next((found for one in path if (found := wrong_with_fit(one, None))), None),
    )
    return wrong[0]


def _importance(draw: Draw, model: Any, X: Any, y: Any) -> Any:
    more = {"n_resamples": draw.one([1, 2, 3]), "fraction": draw.one([0.5, 0.8, 1.0])}
    if draw.chance(0.3):
        more[draw.one(["n_resamples", "fraction", "random_state"])] = draw.one(HOSTILE)
    return kernelweave.view_importance(model, X, y, **more)


def _model_or_labels(draw: Draw, model: Any, n: int) -> Any:
    return model if draw.chance(0.6) else labels(draw, n)


def _table(draw: Draw, X: Any) -> Any:
    return X if draw.chance(0.7) else samples(draw)[0]


def _clusters(draw: Draw, model: Any, X: Any, n: int) -> Any:
    more: dict[str, Any] = {"test": draw.chance(0.3), "n_splits": 2}
    if draw.chance(0.2):
        more[draw.one(["test", "n_splits", "n_features", "random_state"])] = draw.one(HOSTILE)
    return explain.explain_clusters(_model_or_labels(draw, model, n), _table(draw, X), **more)


def _sample(draw: Draw, model: Any, X: Any, n: int) -> Any:
    more = {"n_neighbors": draw.one([1, 3, 10]), "n_features": draw.one([1, 5, None])}
    if draw.chance(0.2):
        more[draw.one(["n_neighbors", "n_features"])] = draw.one(HOSTILE)
    place = draw.integer(0, n - 1) if draw.chance(0.8) else draw.one([*HOSTILE, n])
    return explain.explain_sample(model, _table(draw, X), place, **more)


def _metadata(draw: Draw, model: Any, X: Any, n: int) -> Any:
    more: dict[str, Any] = {"n_permutations": draw.one([1, 9, 19])}
    if draw.chance(0.2):
        more[draw.one(["n_permutations", "random_state"])] = draw.one(HOSTILE)
    return explain.associate(_model_or_labels(draw, model, n), _table(draw, X), **more)


def _compared(draw: Draw, model: Any, X: Any, n: int) -> Any:
    more = {"names": draw.one([("a", "b"), ("", ""), *HOSTILE])} if draw.chance(0.2) else {}
    return explain.compare_clusterings(_model_or_labels(draw, model, n), _model_or_labels(draw, model, n), **more)


def _checked(draw: Draw, model: Any, X: Any, n: int) -> Any:
    more: dict[str, Any] = {"n_splits": 2}
    if draw.chance(0.2):
        more[draw.one(["n_splits", "random_state"])] = draw.one(HOSTILE)
    return explain.check_labels(model, _table(draw, X), labels(draw, n), **more)


_EXPLAINED: list[tuple[str, Callable[..., Any]]] = [
    ("explain_clusters", _clusters),
    ("explain_clusters", _clusters),
    ("explain_sample", _sample),
    ("associate", _metadata),
    ("compare_clusterings", _compared),
    ("check_labels", _checked),
]


def _wrong_with_explanation(found: Any) -> str | None:
    """Return what is wrong with an explanation: it cannot be stored, or its numbers are infinite."""
    if hasattr(found, "to_json"):
        text = json.dumps(found.to_json())
        if json.dumps(type(found).from_json(json.loads(text)).to_json()) != text:
            return f"a stored {type(found).__name__} differs"
        if "Infinity" in text:
            return f"infinite numbers in {type(found).__name__}"
    return None


def _wrong_with_numbers(found: Any) -> str | None:
    bad = list(not_finite(found, type(found).__name__))
    return f"not finite: {', '.join(bad[:4])}" if bad else None


def _plots(draw: Draw, model: Any, X: Any, n: int) -> Iterator[tuple[str, Outcome]]:
    """Draw one plot of the model, and one of an explanation of it."""
    plot = draw.one(OF_MODELS)
    more = {"labels": labels(draw, n)} if plot is plots.plot_embedding and draw.chance(0.4) else {}
    yield plot.__name__, _drawn(lambda: plot(model, **more))
    name = "label_distributions_" if is_classifier(model) else "membership_"
    if draw.chance(0.5) and hasattr(model, name):
        yield (
            "plot_contingency",
            _drawn(lambda: plots.plot_contingency(explain.compare_clusterings(model, labels(draw, n)))),
        )
    else:
        yield "plot_features", _drawn(lambda: plots.plot_features(explain.explain_clusters(model, X)))


def _drawn(call: Callable[[], Any]) -> Outcome:
    """Draw a figure to memory; what is wrong with it may come out only then."""
    import matplotlib.pyplot as plt

    try:
        return judged(call, lambda axes: axes.figure.canvas.draw())[0]
    finally:
        plt.close("all")
