"""The largest entries of every row of a matrix."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Labels, Matrix, Vector

__all__ = ["kth_largest", "largest_columns"]

_NARROW = 8  # times k columns, below which a row is sorted as it is


def largest_columns(values: Matrix, k: int) -> Labels:
    """Return the columns (n, k) of the k largest entries of every row, from large to small; ties go to the first."""
    n, width = values.shape
    k = min(k, width)
    if width <= _NARROW * k:
        return np.asarray(np.argsort(-values, axis=1, kind="stable")[:, :k])
    # at least k entries of a row reach the k-th largest maximum of groups of columns: a bound that is close to the k-th
    # largest entry, and much faster to compute, since the maxima of many columns are taken at once
    groups = 4 * k
    height = width // groups
    maxima = values[:, : height * groups].reshape(n, height, groups).max(axis=1)
    bound = np.partition(maxima, groups - k, axis=1)[:, groups - k]
    places = np.flatnonzero(values >= bound[:, None])
    rows, columns = np.divmod(places, width)
    counts = np.bincount(rows, minlength=n)
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    some = np.full((n, counts.max(initial=k)), -np.inf, dtype=values.dtype)
    of = np.zeros(some.shape, dtype=np.intp)
    some[rows, rank], of[rows, rank] = values.ravel()[places], columns
    order = np.argsort(-some, axis=1, kind="stable")[:, :k]
    return np.asarray(np.take_along_axis(of, order, axis=1))


def kth_largest(values: Matrix, k: int) -> Vector:
    """Return the k-th largest entry of every row."""
    last = largest_columns(values, k)[:, -1:]
    return np.asarray(np.take_along_axis(values, last, axis=1)[:, 0])
