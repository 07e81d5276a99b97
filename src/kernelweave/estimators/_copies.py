"""A warning where copies of a sample are in different clusters."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from kernelweave._plural import counted
from kernelweave._types import Labels

__all__ = ["warn_of_split_copies"]


def warn_of_split_copies(
    labels: Labels, digests: NDArray[np.uint8], n_clusters: int, name: str, *, stacklevel: int
) -> None:
    """Warn if equal samples are in different clusters of the model of this name; `stacklevel` as in `warnings.warn`."""
    words = np.ascontiguousarray(digests).view("S16").ravel()
    _, first, group = np.unique(words, return_index=True, return_inverse=True)
    original = first[group]
    split = np.flatnonzero(labels != labels[original])
    if not len(split):
        return
    where = f"Copies of a sample are in different clusters (such as rows {original[split[0]]} and {split[0]})"
    if len(first) < n_clusters:
        why = f"there are only {counted(len(first), 'distinct sample')} for n_clusters={n_clusters}"
        cure = "Remove copies from X, or lower n_clusters."
    else:
        why, cure = f"{name} treats them as samples of their own", "Remove copies from X."
    warnings.warn(f"{where}: {why}. {cure}", ConvergenceWarning, stacklevel=stacklevel + 1)
