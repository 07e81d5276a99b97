"""The estimators that an experiment may name, and what each is fed."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.base import ClassifierMixin, ClusterMixin

import kernelweave
from kernelweave import baselines
from kernelweave.experiments import leak

__all__ = ["accepted_parameters", "build", "estimator_class", "known_estimators"]

_SET_BY_THE_RUNNER = {"n_clusters", "random_state", "n_jobs", "verbose"}


def known_estimators(kind: str) -> tuple[str, ...]:
    """Return the names of the estimators for a kind of experiment."""
    return tuple(_classes(kind))


def estimator_class(name: str, kind: str) -> type:
    """Return a public estimator by its name."""
    return _classes(kind)[name]


def accepted_parameters(name: str, kind: str) -> tuple[str, ...]:
    """Return the parameters that a file may set; the others follow from the data and the seed."""
    signature = inspect.signature(estimator_class(name, kind))
    return tuple(p for p in signature.parameters if p not in _SET_BY_THE_RUNNER)


def build(name: str, kind: str, given: str, parameters: dict[str, Any], *, n_classes: int, seed: int) -> Any:
    """Return the estimator for one setting, set up for precomputed kernels unless it is fed features."""
    cls = estimator_class(name, kind)
    known = inspect.signature(cls).parameters
    chosen = dict(parameters)
    if given != "features":
        word = "kernel" if given == "each-kernel" else "kernels"
        if word in known:
            chosen[word] = "precomputed"
    if "n_clusters" in known:
        chosen["n_clusters"] = n_classes
    if "random_state" in known:
        chosen["random_state"] = seed
    return cls(**chosen)


def _classes(kind: str) -> dict[str, type]:
    if kind == "leak":
        return {"SMKLClassifier": kernelweave.SMKLClassifier, "MisalignedSMKL": leak.MisalignedSMKL}
    public = {name: getattr(kernelweave, name) for name in kernelweave.__all__}
    public |= {name: getattr(baselines, name) for name in baselines.__all__}
    role = ClassifierMixin if kind == "classification" else ClusterMixin
    return {name: c for name, c in public.items() if isinstance(c, type) and issubclass(c, role)}
