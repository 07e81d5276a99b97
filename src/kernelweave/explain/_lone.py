"""Columns that set clusters apart, although no other column is related to them: clusters may follow noise."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Labels, Mask
from kernelweave.explain._columns import Columns
from kernelweave.explain._effects import Effects, Floats, ranked
from kernelweave.samples.digests import drawn_rows, row_digests
from kernelweave.samples.independence import class_indicators, joint_p_values, rank_p_values, without_rare

__all__ = ["LEAST_COLUMNS", "MOST_COLUMNS", "are_lone", "lone_columns"]

_FEWEST = 50  # samples; fewer are too few to tell
_MOST = 2000  # samples that are compared; more would hardly change an answer
LEAST_COLUMNS, MOST_COLUMNS = 3, 50  # fewer cannot agree on anything, and one column among more decides little
_MOST_LONE = 1 / 3  # share of the columns; beside more of them there is no other structure to find
_LEVEL = 0.01  # of significance, of all comparisons of a column together
_APART = 0.5  # separation of a cluster from which on a column is said to set it apart
_CLASSES = 4  # into which numbers are divided by their ranks, if more than _VALUES of them differ
_VALUES = 10


def lone_columns(columns: Columns, effects: Effects) -> list[int]:
    """Return the columns that set a cluster apart and are related to no other column, if most are related.

    Columns are compared in pairs: one in classes, its categories, values or quarters, the other by its ranks (test of
    Kruskal and Wallis), or by joint counts if it holds categories (Pearson's chi-squared).
    """
    used = np.flatnonzero(columns.used)
    apart = (np.nan_to_num(effects.separation[:, used]) >= _APART).any(axis=0)
    if columns.n_samples < _FEWEST or not LEAST_COLUMNS <= len(used) <= MOST_COLUMNS or not apart.any():
        return []
    is_category = np.array([columns.columns[j].kind == "category" for j in used])
    lone = are_lone(columns.take(used.tolist()), is_category, _MOST_LONE)
    return [int(j) for j in used[lone & apart]]


def are_lone(values: Floats, is_category: Mask, most: float) -> Mask:
    """Return which columns are related to no other; none of a table of too few or many columns.

    None is returned either if a larger share than `most` is. Categories are codes, and what is missing is NaN.
    """
    n, n_columns = values.shape
    if n < _FEWEST or not LEAST_COLUMNS <= n_columns <= MOST_COLUMNS:
        return np.zeros(n_columns, dtype=bool)
    if n > _MOST:
        values = values[drawn_rows(row_digests(values), _MOST)]
    lone = _smallest_p(values, is_category) * (n_columns - 1) >= _LEVEL
    return np.asarray(lone & (lone.mean() <= most))


def _smallest_p(values: Floats, is_category: Mask) -> Floats:
    """Return the smallest p-value of every column in its comparisons with the others."""
    ranks = np.where(np.isnan(values), np.nan, ranked(values).ranks.T)
    classes = [_classes(values[:, j], ranks[:, j], is_category=own) for j, own in enumerate(is_category)]
    categories = np.flatnonzero(is_category)
    p = np.ones((len(is_category), len(is_category)))
    for j, codes in enumerate(classes):
        p[j, ~is_category] = rank_p_values(codes, ranks[:, ~is_category])
    if len(categories):
        joint = class_indicators([classes[j] for j in categories])
        p[:, categories] = joint_p_values(class_indicators(classes), joint)
    np.fill_diagonal(p, 1)
    return np.asarray(np.minimum(p, p.T).min(axis=1))


def _classes(values: Floats, ranks: Floats, *, is_category: bool) -> Labels:
    """Return the class of every value, -1 where it is missing, or rare."""
    known = ~np.isnan(values)
    found = np.full(len(values), -1)
    different, codes = np.unique(values[known], return_inverse=True)
    if not is_category and len(different) > _VALUES:
        codes = np.minimum((ranks[known] - 0.5) * _CLASSES // max(1, known.sum()), _CLASSES - 1).astype(np.intp)
    found[known] = codes
    return without_rare(found)
