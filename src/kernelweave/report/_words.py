"""What was done, in words, and the code that does it again."""

from __future__ import annotations

import inspect
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from kernelweave.metrics import clustering_accuracy, normalized_mutual_information, purity
from kernelweave.plots._style import counted
from kernelweave.report._facts import Facts

__all__ = ["agreement", "settings", "snippet", "story", "versions"]


def story(model: Any, facts: Facts) -> list[str]:
    """Return sentences that say what the model did with the samples and what it found."""
    features = getattr(model, "n_features_in_", None)
    names = getattr(model, "kernel_names_", ())
    given = f"{facts.n:,} samples" + (
        f" with {counted(features, 'feature')}" if features and features != facts.n else ""
    )
    told = [f"{given} were compared by {counted(len(names), 'kernel')}." if names else f"{given} were compared."]
    if (scaling := getattr(model, "scaling_", None)) is not None and hasattr(scaling, "method"):
        what = {"unit": "scaled to unit length", "zscore": "standardised column by column", "none": "taken as they are"}
        told.append(f"They were {what[scaling.method]}, since {scaling.reason}.")
    if (shares := getattr(model, "kernel_shares_", None)) is not None and len(names) > 1:
        top = int(np.argmax(shares))
        told.append(f"The consensus of the kernels leans most on {names[top]}, with {shares[top]:.1%} of the weight.")
    if facts.within is not None:
        told.append(
            f"On the graph learned from it, {facts.within:.0%} of the weight of the edges lies within {_many(facts)}."
        )
    told.append(_found(model, facts))
    if (outcome := getattr(model, "outcome_", None)) is not None:
        told.append(f"The solver ran {counted(model.n_iter_, 'iteration')}: {outcome.value}")
    return told


def _found(model: Any, facts: Facts) -> str:
    sizes = [group.size for group in facts.groups]
    span = f"{min(sizes):,} samples each" if min(sizes) == max(sizes) else f"{min(sizes):,} to {max(sizes):,} samples"
    found = f"{counted(len(facts.names), facts.kind)} of {span} were found"
    if hasattr(model, "cluster_evidence_"):
        found += ", a number chosen from the data"
    if facts.labelled is not None:
        found += f", from {counted(int(facts.labelled.sum()), 'label')}"
    return found + "."


def _many(facts: Facts) -> str:
    return facts.kind + ("es" if facts.kind.endswith("s") else "s")


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
        whose = "all samples" if facts.labelled is None else f"the {asked.sum():,} unlabelled samples"
        return [(f"Recognised among {whose}", f"{np.mean(found[asked] == truth[asked]):.1%}")]
    return [
        ("Accuracy", f"{clustering_accuracy(truth, found):.3f}"),
        ("Normalised mutual information", f"{normalized_mutual_information(truth, found):.3f}"),
        ("Purity", f"{purity(truth, found):.3f}"),
    ]


def settings(model: Any) -> list[tuple[str, str, bool]]:
    """Return every parameter, its value, and whether it differs from the default."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}
    given = {name: model.get_params(deep=False)[name] for name in defaults}
    return [(name, _shown(value), _shown(value) != _shown(defaults[name])) for name, value in given.items()]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


def snippet(model: Any, facts: Facts) -> str:
    """Return Python code that fits the same model again."""
    kind = type(model)
    module = "kernelweave" if kind.__module__.startswith("kernelweave.estimators") else kind.__module__
    given = [f"{name}={value}" for name, value, changed in settings(model) if changed]
    labels = "X, y" if facts.kind == "class" else "X"
    lines = [f"from {module} import {kind.__name__}", "", f"model = {kind.__name__}({', '.join(given)})"]
    return "\n".join([*lines, f"model.fit({labels})"])


def versions() -> list[tuple[str, str]]:
    """Return the versions that made the report."""
    found = [("Python", platform.python_version())]
    for name in ("kernelweave", "numpy", "scipy", "scikit-learn", "matplotlib"):
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return found
