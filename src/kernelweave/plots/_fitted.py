"""What the plots read from a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from kernelweave.errors import InvalidInputError
from kernelweave.samples.labels import encode_labels

__all__ = ["groups", "learned"]

# what every plot needs: of each row the model must have one
_NEEDS = {
    "plot_weights": (("kernel_shares_",), ("kernel_names_",)),
    "plot_graph": (("graph_",), ("labels_", "transduction_")),
    "plot_convergence": (("history_",), ("outcome_",)),
    "plot_confidence": (("confidence_", "label_distributions_"), ("labels_", "transduction_")),
    "plot_spectrum": (("eigenvalues_",), ("labels_", "transduction_")),
    "plot_evidence": (("cluster_evidence_",),),
    "plot_embedding": (("embedding_", "label_distributions_"), ("labels_", "transduction_")),
}


def learned(model: Any, *names: str) -> tuple[str, Any]:
    """Return the first of the named attributes that the fitted model has, with its name."""
    check_is_fitted(model)
    for name in names:
        if hasattr(model, name):
            return name, getattr(model, name)
    msg = f"{type(model).__name__} has no {' or '.join(names)}, which this plot draws: {_instead(model)}."
    raise InvalidInputError(msg)


def _instead(model: Any) -> str:
    possible = [plot for plot, rows in _NEEDS.items() if all(any(hasattr(model, a) for a in row) for row in rows)]
    return f"draw it with {' or '.join(possible)} instead" if possible else "no other plot of kernelweave fits it"


def groups(model: Any) -> tuple[str, npt.NDArray[Any], npt.NDArray[np.intp]]:
    """Return what the model calls its groups, their names, and the position of every sample's group among them."""
    name, labels = learned(model, "labels_", "transduction_")
    return "cluster" if name == "labels_" else "class", *encode_labels(labels, name)
