"""Tests whether a column is independent of groups, from its ranks; valid for columns of which most values are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kernelweave.explain._effects import Floats, Ranked, ranked

__all__ = ["adjusted", "category_p_values", "p_values"]


def p_values(values: Floats, Y: Floats) -> Floats:
    """Return two-sided p-values (c, b) of columns (n, b) against memberships Y (n, c).

    The rank-sum test of Wilcoxon, by its normal approximation with ties, of the values and of their distances from the
    median of the column, for groups that lie between others; the smaller p-value is doubled. If one value, usually 0,
    makes up more than half of a column, that approximation is too optimistic: then whether the value is that one is
    tested exactly, and the ranks of the other values, and the smaller p-value is doubled.
    """
    common, share = _middles(values)
    found = _rank_sum(ranked(values), Y)
    found = np.minimum(1, 2 * np.minimum(found, _rank_sum(ranked(np.abs(values - common)), Y)))
    for j in np.flatnonzero(share > 0.5):
        column = values[:, j]
        usual = column == common[j]
        hurdle = exact_p_values(np.where(np.isnan(column), np.nan, ~usual), Y)
        others = np.where(usual, np.nan, column)[:, None]
        rest = np.ones(Y.shape[1])
        if np.unique(others[~np.isnan(others)]).size > 1:
            rest = _rank_sum(ranked(others), Y)[:, 0]
        found[:, j] = np.minimum(1, 2 * np.fmin(hurdle, rest))
    return np.asarray(found)


def category_p_values(values: Floats, n_levels: int, Y: Floats) -> Floats:
    """Return p-values (c,) of a column of codes: the smallest of all categories, times their number."""
    found = np.ones(Y.shape[1])
    for level in range(n_levels):
        found = np.fmin(found, exact_p_values(np.where(np.isnan(values), np.nan, values == level), Y))
    return np.minimum(1, n_levels * found)


def exact_p_values(marks: Floats, Y: Floats) -> Floats:
    """Return two-sided p-values (c,) of Fisher's exact test for marks 0, 1 or NaN: twice the smaller tail."""
    known = ~np.isnan(marks)
    n, marked = int(known.sum()), int(np.nansum(marks))
    inside = Y[known].sum(axis=0).astype(np.intp)
    both = Y[known].T @ marks[known]
    found = np.ones(Y.shape[1])
    for k, (size, seen) in enumerate(zip(inside, both, strict=True)):
        counts = np.arange(max(0, size + marked - n), min(size, marked) + 1)
        logs = _log_choose(marked, counts) + _log_choose(n - marked, size - counts) - _log_choose(n, size)
        chances = np.exp(logs)
        tail = min(chances[counts <= seen].sum(), chances[counts >= seen].sum())
        found[k] = min(1.0, 2 * tail)
    return found


def adjusted(p: Floats) -> Floats:
    """Return p-values adjusted by Benjamini and Hochberg for the number of those that are not NaN."""
    flat = p.ravel()
    order = np.argsort(flat)[: int((~np.isnan(flat)).sum())]  # NaN is last
    found = np.full(p.size, np.nan)
    raised = flat[order] * len(order) / np.arange(1, len(order) + 1)
    found[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1)
    return found.reshape(p.shape)


def _rank_sum(r: Ranked, Y: Floats) -> Floats:
    """Return p-values (c, b) by the normal approximation, with corrections for ties and continuity."""
    inside = Y.T @ r.known.T
    n = r.known.sum(axis=1)
    outside = n - inside
    U = Y.T @ r.ranks.T - inside * (inside + 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = inside * outside / 12 * (n + 1 - r.ties / (n * (n - 1)))
        z = np.maximum(np.abs(U - inside * outside / 2) - 0.5, 0) / np.sqrt(variance)
        p = 2 * special.ndtr(-z)
    return np.where(variance > 0, p, 1.0)


def _middles(values: Floats) -> tuple[Floats, Floats]:
    """Return the middle value of every column, and its share; a value of more than half of a column is its middle."""
    n = np.maximum((~np.isnan(values)).sum(axis=0), 1)
    ordered = np.sort(values, axis=0)  # NaN is last
    common = ordered[(n - 1) // 2, np.arange(values.shape[1])]
    return common, (values == common).sum(axis=0) / n


def _log_choose(n: int, k: NDArray[np.intp] | int) -> Floats:
    return np.asarray(special.gammaln(n + 1) - special.gammaln(np.asarray(k) + 1) - special.gammaln(n - k + 1))
