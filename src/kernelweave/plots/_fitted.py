"""What the plots read from a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Array
from kernelweave.errors import InvalidInputError
from kernelweave.samples.labels import encode_labels

__all__ = ["fits", "groups", "kernel_views", "learned"]

# The attributes that each plot needs: the model must have one of each row.
_NEEDS = {
    "plot_weights": (("kernel_shares_",), ("kernel_names_",)),
    "plot_graph": (("graph_",), ("labels_", "transduction_")),
    "plot_convergence": (("history_",), ("outcome_",)),
    "plot_confidence": (("confidence_", "label_distributions_"), ("labels_", "transduction_")),
    "plot_spectrum": (("eigenvalues_",), ("labels_", "transduction_")),
    "plot_evidence": (("cluster_evidence_",),),
    "plot_embedding": (("embedding_", "label_distributions_"), ("labels_", "transduction_")),
}


def learned(model: BaseEstimator, *names: str) -> tuple[str, Any]:
    """Return the first of the named attributes that the fitted model has, with its name."""
    check_is_fitted(model)
    for name in names:
        if hasattr(model, name):
            return name, getattr(model, name)
    msg = f"{_described(model)} has no {' or '.join(names)}, which this plot draws: {_instead(model)}."
    raise InvalidInputError(msg)


def fits(model: BaseEstimator, plot: str) -> bool:
    """Tell whether a fitted model has the attributes that a plot needs."""
    return all(any(hasattr(model, name) for name in row) for row in _NEEDS[plot])


def _described(model: BaseEstimator) -> str:
    solver = getattr(model, "solver_", None)
    return type(model).__name__ if solver is None else f"{type(model).__name__} with solver={solver.name!r}"


def _instead(model: BaseEstimator) -> str:
    possible = [plot for plot in _NEEDS if fits(model, plot)]
    return f"draw it with {' or '.join(possible)} instead" if possible else "kernelweave has no other plot for it"


def groups(model: BaseEstimator) -> tuple[str, Array, npt.NDArray[np.intp]]:
    """Return what the model calls its groups, their names, and the position of every sample's group among them."""
    name, labels = learned(model, "labels_", "transduction_")
    return "cluster" if name == "labels_" else "class", *encode_labels(labels, name)


def kernel_views(model: BaseEstimator, n_kernels: int) -> tuple[tuple[str, ...], npt.NDArray[np.intp]]:
    """Return the names of the model's views, and the position of every kernel's view among them."""
    names = tuple(getattr(model, "view_names_", ()))
    if len(names) < 2 or not hasattr(model, "kernel_views_"):
        return names[:1], np.zeros(n_kernels, dtype=np.intp)
    return names, np.array([names.index(view) for view in model.kernel_views_], dtype=np.intp)
