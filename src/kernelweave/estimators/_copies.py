"""A warning where copies of a sample are in different clusters."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kernelweave._plural import counted

__all__ = ["warn_of_split_copies"]


def warn_of_split_copies(model: Any, digests: NDArray[np.uint8], *, stacklevel: int) -> None:
    """Warn if a fitted clusterer has equal samples in different clusters; `stacklevel` as in `warnings.warn`."""
    words = np.ascontiguousarray(digests).view("S16").ravel()
    _, first, group = np.unique(words, return_index=True, return_inverse=True)
    original = first[group]
    split = np.flatnonzero(model.labels_ != model.labels_[original])
    if not len(split):
        return
    where = f"Copies of a sample are in different clusters (such as rows {original[split[0]]} and {split[0]})"
    if len(first) < model.n_clusters:
        why = f"there are only {counted(len(first), 'distinct sample')} for n_clusters={model.n_clusters}"
        cure = "Remove copies from X, or lower n_clusters."
    else:
        why, cure = f"{type(model).__name__} treats them as samples of their own", "Remove copies from X."
    warnings.warn(f"{where}: {why}. {cure}", ConvergenceWarning, stacklevel=stacklevel + 1)
