"""How large and how small numbers may be, so that their squares, and sums of these, are numbers too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from kernelweave._types import Array, Samples
from kernelweave.errors import InvalidInputError

__all__ = ["LARGEST", "cast", "check_kernel", "check_samples"]

LARGEST = {4: 1e15, 8: 1e100}  # of the values of a kernel, by the bytes of a number
_LARGEST_OF_SAMPLES = {4: 1e9, 8: 1e75}  # kernels of products and distances are their squares
_LARGEST_TO_SCALE = {4: 1e30, 8: 1e200}
_LIKE_SAMPLES = "scale the samples, or normalise the kernel"


def check_kernel(
    K: Array, what: str, *, training: bool, dtype: DTypeLike | None = None, advice: str = _LIKE_SAMPLES
) -> None:
    """Refuse a kernel matrix whose values are too large or too small to be computed with.

    `training` says whether it compares training samples with themselves: the values of new samples may all be small.
    `dtype` is the precision of the computations, by default that of K.
    """
    largest = _largest(K)
    precision = K.dtype if dtype is None else np.dtype(dtype)
    limit = LARGEST[precision.itemsize]
    if largest > limit or (training and 0 < largest < 1 / limit):
        msg = (
            f"{what} has absolute values up to {largest:.3g}, but the largest must lie between {1 / limit:g} and "
            f"{limit:g} in {precision}: {advice}."
        )
        raise InvalidInputError(msg)


def check_samples(tables: Sequence[Samples], names: Sequence[str], *, scaled: bool) -> None:
    """Refuse tables whose values are too large or too small: to be squared, or to be scaled by a model that does so."""
    for X, name in zip(tables, names, strict=True):
        largest = _largest(X.data if sparse.issparse(X) else X)
        limit = (_LARGEST_TO_SCALE if scaled else _LARGEST_OF_SAMPLES)[X.dtype.itemsize]
        if largest > limit or 0 < largest < 1 / limit:
            msg = (
                f"{name} has absolute values up to {largest:.3g}, but the largest must lie between {1 / limit:g} and "
                f"{limit:g} in {X.dtype}: divide the table by its largest value, or standardise its columns."
            )
            raise InvalidInputError(msg)


def cast(X: Any, dtype: DTypeLike, what: str, *, copy: bool = True) -> Any:
    """Return a table in another precision, or refuse one with values that are too large for it."""
    with np.errstate(over="ignore"):
        found = X.astype(dtype, copy=copy)
    if found.dtype.itemsize < X.dtype.itemsize:
        values = found.data if sparse.issparse(found) else found
        if np.isinf(values).any():
            msg = f"{what} has values that are too large for {found.dtype}: scale it, or use dtype='float64'."
            raise InvalidInputError(msg)
    return found


def _largest(values: Array) -> float:
    return float(max(values.max(initial=0), -values.min(initial=0)))
