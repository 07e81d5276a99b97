"""The groups that are explained: those of a fitted model, or labels."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Array, LabelsLike
from kernelweave.errors import InvalidInputError
from kernelweave.samples.labels import encode_labels
from kernelweave.samples.table import names_in

__all__ = ["Estimator", "Grouped", "groups_of", "sample_names"]


@runtime_checkable
class Estimator(Protocol):
    """An estimator of this package or of scikit-learn, as told from an array of labels."""

    def get_params(self, deep: bool = ...) -> dict[str, Any]:
        """Return its parameters by name."""


Grouped: TypeAlias = Estimator | LabelsLike  # a fitted model, or the label of every sample


def groups_of(model: Grouped) -> tuple[str, Array, NDArray[np.intp]]:
    """Return what the groups are called, their names, and the position of every sample's group among them."""
    if not isinstance(model, Estimator):
        return "cluster", *encode_labels(model, "labels")
    check_is_fitted(model)
    for name, kind in (("labels_", "cluster"), ("transduction_", "class")):
        if hasattr(model, name):
            return kind, *encode_labels(getattr(model, name), name)
    msg = f"{type(model).__name__} has neither labels_ nor transduction_: pass a clusterer, a classifier, or labels."
    raise InvalidInputError(msg)


def sample_names(model: Grouped) -> Array | None:
    """Return the names of the samples: those of a fitted model, or the index of a series of labels; None if unnamed."""
    if isinstance(model, Estimator):
        return getattr(model, "sample_names_", None)
    index = getattr(model, "index", None)
    return names_in(index) if hasattr(index, "get_indexer") else None
