"""Columns of metadata that are associated with the clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from kernelweave._plural import counted
from kernelweave._types import LabelsLike, Table
from kernelweave.errors import InvalidInputError
from kernelweave.estimators.whole_numbers import check_seed, check_whole
from kernelweave.explain._columns import Column, read_columns
from kernelweave.explain._effects import Floats
from kernelweave.explain._frames import frame, need_pandas, plain_lists
from kernelweave.explain._groups import groups_of
from kernelweave.explain._tests import adjusted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Associations", "Metadata", "associate"]

_LEVELS = 50  # categories that a table of counts shows; the rest are one category


@dataclass(frozen=True, slots=True)
class Metadata:
    """One column of metadata beside the clusters.

    Parameters
    ----------
    name : str
        The column.
    type : str
        "number", "category" or "date".
    measure : str
        "Cramér's V" for a category, "correlation ratio" for a number.
    value : float
        From 0 (nothing in common) to 1 (one follows from the other). NaN for a column that cannot be compared: a
        constant, or categories of one sample each, such as ids.
    p_value, q_value : float
        From permutations of the column; adjusted for the number of columns (Benjamini and Hochberg).
    n_known : int
        The samples that have an entry.
    levels : tuple of str
        The categories, the most frequent first; for a number the quartiles and the mean.
    cells : array of shape (n_clusters, n_levels)
        The number of samples of every cluster in every category; for a number the quartiles and the mean.
    """

    name: str
    type: str
    measure: str
    value: float
    p_value: float
    q_value: float
    n_known: int
    levels: tuple[str, ...] = field(repr=False)
    cells: Floats = field(repr=False)


@dataclass(frozen=True)
class Associations:
    """How far columns of metadata go along with the clusters, the strongest first.

    Parameters
    ----------
    kind : str
        "cluster" or "class".
    names : tuple of str
        The clusters.
    columns : tuple of Metadata
        The columns, the strongest association first.
    """

    kind: str
    names: tuple[str, ...]
    columns: tuple[Metadata, ...] = field(repr=False)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row for every column: type, measure, value, p-value, q-value and number of known entries."""
        return frame([_summary(each) for each in self.columns], tuple(_FIELDS))

    def of(self, column: str) -> pd.DataFrame:
        """Return the counts of the categories of a column, or the quartiles of a number, in every cluster."""
        for each in self.columns:
            if each.name == column:
                pd = need_pandas()
                counts = each.cells.astype(np.intp) if each.type == "category" else each.cells
                return pd.DataFrame(counts, index=pd.Index(self.names, name=self.kind), columns=list(each.levels))
        msg = f"There is no column {column!r}; there are {', '.join(each.name for each in self.columns)}."
        raise InvalidInputError(msg)

    def to_json(self) -> dict[str, Any]:
        """Return plain lists and dicts, from which `from_json` makes the same object."""
        columns = [
            _summary(each) | {"levels": list(each.levels), "cells": plain_lists(each.cells)} for each in self.columns
        ]
        return {"kind": self.kind, "names": list(self.names), "columns": columns}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Associations:
        """Return the object that `to_json` was called of."""
        columns = [
            Metadata(
                **{name: each["column" if name == "name" else name] for name in _FIELDS.values()},
                levels=tuple(each["levels"]),
                cells=np.array(each["cells"], dtype=np.float64).reshape(len(found["names"]), len(each["levels"])),
            )
            for each in found["columns"]
        ]
        return cls(str(found["kind"]), tuple(map(str, found["names"])), tuple(columns))


_FIELDS = {
    "column": "name",
    **{name: name for name in ("type", "measure", "value", "p_value", "q_value", "n_known")},
}


def _summary(each: Metadata) -> dict[str, Any]:
    return {title: getattr(each, name) for title, name in _FIELDS.items()}


def associate(
    model: BaseEstimator | LabelsLike,
    metadata: Table,
    *,
    n_permutations: int = 999,
    random_state: int | None = 0,
) -> Associations:
    """Compare columns that the clusters were not found with, such as age, centre or diagnosis, with the clusters.

    Parameters
    ----------
    model : fitted estimator, or array of shape (n_samples,)
        A clusterer, a classifier, or the label of every sample.
    metadata : data frame, series, or array of shape (n_samples, n_columns)
        One row per sample, in the order of the samples. If the model was fitted on tables with an index
        (`sample_names_`), or the labels are a pandas Series with one, a data frame with an index is aligned by it, and
        may lack samples. Entries may be missing:
        such samples are left out of the comparison with that column.
    n_permutations : int, default=999
        How often every column is permuted for its p-value, which is 1 / (n_permutations + 1) or more.
    random_state : int or None, default=0
        Seed of the permutations.

    Returns
    -------
    Associations
        `table` is a data frame of all columns, `of(column)` the counts or quartiles in every cluster.

    Notes
    -----
    Categories are compared by Cramér's V, the root of χ² / (n min(rows - 1, columns - 1)); numbers by the correlation
    ratio, the root of the share of the variance that lies between the clusters. Both are above 0 by chance, the more
    so the more clusters and categories there are: read them with the p-value. The p-value is valid for columns that
    had no part in finding the clusters; for the features themselves use `explain_clusters`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.explain import associate
    >>> found = associate([0, 0, 0, 1, 1, 1], np.array([[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]]))
    >>> found.columns[0].measure, round(found.columns[0].value, 2)
    ('correlation ratio', 0.96)
    """
    check_whole(n_permutations, "n_permutations", 1)
    check_seed(random_state)
    kind, names, codes = groups_of(model)
    if len(getattr(metadata, "shape", ())) == 1 and hasattr(metadata, "to_frame"):  # a series of pandas or polars
        metadata = metadata.to_frame()
    columns = read_columns(metadata, len(codes), model, gaps=True)
    rng = np.random.default_rng(random_state)
    values = columns.take(range(len(columns)))
    found = [
        _associated(column, values[:, j], codes, len(names), n_permutations, rng)
        for j, column in enumerate(columns.columns)
    ]
    q = adjusted(np.array([each.p_value for each in found]))
    made = [replace(each, q_value=float(q[j])) for j, each in enumerate(found)]
    order = sorted(made, key=lambda each: -each.value if np.isfinite(each.value) else 1.0)
    return Associations(kind, tuple(map(str, names)), tuple(order))


def _associated(
    column: Column,
    values: Floats,
    codes: NDArray[np.intp],
    n_groups: int,
    n_permutations: int,
    rng: np.random.Generator,
) -> Metadata:
    """Return a column beside the groups; its q-value, which depends on the other columns, is still NaN."""
    known = np.flatnonzero(~np.isnan(values))
    own, groups = values[known], codes[known]
    statistic = _cramer if column.kind == "category" else _correlation_ratio
    if column.kind == "category":
        measure, (levels, cells) = "Cramér's V", _counted(own, column.levels, groups, n_groups)
    else:
        measure, (levels, cells) = "correlation ratio", _quartiles(own, groups, n_groups)
    value, p = statistic(own, groups, n_groups), float("nan")
    if np.isfinite(value):
        drawn = [statistic(own[rng.permutation(len(own))], groups, n_groups) for _ in range(n_permutations)]
        p = float((1 + np.sum(np.array(drawn) >= value * (1 - 1e-12))) / (n_permutations + 1))
    return Metadata(column.title, column.kind, measure, value, p, float("nan"), len(known), levels, cells)


def _cramer(values: Floats, groups: NDArray[np.intp], n_groups: int) -> float:
    if not len(values):
        return float("nan")
    n_levels = int(values.max()) + 1
    counts = np.bincount(groups * n_levels + values.astype(np.intp), minlength=n_groups * n_levels).reshape(
        n_groups, n_levels
    )
    counts = counts[:, counts.any(axis=0)][counts.any(axis=1)]
    least = min(counts.shape) - 1
    if least < 1 or counts.sum(axis=0).max() == 1:  # names of samples give 1 beside any groups
        return float("nan")
    n = counts.sum()
    expected = counts.sum(axis=1)[:, None] * counts.sum(axis=0) / n
    return float(np.sqrt((((counts - expected) ** 2) / expected).sum() / (n * least)))


def _correlation_ratio(values: Floats, groups: NDArray[np.intp], n_groups: int) -> float:
    """Return the root of the share of the variance that lies between the groups."""
    if not len(values):
        return float("nan")
    values = values - values.mean()
    sizes = np.bincount(groups, minlength=n_groups)
    sums = np.bincount(groups, weights=values, minlength=n_groups)
    total = float(values @ values)
    if total <= 0 or (sizes > 0).sum() < 2:
        return float("nan")
    return float(np.sqrt(min(1.0, (sums**2 / np.maximum(sizes, 1)).sum() / total)))


def _counted(
    values: Floats, levels: tuple[str, ...], groups: NDArray[np.intp], n_groups: int
) -> tuple[tuple[str, ...], Floats]:
    """Return the categories, the most frequent first, and the counts of each in every group."""
    counts = np.zeros((n_groups, len(levels)))
    np.add.at(counts, (groups, values.astype(np.intp)), 1)
    order = np.argsort(-counts.sum(axis=0), kind="stable")
    shown, rest = order[:_LEVELS], order[_LEVELS:]
    names, cells = [levels[j] for j in shown], counts[:, shown]
    if len(rest):
        names.append(counted(len(rest), "other"))
        cells = np.column_stack([cells, counts[:, rest].sum(axis=1)])
    return tuple(names), cells


def _quartiles(values: Floats, groups: NDArray[np.intp], n_groups: int) -> tuple[tuple[str, ...], Floats]:
    cells = np.full((n_groups, 4), np.nan)
    for k in range(n_groups):
        inside = values[groups == k]
        if len(inside):
            cells[k] = [*np.quantile(inside, (0.25, 0.5, 0.75)), inside.mean()]
    return ("25 %", "median", "75 %", "mean"), cells
