"""Check labels of any type and encode them as classes and codes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kernelweave._types import Array, LabelsLike, Mask
from kernelweave.errors import InvalidInputError
from kernelweave.samples.table import names_in, rows_by_name

__all__ = ["encode_labels", "in_sample_order"]


def encode_labels(y: LabelsLike, name: str) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return the sorted classes of ``y`` and, for every sample, the position of its class among them."""
    labels = _as_array(y, name)
    if labels.ndim != 1:
        msg = (
            f"{name} must be one-dimensional, got shape {labels.shape}: pass one label per sample "
            "(ravel() flattens a column)."
        )
        raise InvalidInputError(msg)
    if labels.size == 0:
        msg = f"{name} is empty: at least one label is needed."
        raise InvalidInputError(msg)
    missing = _missing(labels)
    if missing.any():
        noun = "sample" if labels.size == 1 else "samples"
        msg = (
            f"{name} has no label (NaN or None) at {missing.sum()} of {labels.size} {noun}, first at sample "
            f"{missing.argmax()}: drop these samples, or give them a separate class."
        )
        raise InvalidInputError(msg)
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        msg = f"{name} mixes labels that cannot be compared ({kinds}): use one type, for example all text."
        raise InvalidInputError(msg) from error
    return classes, codes


def in_sample_order(values: npt.ArrayLike, samples: Array | None, name: str) -> npt.ArrayLike:
    """Return entries in the order of a model's samples: a pandas Series is aligned by its index if both have names."""
    index = getattr(values, "index", None) if hasattr(values, "reindex") else None
    if samples is None or index is None or names_in(index) is None:
        return values
    rows, lacking = rows_by_name(index, samples)
    if lacking:
        msg = f"The index of {name} lacks the sample {lacking[0]!r}: name the samples as model.sample_names_ does."
        raise InvalidInputError(msg)
    ordered: npt.ArrayLike = np.asarray(values)[rows]
    return ordered


def _as_array(y: LabelsLike, name: str) -> Array:
    try:
        labels = np.asarray(y)
    except ValueError as error:
        msg = f"{name} must be a flat sequence, got rows of unequal length: pass one label per sample."
        raise InvalidInputError(msg) from error
    # numpy converts ["a", nan] to the text "nan" and ["a", 1] to "1"; an array of objects keeps both
    if labels.dtype.kind in "US" and not isinstance(y, np.ndarray):
        labels = np.asarray(y, dtype=object)
    return labels


def _missing(labels: Array) -> Mask:
    if labels.dtype.kind == "O":
        return np.array([_is_missing(label) for label in labels], dtype=bool)
    return np.asarray(labels != labels, dtype=bool)  # only NaN and NaT differ from themselves


def _is_missing(label: object) -> bool:
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA has no truth value
        return True
