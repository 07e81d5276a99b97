"""What was done, in sentences, and the code that does it again."""

from __future__ import annotations

import inspect
import platform
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave import __version__
from kernelweave._plural import sentence
from kernelweave._shares import percent
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity
from kernelweave.plots._style import counted
from kernelweave.report._facts import Facts, kernel_shares, view_shares
from kernelweave.samples.mixed_table import MixedTable
from kernelweave.samples.scaling import scaling_words

__all__ = ["agreement", "clarity_words", "settings", "snippet", "story", "versions"]

_SHOWN = 8  # names of columns in a sentence
_CLEAR = 0.5  # clarity below which the clusters themselves are in doubt


def story(model: BaseEstimator, facts: Facts) -> list[str]:
    """Return sentences that say what the model did with the samples and what it found."""
    kernels, views = kernel_shares(model), view_shares(model)
    sentences = [_compared(model, facts), *_left_out(model), *scaling_words(getattr(model, "scaling_", ()))]
    if (solver := getattr(model, "solver_", None)) is not None:
        sentences.append(f"The solver was {solver.name!r} ({solver.reason}).")
    if len(views) > 1:
        sentences.append(f"The view with the largest weight is {views[0].name}, with {percent(views[0].share, 1)}.")
    if len(kernels) > 1:
        sentences.append(
            f"The kernel with the largest weight is {kernels[0].name}, with {percent(kernels[0].share, 1)}."
        )
    if facts.within is not None:
        same = f"joins samples of the same {facts.kind}"
        sentences.append(f"In the learned graph, {percent(facts.within)} of the weight of the edges {same}.")
    sentences.append(_found(facts))
    if (evidence := getattr(model, "cluster_evidence_", None)) is not None:
        sentences.append(f"The number was chosen. {sentence(evidence.words)}")
    if (outcome := getattr(model, "outcome_", None)) is not None:
        sentences.append(f"The fit took {counted(model.n_iter_, 'iteration')}. {outcome.value}")
    return sentences


def clarity_words(model: BaseEstimator) -> list[str]:
    """Return a sentence that warns of clusters that do not stand out."""
    if getattr(model, "n_clusters_", 2) == 1 or getattr(model, "clarity_", 1.0) >= _CLEAR:
        return []  # of a single cluster, the evidence says why
    return [
        "The clusters hardly stand out from those of samples without structure: there may be no such groups. For this "
        "reason every confidence is low."
    ]


def _compared(model: BaseEstimator, facts: Facts) -> str:
    with_features = f" with {counted(facts.features, 'feature')}" if facts.features else ""
    views = len(getattr(model, "view_names_", ()))
    in_views = f" in {counted(views, 'view')}" if views > 1 else ""
    kernels = len(getattr(model, "kernel_names_", ()))
    by_kernels = f" by {counted(kernels, 'kernel')}" if kernels else ""
    return f"{counted(facts.n, 'sample')}{with_features}{in_views} {_were(facts.n)} compared{by_kernels}."


def _left_out(model: BaseEstimator) -> list[str]:
    """Return a sentence for every reason for which columns of a mixed table were left out."""
    sentences = []
    for source, reading in getattr(model, "readings_", {}).items():
        of = f" of {source!r}" if len(model.readings_) > 1 else ""
        reasons: dict[str, list[str]] = {}
        for name, reason in reading.left_out.items() if isinstance(reading, MixedTable) else ():
            reasons.setdefault(reason, []).append(name)
        for reason, names in reasons.items():
            shown = ", ".join(map(repr, names[:_SHOWN])) + (f" and {len(names) - _SHOWN} more" * (len(names) > _SHOWN))
            since = "since" if len(names) == 1 else "each since"
            many = f"{counted(len(names), 'column')}{of} {_were(len(names))}"
            sentences.append(f"{many} left out, {since} {reason}: {shown}.")
    return sentences


def _found(facts: Facts) -> str:
    sizes = [group.size for group in facts.groups]
    if min(sizes) < max(sizes):
        size = f"{min(sizes):,} to {max(sizes):,} samples"
    else:
        size = counted(sizes[0], "sample") + (" each" if len(sizes) > 1 else "")
    found = f"{counted(len(facts.names), facts.kind)} of {size} {_were(len(facts.names))} found"
    if facts.labelled is not None:
        found += f", from {counted(int(facts.labelled.sum()), 'label')}"
    return found + "."


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def agreement(facts: Facts) -> list[tuple[str, str]]:
    """Return scores against the true classes; of a classifier, over the samples whose label it was not given."""
    if facts.truth is None:
        return []
    found = np.array(facts.names, dtype=object)[facts.codes].astype(str)
    truth = facts.truth.astype(str)
    if facts.kind == "class":
        asked = np.ones(facts.n, dtype=bool) if facts.labelled is None else ~facts.labelled
        if not asked.any():
            return []
        which = "all samples" if facts.labelled is None else f"the {counted(int(asked.sum()), 'unlabelled sample')}"
        return [(f"Correct among {which}", percent(float(np.mean(found[asked] == truth[asked])), 1))]
    return [
        ("Accuracy", f"{clustering_accuracy(truth, found):.3f}"),
        ("Normalised mutual information", f"{normalized_mutual_information(truth, found):.3f}"),
        ("Purity", f"{purity(truth, found):.3f}"),
    ]


def settings(model: BaseEstimator) -> list[tuple[str, str, bool]]:
    """Return every parameter, its value, and whether it differs from the default."""
    return [(name, _shown(value), changed) for name, (value, changed) in _parameters(model).items()]


def _parameters(model: BaseEstimator) -> dict[str, tuple[Any, bool]]:
    """Return the value of every parameter, and whether it differs from the default."""
    given = model.get_params(deep=False)
    defaults = {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}
    return {name: (given[name], _shown(given[name]) != _shown(default)) for name, default in defaults.items()}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


def snippet(model: BaseEstimator, facts: Facts) -> str:
    """Return Python code that fits the same model again."""
    kind = type(model)
    given = {name: value for name, (value, changed) in _parameters(model).items() if changed}
    used = {kind}.union(*map(_classes, given.values()))
    imports = sorted(f"from {_package(each)} import {each.__name__}" for each in used)
    parameters = ", ".join(f"{name}={_shown(value)}" for name, value in given.items())
    fit = "model.fit(X, y)" if facts.kind == "class" else "model.fit(X)"
    return "\n".join([*imports, "", f"model = {kind.__name__}({parameters})", fit])


def _classes(value: object) -> set[type]:
    """Return the classes of this package in the value of a parameter: kernels and solvers, alone or in containers."""
    inner: list[object] = []
    if isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, list | tuple):
        inner = list(value)
    elif is_dataclass(value) and not isinstance(value, type):
        inner = [getattr(value, field.name) for field in fields(value)]
    own = {type(value)} if type(value).__module__.startswith("kernelweave.") else set()
    return own.union(*map(_classes, inner))


def _package(kind: type) -> str:
    """Return the outermost package that exports a class."""
    parts = kind.__module__.split(".")
    packages = [".".join(parts[:i]) for i in range(1, len(parts) + 1)]
    exports = (name for name in packages if getattr(sys.modules.get(name), kind.__name__, None) is kind)
    return next(exports, kind.__module__)


def versions() -> list[tuple[str, str]]:
    """Return the versions of Python, of kernelweave and of the packages it uses."""
    found = [("Python", platform.python_version()), ("kernelweave", __version__)]
    for name in ("numpy", "scipy", "scikit-learn"):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return found
