"""Partial labels in the order of the samples: what marks one as unlabelled, and the classes of the others."""

from __future__ import annotations

import textwrap
from numbers import Number
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from kernelweave._plural import counted
from kernelweave._types import Array, LabelsLike, Mask
from kernelweave.errors import InvalidInputError
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.table import counts_rows, counts_rows_elsewhere, rows_by_name
from kernelweave.samples.views import Views

__all__ = [
    "UNLABELLED_WORDS",
    "encode_partial_labels",
    "labelled_rows",
    "labels_in_order",
    "need_one_order",
    "read_labels",
]


_OTHER_NUMBERS = (
    "The rows of X are counted 0, 1, 2, ..., and the index of y has the same numbers in another order. Pass "
    "y.sort_index() if the numbers name the samples, or y.to_numpy() if its order is that of X."
)
UNLABELLED_WORDS = frozenset(
    ("not available", "not determined", "not known", "not labeled", "not labelled", "tbd", "unassigned", "unclassified",
     "undefined", "undetermined", "unknown", "unlabeled", "unlabelled", "unspecified")
)  # what classes are called that are none  # fmt: skip
_TRUTH = (bool, np.bool_)
_BLANK = ("", "-1", "nan")  # texts without a class; numpy and pandas turn -1 and NaN beside texts into the last two


def read_labels(y: LabelsLike | None, samples: Views | KernelStack, X: object) -> tuple[Array, NDArray[np.intp]]:
    """Return the classes, and for every sample the position of its class, -1 if it is unlabelled; samples are of X."""
    if y is not None and hasattr(y, "iloc"):  # a series, whose index may have the samples in another order
        need_one_order(X, y)
        y = labels_in_order(y, samples)
    return encode_partial_labels(y, n_samples=samples.n_samples)


def labels_in_order(y: LabelsLike, samples: Views | KernelStack) -> LabelsLike:
    """Return labels in the order of the samples: a series with an index is aligned by it if the samples have one.

    Beside data frames that only count rows, one with the same numbers in another order is refused.
    """
    index, iloc = getattr(y, "index", None), getattr(y, "iloc", None)
    if index is None or iloc is None:
        return y
    sample_names = samples.sample_names
    if samples.counted and len(index) == samples.n_samples and counts_rows_elsewhere(index):
        raise InvalidInputError(_OTHER_NUMBERS)
    if sample_names is None:
        return y
    rows, lacking = rows_by_name(index, sample_names)
    if lacking or not index.is_unique:
        what = f"lacks the sample {lacking[0]!r}" if lacking else "holds a sample more than once"
        n = len(sample_names)
        msg = f"The index of y {what}: give one label for each of the {n} samples, -1 for unlabelled ones."
        raise InvalidInputError(msg)
    ordered: LabelsLike = iloc[rows]
    return ordered


def need_one_order(X: object, y: object) -> None:
    """Refuse a series of labels whose index has the samples of one data frame in another order.

    Labels of one table are taken by position, as in scikit-learn, so that each would go to another sample.
    """
    index, names = getattr(X, "index", None), getattr(y, "index", None)
    if not (nw.dependencies.is_pandas_index(index) and nw.dependencies.is_pandas_index(names)):
        return
    if len(index) != len(names) or index.equals(names):
        return
    if counts_rows(index) and not names.is_unique:  # parts whose rows were counted each, one after the other
        return
    if index.is_unique and names.isin(index).all():
        if counts_rows(index):
            raise InvalidInputError(_OTHER_NUMBERS)
        msg = (
            "The index of y has the samples of X in another order: pass y.loc[X.index], or y.to_numpy() if its order "
            "is that of X."
        )
        raise InvalidInputError(msg)


def labelled_rows(y: LabelsLike) -> tuple[NDArray[np.intp], Array]:
    """Return the positions of the labels that are not missing, and these labels, all of one type."""
    labels: Array = column_or_1d(y if type(y) is np.ndarray else _as_array(y), warn=True)
    rows = np.flatnonzero(~_unlabelled(labels))
    if not len(rows):
        what = f"All {len(labels)} labels in y are" if len(labels) > 1 else "The only label in y is"
        msg = f"{what} missing (-1): a score needs the classes of some samples."
        raise InvalidInputError(msg)
    return rows, _known(labels, rows)


def encode_partial_labels(y: LabelsLike | None, *, n_samples: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes, and for every sample the position of its class, -1 if it is unlabelled.

    Unlabelled are -1, None, NaN, NA, NaT, masked labels, empty and blank strings, and the strings "-1" and "nan", to
    which numpy converts -1 and NaN in an array of strings. Integers next to NaN, which numpy and pandas cast to floats,
    are integers again.
    """
    if y is None:
        msg = "This estimator requires y to be passed, but the target y is None: give labels, -1 for unlabelled ones."
        raise InvalidInputError(msg)
    labels: Array = column_or_1d(y if type(y) is np.ndarray else _as_array(y), warn=True)
    if len(labels) != n_samples:
        got = f"{counted(len(labels), 'label')} for {counted(n_samples, 'sample')}"
        msg = f"y has {got}: pass one per sample, -1 for the unlabelled ones."
        raise InvalidInputError(msg)
    labelled = np.flatnonzero(~_unlabelled(labels))
    if not len(labelled):
        msg = (
            f"All {n_samples} samples are unlabelled (-1): label at least one sample of each class, or use a clusterer."
        )
        raise InvalidInputError(msg)
    known = _known(labels, labelled)
    if known.dtype.kind == "S":
        msg = f"The labels in y are bytes (such as {known[0]!r}), not text: pass y.astype(str), or integers."
        raise InvalidInputError(msg)
    check_classification_targets(known)
    classes, codes = np.unique(known, return_inverse=True)
    if len(classes) < 2:
        only = classes.tolist()[0]
        msg = f"The labelled samples are all of one class ({only!r}): at least two classes are needed to classify."
        raise InvalidInputError(msg)
    encoded = np.full(n_samples, -1, dtype=np.intp)
    encoded[labelled] = codes
    return classes, encoded


def _as_array(y: LabelsLike) -> LabelsLike:
    """Return labels in an array that keeps what is missing; masked labels are."""
    if isinstance(y, np.ma.MaskedArray):
        labels: Array = y.data.astype(object)
        labels[np.ma.getmaskarray(y)] = None
        return labels
    if isinstance(y, list | tuple):
        try:
            labels = np.asarray(y)
        except ValueError:  # some labels are sequences, which are refused
            return np.asarray(y, dtype=object)
        # numpy converts ["a", nan] to "nan", ["a", 1] to "1", and True beside -1 to 1; an array of objects keeps all
        cast = labels.dtype.kind in "US" or (labels.dtype.kind in "iuf" and any(isinstance(one, _TRUTH) for one in y))
        return np.asarray(y, dtype=object) if cast else labels
    if isinstance(getattr(y, "dtype", None), np.dtype):
        return y
    # categories and other types of pandas and polars, whose missing values scikit-learn does not convert
    return np.asarray(y) if hasattr(y, "dtype") else y


def _unlabelled(labels: Array) -> Mask:
    kind = labels.dtype.kind
    if kind in "OT":  # T is StringDType, which scikit-learn's checks do not take
        return np.array([_is_blank(label) for label in labels.tolist()], dtype=bool)
    if kind in "US":
        return np.isin(np.char.strip(labels), np.array(_BLANK, dtype=labels.dtype.kind))
    missing: Mask = labels != labels  # only NaN and NaT differ from themselves
    return missing if kind in "mM" else missing | (labels == -1)


def _is_blank(label: object) -> bool:
    try:
        text = label.strip() if isinstance(label, str) else label
        return text is None or bool(text != text) or text in (-1, *_BLANK)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # nor has an array, which is no class either
        return False


def _known(labels: Array, labelled: NDArray[np.intp]) -> Array:
    """Return the labels of the labelled samples, all of one type."""
    known = labels[labelled]
    if labels.dtype.kind in "OT":
        _need_one_type(known, labelled)
        known = _plain(known, labelled)
    if known.dtype.kind != "f":
        return known
    if np.isinf(known).any():
        i = labelled[np.flatnonzero(np.isinf(known))[0]]
        msg = f"Input y contains infinity, first at sample {i}: mark unlabelled samples by -1 or NaN."
        raise InvalidInputError(msg)
    cast = labels.dtype.kind == "O" or bool(np.isnan(labels).any())
    return known.astype(np.int64) if cast and (known == np.rint(known)).all() else known


def _plain(known: Array, labelled: NDArray[np.intp]) -> Array:
    """Return labels that are Python objects in an array of numbers or texts, or refuse them."""
    first = known[0]
    found = np.array(known.tolist()) if np.ndim(first) == 0 else known
    if found.dtype.kind == "O":
        msg = (
            f"The labels in y cannot be classes: sample {labelled[0]} has {textwrap.shorten(repr(first), 60)}, of type "
            f"{type(first).__name__}. Pass one text or number per sample, such as y.astype(str)."
        )
        raise InvalidInputError(msg)
    return found


def _need_one_type(known: Array, labelled: NDArray[np.intp]) -> None:
    """Refuse numbers next to texts, which numpy would cast to texts."""
    first, kind = known[0], _kind(known[0])
    for i, label in zip(labelled, known, strict=True):
        if _kind(label) is not kind:
            msg = (
                f"y mixes labels of types {type(first).__name__} and {type(label).__name__}: {first!r} at sample "
                f"{labelled[0]}, {label!r} at sample {i}. Use one type for all classes, such as text."
            )
            raise InvalidInputError(msg)


def _kind(label: object) -> type:
    if isinstance(label, _TRUTH):
        return bool
    return next((kind for kind in (str, bytes, Number) if isinstance(label, kind)), type(label))
