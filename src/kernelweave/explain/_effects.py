"""How far the values of a column in a group differ from those of all other samples, for many columns at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave.explain._columns import Columns

__all__ = ["Effects", "Ranked", "indicators", "measure", "ranked", "shares"]

Floats = NDArray[np.float64]

_COUNTED = 2**22  # counts of a column by group that are held at a time


@dataclass(frozen=True, slots=True)
class Effects:
    """Arrays of shape (n_groups, n_columns).

    `effect` is Cliff's delta of the group against the others: P(in > out) - P(in < out), or the difference of the
    shares of a category. `separation` is the mean of the absolute deltas to the other groups, weighted by their sizes:
    it exceeds the absolute effect if the group lies between others. `difference` is that of the means in standard
    deviations. `level` is the category that `effect` is about, and -1 for numbers. `error` is the standard error of
    `effect` if there is no difference.
    """

    effect: Floats
    separation: Floats
    difference: Floats
    error: Floats
    level: NDArray[np.intp]
    mean_in: Floats
    mean_out: Floats

    def order(self, group: int) -> NDArray[np.intp]:
        """Return the columns that tell the group from the others, the most telling first.

        The error of the effect is subtracted from the separation, so that a column with few known values does not come
        first by chance; columns that separate equally well are ordered by the difference of the means.
        """
        strength = self.separation[group] - self.error[group]
        known = np.flatnonzero(np.isfinite(strength) & (self.separation[group] > 0))
        return known[np.lexsort((-np.abs(self.difference[group, known]), -strength[known]))]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Average ranks (b, n) of the known values of columns, 0 elsewhere; which are known; and Σ(t³ - t) over ties."""

    ranks: Floats
    known: NDArray[np.bool_]
    ties: Floats


def indicators(codes: NDArray[np.intp], n_groups: int) -> Floats:
    """Return the memberships (n, c) in groups as 0 and 1; a code of -1 is in no group."""
    Y = np.zeros((len(codes), n_groups))
    inside = np.flatnonzero(codes >= 0)
    Y[inside, codes[inside]] = 1
    return Y


def ranked(values: Floats) -> Ranked:
    """Return the average ranks of the values (n, b) of columns."""
    rows = np.ascontiguousarray(values.T)
    known = ~np.isnan(rows)
    order = rows.argsort(axis=1)
    sorted_rows = np.take_along_axis(rows, order, axis=1)
    b, n = rows.shape
    new = np.ones((b, n), dtype=bool)
    np.not_equal(sorted_rows[:, 1:], sorted_rows[:, :-1], out=new[:, 1:])  # NaN is last, and equals nothing
    starts = np.flatnonzero(new)
    lengths = np.diff(np.append(starts, b * n))
    average = np.repeat(starts % n + (lengths + 1) / 2, lengths).reshape(b, n)
    ranks = np.empty((b, n))
    np.put_along_axis(ranks, order, average, axis=1)
    ranks[~known] = 0
    ties = np.bincount(starts // n, weights=lengths.astype(np.float64) ** 3 - lengths, minlength=b)
    return Ranked(ranks, known, ties.astype(np.float64))


def measure(columns: Columns, codes: NDArray[np.intp], n_groups: int) -> Effects:
    """Return the effects of all columns in all groups."""
    shape = (n_groups, len(columns))
    unknown = [np.full(shape, np.nan) for _ in range(4)]
    found = Effects(
        unknown[0], unknown[1], unknown[2], unknown[3], np.full(shape, -1), np.zeros(shape), np.zeros(shape)
    )
    Y = indicators(codes, n_groups)
    for at, values in columns.blocks():
        number = np.array([columns.columns[j].kind != "category" for j in at])
        _measure_numbers(found, at[number], values[:, number], Y, codes)
        for j in np.flatnonzero(~number):
            _measure_category(found, int(at[j]), values[:, j], len(columns.columns[at[j]].levels), codes, n_groups)
    return found


def _measure_numbers(found: Effects, at: NDArray[np.intp], values: Floats, Y: Floats, codes: NDArray[np.intp]) -> None:
    if not len(at):
        return
    r = ranked(values)
    inside = Y.T @ r.known.T  # (c, b): known values in the group
    outside = r.known.sum(axis=1) - inside
    with np.errstate(divide="ignore", invalid="ignore"):
        U = Y.T @ r.ranks.T - inside * (inside + 1) / 2
        found.effect[:, at] = 2 * U / (inside * outside) - 1
        found.error[:, at] = np.sqrt((inside + outside + 1) / (3 * inside * outside))
        filled = np.where(r.known.T, values, 0)
        sums = Y.T @ filled
        elsewhere = (1 - np.eye(len(sums))) @ sums  # not the total less the sum: large values would leave no digits
        found.mean_in[:, at], found.mean_out[:, at] = sums / inside, elsewhere / outside
        mean = sums.sum(axis=0) / r.known.sum(axis=1)
        spread = np.sqrt((np.where(r.known.T, values - mean, 0) ** 2).sum(axis=0) / r.known.sum(axis=1))
        varies = spread > 1e-12 * np.maximum(np.abs(mean), 1e-300)
        difference = (found.mean_in[:, at] - found.mean_out[:, at]) / np.where(varies, spread, 1)
        found.difference[:, at] = np.where(varies, difference, 0)
        found.effect[:, at] = np.where(varies, found.effect[:, at], 0)
        apart = _separation(r, codes, len(inside))
        found.separation[:, at] = np.where(varies & np.isfinite(found.effect[:, at]), apart, 0)


def _separation(r: Ranked, codes: NDArray[np.intp], n_groups: int) -> Floats:
    """Return the mean absolute Cliff's delta of every group to the others, weighted by their sizes."""
    found = np.empty((n_groups, len(r.ranks)))
    for j, (ranks, known) in enumerate(zip(r.ranks, r.known, strict=True)):
        own = codes[known]
        halves = (2 * ranks[known]).astype(np.intp)  # average ranks are multiples of a half
        level = (np.bincount(halves) > 0).cumsum()[halves] - 1
        members = sparse.csr_array(
            (np.ones(len(own)), (own, level)), shape=(n_groups, max(1, level.max(initial=0) + 1))
        )
        sizes, apart = np.bincount(own, minlength=n_groups), np.zeros(n_groups)
        step = max(1, _COUNTED // members.shape[1])
        for first in range(0, n_groups, step):
            counts = members[first : first + step].toarray()
            below = counts.cumsum(axis=1) - counts / 2  # of each group below every level, with half of those at it
            wins = members @ below.T
            apart += np.abs(2 * wins - np.outer(sizes, sizes[first : first + step])).sum(axis=1)
        found[:, j] = apart / (sizes * (len(own) - sizes))
    return found


def shares(values: Floats, n_levels: int, codes: NDArray[np.intp], n_groups: int) -> tuple[Floats, Floats, Floats]:
    """Return the shares (c, levels) of categories in and outside of every group, and the known values in each."""
    known = np.flatnonzero(~np.isnan(values) & (codes >= 0))
    cells = codes[known] * n_levels + values[known].astype(np.intp)
    counts = np.bincount(cells, minlength=n_groups * n_levels).reshape(n_groups, n_levels).astype(np.float64)
    inside = counts.sum(axis=1, keepdims=True)
    others = counts.sum(axis=0) - counts
    with np.errstate(divide="ignore", invalid="ignore"):
        return counts / inside, others / others.sum(axis=1, keepdims=True), inside[:, 0]


def _measure_category(
    found: Effects, j: int, values: Floats, n_levels: int, codes: NDArray[np.intp], n_groups: int
) -> None:
    """Measure the category whose share in the group differs most from its share elsewhere."""
    if n_levels == 0:
        return
    here, there, inside = shares(values, n_levels, codes, n_groups)
    apart = here - there
    level = np.where(np.isnan(apart), 0, np.abs(apart)).argmax(axis=1)
    groups = np.arange(n_groups)
    outside = inside.sum() - inside
    overall = (here * inside[:, None] + there * outside[:, None])[groups, level] / inside.sum()
    spread = np.sqrt(overall * (1 - overall))
    found.effect[:, j] = apart[groups, level]
    found.separation[:, j] = np.abs(apart[groups, level])
    found.level[:, j] = level
    found.mean_in[:, j], found.mean_out[:, j] = here[groups, level], there[groups, level]
    with np.errstate(divide="ignore", invalid="ignore"):
        found.error[:, j] = np.sqrt((inside + outside + 1) / (3 * inside * outside))
        found.difference[:, j] = np.where(spread > 0, apart[groups, level] / spread, 0)
