"""How large and how small the values of kernels may be, so that their squares, and sums of these, are numbers too."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from kernelweave._types import Array, Matrix
from kernelweave.errors import InvalidInputError

__all__ = ["LARGEST", "cast", "check_diagonal", "check_kernel"]

LARGEST = {4: 1e15, 8: 1e100}  # of the values of a kernel, by the bytes of a number
_LIKE_SAMPLES = "scale the samples, or normalise the kernel"


def check_kernel(
    K: Array, what: str, *, training: bool, dtype: DTypeLike | None = None, advice: str = _LIKE_SAMPLES
) -> None:
    """Refuse a kernel matrix whose values are too large or too small to be computed with.

    `training` says whether it compares training samples with themselves: the values of new samples may all be small.
    `dtype` is the precision of the computations, by default that of K.
    """
    largest = float(max(K.max(initial=0), -K.min(initial=0)))
    precision = K.dtype if dtype is None else np.dtype(dtype)
    limit = LARGEST[precision.itemsize]
    if largest > limit or (training and 0 < largest < 1 / limit):
        msg = (
            f"{what} has absolute values up to {largest:.3g}, but the largest must lie between {1 / limit:g} and "
            f"{limit:g} in {precision}: {advice}."
        )
        raise InvalidInputError(msg)


def check_diagonal(K: Matrix, what: str) -> None:
    """Refuse a kernel matrix whose trace is negative, such as -K, or 0 although it has other entries."""
    if K.trace() < 0 or (K.trace() == 0 and K.any()):
        msg = (
            f"{what} a matrix with trace {K.trace():g}, but k(x, x) is positive: pass kernels with a positive diagonal."
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
