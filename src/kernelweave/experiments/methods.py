"""The estimators that an experiment may use."""

from __future__ import annotations

import inspect

from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin

import kernelweave
from kernelweave import baselines
from kernelweave.experiments import leak
from kernelweave.experiments.choices import Input, Kind, Parameters
from kernelweave.plugins import load_method, plugin_names

__all__ = ["accepted_parameters", "build", "estimator_class", "known_estimators", "shares_a_fit"]

_SET_BY_THE_RUNNER = {"n_clusters", "random_state", "n_jobs", "verbose"}


def known_estimators(kind: Kind) -> tuple[str, ...]:
    """Return the names of the estimators for a kind of experiment, and those of all plugins."""
    own = _classes(kind)
    return (*own, *(name for name in plugin_names("methods") if name not in own))


def estimator_class(name: str, kind: Kind) -> type[BaseEstimator]:
    """Return a public estimator, or one of a plugin, by its name."""
    own = _classes(kind)
    return own[name] if name in own else load_method(name, _role(kind))


def accepted_parameters(name: str, kind: Kind) -> tuple[str, ...]:
    """Return the parameters that a file may set; the runner sets the others from the data and the seed."""
    signature = inspect.signature(estimator_class(name, kind))
    return tuple(p for p in signature.parameters if p not in _SET_BY_THE_RUNNER)


def build(name: str, kind: Kind, given: Input, parameters: Parameters, *, n_classes: int, seed: int) -> BaseEstimator:
    """Return the estimator for one setting, with precomputed kernels unless its input is the features."""
    cls = estimator_class(name, kind)
    known = inspect.signature(cls).parameters
    chosen = dict(parameters)
    if given != "features":
        word = "kernels" if given == "kernels" else "kernel"
        if word in known:
            chosen[word] = "precomputed"
    if "n_clusters" in known:
        chosen["n_clusters"] = n_classes
    if "random_state" in known:
        chosen["random_state"] = seed
    return cls(**chosen)


def _classes(kind: Kind) -> dict[str, type[BaseEstimator]]:
    if kind == "leak":
        return {"SMKLClassifier": kernelweave.SMKLClassifier, "MisalignedSMKL": leak.MisalignedSMKL}
    public = {name: getattr(kernelweave, name) for name in kernelweave.__all__}
    public |= {name: getattr(baselines, name) for name in baselines.__all__}
    role = _role(kind)
    return {name: c for name, c in public.items() if isinstance(c, type) and issubclass(c, role)}


def _role(kind: Kind) -> type:
    role: type = ClassifierMixin if kind in ("classification", "leak") else ClusterMixin
    return role


def shares_a_fit(cls: type[BaseEstimator], parameters: Parameters) -> bool:
    """Return whether the seed only affects k-means, so that `labels_for` replaces another fit.

    The scheme "printed" starts from a random graph: each of its repeats needs a fit.
    """
    return hasattr(cls, "labels_for") and parameters.get("scheme") != "printed"
