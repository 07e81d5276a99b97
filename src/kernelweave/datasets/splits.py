"""Random choices of the samples that keep their label."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from kernelweave._types import Array, Mask, RandomStateLike
from kernelweave.errors import InvalidInputError
from kernelweave.samples.labels import encode_labels

__all__ = ["label_split", "mask_labels"]

Codes: TypeAlias = npt.NDArray[np.intp]


def label_split(
    y: npt.ArrayLike,
    fraction: float,
    protocol: Literal["per-class", "same-positions", "uniform"] = "per-class",
    random_state: RandomStateLike = None,
) -> Mask:
    """Draw the samples that keep their label, and return them as a mask.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes: integers, strings or any other labels that can be sorted.
    fraction : float
        Share of the samples to label, above 0 and below 1.
    protocol : {"per-class", "same-positions", "uniform"}, default="per-class"
        How the samples are drawn.

        - "per-class": ``fraction`` of the samples of each class, rounded (halves up), at least one. Every class
          is labelled in proportion to its size.
        - "same-positions": as in the program released with the paper. One set of positions is drawn below the
          size m of the smallest class: ``fraction * m`` of them, rounded down, at least one. The samples at these
          positions (in the order of ``y``) are labelled in every class. All classes get the same number of labels, so
          with classes of unequal size fewer than ``fraction`` of all samples are labelled. If samples correspond
          across classes (the same pose, the same light), the draws vary more than with "per-class".
        - "uniform": ``fraction`` of all samples, rounded (halves up), at least one, regardless of their class.
          Small classes may get no label.
    random_state : int, RandomState or None, default=None
        Pass an int for the same draw at every call.

    Returns
    -------
    labelled : ndarray of bool of shape (n_samples,)
        True where the label is kept.

    Raises
    ------
    InvalidInputError
        If ``y``, ``fraction`` or ``protocol`` cannot be used.

    See Also
    --------
    mask_labels : The partially labelled copy of ``y`` that estimators take.

    Notes
    -----
    The released program cuts the file into c blocks of ``floor(n / c)`` samples and treats these as the classes.
    Here "same-positions" uses the labels instead. Both agree if the classes are sorted and of equal size (yale, ba,
    coil20); otherwise the blocks are not the classes.

    Examples
    --------
    >>> int(label_split(["a", "a", "b", "b"], 0.5, random_state=0).sum())
    2
    """
    _, codes = encode_labels(y, "y")
    if isinstance(fraction, bool) or not isinstance(fraction, Real) or not 0 < fraction < 1:
        msg = f"fraction must be a number above 0 and below 1, got {fraction!r}: 0.1 labels a tenth of the samples."
        raise InvalidInputError(msg)
    if protocol not in _PROTOCOLS:
        msg = f"There is no protocol {protocol!r}: choose one of {', '.join(_PROTOCOLS)}."
        raise InvalidInputError(msg)
    labelled = np.zeros(len(codes), dtype=bool)
    labelled[_PROTOCOLS[protocol](codes, float(fraction), check_random_state(random_state))] = True
    return labelled


def mask_labels(y: npt.ArrayLike, labelled: npt.ArrayLike, unlabelled: object = -1) -> Array:
    """Return a copy of the labels with a marker for every sample that is not labelled.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Classes of all samples.
    labelled : array-like of bool of shape (n_samples,)
        True where the label is kept, as returned by `label_split`.
    unlabelled : object, default=-1
        The marker. scikit-learn's semi-supervised estimators use -1.

    Returns
    -------
    y_partial : ndarray of shape (n_samples,)
        Int64 for integers and float64 for floats, if the marker is a number; else objects.

    Raises
    ------
    InvalidInputError
        If ``labelled`` is not a mask of the samples, or the marker is one of the classes.

    Examples
    --------
    >>> mask_labels([3, 4, 5], [True, False, True])
    array([ 3, -1,  5])
    """
    classes, codes = encode_labels(y, "y")
    mask = np.asarray(labelled)
    if mask.dtype != bool or mask.shape != codes.shape:
        msg = (
            f"labelled must be a boolean mask of shape {codes.shape}, got shape {mask.shape} of type {mask.dtype}: "
            "it is True where the label is kept."
        )
        raise InvalidInputError(msg)
    classes = classes.astype(_common_type(classes, unlabelled))
    if any(label == unlabelled for label in classes.tolist()):
        msg = f"The marker {unlabelled!r} is one of the classes of y: choose another value for unlabelled."
        raise InvalidInputError(msg)
    partial = classes[codes]
    partial[~mask] = unlabelled
    return partial


def _common_type(classes: Array, marker: object) -> type:
    if classes.dtype.kind in "biu" and isinstance(marker, Integral):
        return np.int64
    if classes.dtype.kind == "f" and isinstance(marker, Real):
        return np.float64
    return object


def _per_class(codes: Codes, fraction: float, rng: np.random.RandomState) -> Codes:
    members = [np.flatnonzero(codes == k) for k in range(codes.max() + 1)]
    return np.concatenate([rng.choice(m, _whole(fraction * len(m) + 0.5), replace=False) for m in members])


def _same_positions(codes: Codes, fraction: float, rng: np.random.RandomState) -> Codes:
    members = [np.flatnonzero(codes == k) for k in range(codes.max() + 1)]
    smallest = min(len(m) for m in members)
    positions = rng.choice(smallest, _whole(fraction * smallest), replace=False)
    return np.concatenate([m[positions] for m in members])


def _uniform(codes: Codes, fraction: float, rng: np.random.RandomState) -> Codes:
    return rng.choice(len(codes), _whole(fraction * len(codes) + 0.5), replace=False)


def _whole(count: float) -> int:
    # 0.29 * 100 is 28.999999999999996, which must not be rounded down to 28
    return max(1, int(count + 1e-9))


_PROTOCOLS: dict[str, Callable[[Codes, float, np.random.RandomState], Codes]] = {
    "per-class": _per_class,
    "same-positions": _same_positions,
    "uniform": _uniform,
}
