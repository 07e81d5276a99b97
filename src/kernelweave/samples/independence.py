"""Tests whether columns are independent of a column of classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from kernelweave._types import Labels, Matrix, Vector

__all__ = ["Classes", "class_indicators", "joint_p_values", "rank_p_values", "without_rare"]

_WIDTH = 512  # indicators of columns that are compared at once
_RARE = 5  # samples: the tests are of many in every class


def rank_p_values(codes: Labels, ranks: Matrix) -> Vector:
    """Return the p-value of the test of Kruskal and Wallis (1952) for every column of ranks, 1 where nothing differs.

    H = (m - 1) Σ_g n_g (r_g - r)² / Σ_i (r_i - r)² over the m samples whose class, not -1, and rank, not NaN, are
    known; n_g of them have class g, r_g is their mean rank.
    """
    Y, _ = class_indicators([codes])
    known = (codes >= 0)[:, None] & ~np.isnan(ranks)
    m, n = known.sum(axis=0), Y.T @ known
    E = np.where(known, ranks - np.sum(ranks, axis=0, where=known) / np.maximum(m, 1), 0)
    between = np.divide((Y.T @ E) ** 2, n, out=np.zeros_like(n), where=n > 0).sum(axis=0)
    total, freedom = (E**2).sum(axis=0), np.count_nonzero(n, axis=0) - 1
    H = np.divide((m - 1) * between, total, out=np.zeros_like(total), where=total > 0)
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), H), 1.0)


class Classes(NamedTuple):
    """Columns of classes as indicators (n, k) side by side, and where those of each column begin."""

    indicators: Matrix
    starts: Labels

    @property
    def ends(self) -> Labels:
        """Where the indicators of each column end."""
        return np.append(self.starts[1:], self.indicators.shape[1])

    def part(self, columns: slice) -> Classes:
        """Return some columns that are next to each other."""
        starts, ends = self.starts[columns], self.ends[columns]
        return Classes(self.indicators[:, starts[0] : ends[-1]], starts - starts[0])


def joint_p_values(first: Classes, second: Classes) -> Matrix:
    """Return the p-values of Pearson's test of independence of every column of the first and every one of the second.

    χ² = Σ_gh (N_gh - E_gh)² / E_gh, N_gh the number of samples with class g in one column and h in the other, and
    E_gh = N_g. N_.h / N_.. the number expected. It is 1 where a column is constant.
    """
    found = np.empty((len(first.starts), len(second.starts)))
    for rows in _together(first):
        for columns in _together(second):
            found[rows, columns] = _pearson(first.part(rows), second.part(columns))
    return found


def _together(classes: Classes) -> Iterator[slice]:
    """Yield columns whose indicators are few enough for their tables of counts to stay in the processor's cache."""
    start, ends = 0, classes.ends
    while start < len(ends):
        first = classes.starts[start]
        stop = max(start + 1, int(np.searchsorted(ends, first + _WIDTH, side="right")))
        yield slice(start, stop)
        start = stop


def _pearson(first: Classes, second: Classes) -> Matrix:
    """Return the p-values of some columns; sums over the classes of a column are those of its rows or columns in N."""
    N = first.indicators.T @ second.indicators
    rows = np.add.reduceat(N, second.starts, axis=1)  # of class g, among the samples that are known in the other column
    columns = np.add.reduceat(N, first.starts, axis=0)
    of_row = np.repeat(np.arange(len(first.starts)), first.ends - first.starts)
    of_column = np.repeat(np.arange(len(second.starts)), second.ends - second.starts)
    n = np.add.reduceat(rows, first.starts, axis=0)
    E = rows[:, of_column] * columns[of_row] / np.maximum(n, 1)[of_row][:, of_column]
    terms = np.divide((N - E) ** 2, E, out=np.zeros_like(E), where=E > 0)
    chi2 = np.add.reduceat(np.add.reduceat(terms, second.starts, axis=1), first.starts, axis=0)
    freedom = (np.add.reduceat(rows > 0, first.starts, axis=0, dtype=int) - 1) * (
        np.add.reduceat(columns > 0, second.starts, axis=1, dtype=int) - 1
    )
    return np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), chi2), 1.0)


def class_indicators(columns: Sequence[Labels]) -> Classes:
    """Return the indicators of several columns of classes; a code of -1 is in no class."""
    widths = [int(codes.max(initial=0)) + 1 for codes in columns]
    parts = [(codes[:, None] == np.arange(width)).astype(float) for codes, width in zip(columns, widths, strict=True)]
    return Classes(np.hstack(parts), np.cumsum([0, *widths[:-1]]))


def without_rare(codes: Labels) -> Labels:
    """Return codes in which classes of fewer than five samples are one, or not known if these are too few too."""
    counts = np.bincount(codes[codes >= 0], minlength=1)
    frequent = counts >= _RARE
    new = np.cumsum(frequent) - 1
    new[~frequent] = frequent.sum() if counts[~frequent].sum() >= _RARE else -1
    return np.where(codes >= 0, new[codes], -1)
