"""Partial labels: -1 is unlabelled, everything else is a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kernelweave._types import Array, LabelsLike
from kernelweave.errors import InvalidInputError

__all__ = ["encode_partial_labels"]


def encode_partial_labels(y: LabelsLike | None, *, n_samples: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes, and for every sample the position of its class, -1 if it is unlabelled.

    Among string labels, unlabelled samples may be the number -1 (in an object array) or the string "-1", to which numpy
    converts it in an array of strings.
    """
    if y is None:
        msg = "This estimator requires y to be passed, but the target y is None: give labels, -1 for unlabelled ones."
        raise InvalidInputError(msg)
    labels: Array = column_or_1d(y, warn=True)
    if len(labels) != n_samples:
        msg = f"y has {len(labels)} labels for {n_samples} samples: pass one per sample, -1 for the unlabelled ones."
        raise InvalidInputError(msg)
    unlabelled = (
        (labels == "-1") if labels.dtype.kind in "US" else np.array([value in (-1, "-1") for value in labels.tolist()])
    )
    labelled = np.flatnonzero(~unlabelled)
    if not len(labelled):
        msg = (
            f"All {n_samples} samples are unlabelled (-1): label at least one sample of each class, or use a clusterer."
        )
        raise InvalidInputError(msg)
    known = np.array(labels[labelled].tolist()) if labels.dtype.kind == "O" else labels[labelled]
    if known.dtype.kind == "f" and not np.isfinite(known).all():
        i = labelled[np.flatnonzero(~np.isfinite(known))[0]]
        msg = f"Input y contains NaN or infinity, first at sample {i}: mark unlabelled samples by -1."
        raise InvalidInputError(msg)
    check_classification_targets(known)
    classes, codes = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        msg = (
            f"The labelled samples are all of one class ({classes[0]!r}): at least two classes are needed to classify."
        )
        raise InvalidInputError(msg)
    encoded = np.full(n_samples, -1, dtype=np.intp)
    encoded[labelled] = codes
    return classes, encoded
