"""How large and how full the columns of a table are, and whether the lengths of its rows fall into groups."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from kernelweave._types import Samples, Vector

__all__ = ["FEW_COLUMNS", "THIN", "Size", "evenness", "grouped_lengths", "in_unit", "size_of", "spread_in_groups"]

FEW_COLUMNS = 10  # with fewer, the length of a row holds too much of its information
THIN = 0.18  # how full columns are: below it the share of z-scores would be less than a thousandth
_LARGEST, _LARGEST_THIN = 6.0, 1.0  # what the largest entry of a table is brought to; indicators stay 1
# spread in groups, relative to even values, below which lengths and their logarithms are in groups that are apart: a
# few long rows are apart by their lengths, but not by the logarithms
_GROUPED, _GROUPED_LOGARITHMS = 0.5, 0.75
_SHORT = 1e-3  # of the longest row: shorter ones have the same logarithm
_ROUNDED = 1e-5  # of their mean: lengths that differ by less may have been made equal before
_MOST_GROUPS, _MEAN_SIZE = 10, 15
_LEAST_SIZE, _LEAST_SHARE = 5, 0.05  # of a group: a few outliers are none
_QUANTILES = 300  # by which lengths are divided, whatever the number of rows


class Size(NamedTuple):
    """How full a table is, and how large its values are.

    With f_j the share of entries of column j that are not zero: `full` is how full the column of a mean entry is, from
    0 to 1, Σ f² / Σ f, and `columns` the number of columns that are filled at all, (Σ f)² / Σ f². `unit` is that in
    which the largest absolute value is 6, or 1 if most are 0; None if all are.
    """

    full: float
    columns: float
    unit: float | None


def size_of(X: Samples) -> Size:
    """Return how full a table is, and how large its values are."""
    values = X.data if sparse.issparse(X) else X
    counts = np.bincount(X.tocsr().indices, weights=values != 0, minlength=X.shape[1]) if sparse.issparse(X) else None
    f = (np.count_nonzero(X, axis=0) if counts is None else counts) / X.shape[0]
    total, squares = float(f.sum()), float(f @ f)
    if total == 0:
        return Size(0.0, 0.0, None)
    full = squares / total
    largest = float(max(values.max(initial=0), -values.min(initial=0)))
    unit = largest / (_LARGEST_THIN if full < THIN else _LARGEST) or largest  # the smallest number has no sixth
    return Size(full, total**2 / squares, unit)


def evenness(X: Samples, size: Size) -> float:
    """Return min(1, 2 e / min(columns, 10)), e = (Σ m)² / Σ m² and m_j the mean square of column j.

    e is the number of columns that have most of the size of the rows: all of them if their sizes are equal. With two to
    nine columns it is at most 4 (e - 1), which is near 0 where one of them has nearly all of the size.
    """
    if size.unit is None:
        return 1.0
    table = in_unit(X, size.unit)
    m = np.asarray(table.multiply(table).sum(axis=0) if sparse.issparse(X) else np.einsum("ij,ij->j", table, table))
    m = m.ravel().astype(np.float64) / X.shape[0]
    e = m.sum() ** 2 / (m @ m)
    if 2 <= X.shape[1] < FEW_COLUMNS:
        return float(min(1.0, 4 * (e - 1)))
    return float(min(1.0, 2 * e / min(max(size.columns, 1.0), FEW_COLUMNS)))


def grouped_lengths(X: Samples, size: Size) -> bool:
    """Return whether the lengths of the rows fall into groups that are apart, which directions would merge."""
    if size.unit is None or X.shape[0] < 2 * _MEAN_SIZE:
        return False
    table = in_unit(X, size.unit)
    squares = table.multiply(table).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", table, table)
    lengths = np.sort(np.sqrt(np.asarray(squares, dtype=np.float64).ravel()))
    if lengths.std() <= _ROUNDED * lengths.mean():
        return False
    most = min(_MOST_GROUPS, len(lengths) // _MEAN_SIZE)
    if len(lengths) > _QUANTILES:
        lengths = lengths[np.linspace(0, len(lengths) - 1, _QUANTILES).round().astype(np.intp)]
    if spread_in_groups(lengths, most) >= _GROUPED:
        return False
    return spread_in_groups(np.log(np.maximum(lengths, _SHORT * lengths[-1])), most) < _GROUPED_LOGARITHMS


def spread_in_groups(values: Vector, most: int) -> float:
    """Return min_K K² W_K / V of ascending values that differ, K = 2 to `most`.

    W_K is the least variance within K groups, and V = W_1. It is 1 for values that are evenly spread, and near 0 for
    groups that are apart. A group has at least five values, and 5 % of all. As counts repeat, every value stands for an
    interval of the width of the median difference.
    """
    n, values = len(values), values - values.mean()
    width = float(np.median(np.diff(np.unique(values))))
    first, second = (np.concatenate([[0.0], np.cumsum(powers)]) for powers in (values, values**2))
    count = np.arange(n + 1) - np.arange(n + 1)[:, None]
    inside = second - second[:, None] - (first - first[:, None]) ** 2 / np.maximum(count, 1)
    inside[count < max(_LEAST_SIZE, _LEAST_SHARE * n)] = np.inf  # of the values i to j - 1, if these are a group
    total, within, least = second[-1] / n + width**2 / 12, inside[0], np.inf
    for k in range(2, most + 1):
        within = (within[:, None] + inside).min(axis=0)
        least = min(least, k**2 * (within[-1] / n + width**2 / 12) / total)
    return float(least)


@np.errstate(over="ignore")
def in_unit(X: Samples, unit: float) -> Samples:
    """Return a table in this unit, in its own precision, in which the unit itself may be too small to be written.

    New samples that are too large for the unit become infinite, which kernels refuse.
    """
    values = X.data if sparse.issparse(X) else X
    wide = values.astype(np.float64) if unit < np.finfo(values.dtype).tiny else values
    found = (wide / unit).astype(values.dtype, copy=False)
    if not sparse.issparse(X):
        return found
    X = X.copy()
    X.data = found
    return X
