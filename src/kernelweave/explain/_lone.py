"""Columns that set clusters apart, although no other column is related to them: clusters may follow noise."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Labels
from kernelweave.explain._columns import Column, Columns
from kernelweave.explain._effects import Effects, Floats, ranked
from kernelweave.samples.digests import drawn_rows, row_digests
from kernelweave.samples.independence import class_indicators, joint_p_values, rank_p_values, without_rare

__all__ = ["lone_columns"]

_FEWEST = 50  # samples; fewer are too few to tell
_MOST = 2000  # samples that are compared; more would hardly change an answer
_COLUMNS = (3, 50)  # of the table: fewer cannot agree on anything, and one column among more decides little
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
    if columns.n_samples < _FEWEST or not _COLUMNS[0] <= len(used) <= _COLUMNS[1] or not apart.any():
        return []
    values = columns.take(used.tolist())
    if len(values) > _MOST:
        values = values[drawn_rows(row_digests(values), _MOST)]
    lone = _smallest_p(values, [columns.columns[j] for j in used]) * (len(used) - 1) >= _LEVEL
    return [] if lone.mean() > _MOST_LONE else used[lone & apart].tolist()


def _smallest_p(values: Floats, columns: list[Column]) -> Floats:
    """Return the smallest p-value of every column in its comparisons with the others."""
    ranks = np.where(np.isnan(values), np.nan, ranked(values).ranks.T)
    is_category = np.array([column.kind == "category" for column in columns])
    classes = [_classes(values[:, j], ranks[:, j], is_category=own) for j, own in enumerate(is_category)]
    categories = np.flatnonzero(is_category)
    p = np.ones((len(columns), len(columns)))
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
