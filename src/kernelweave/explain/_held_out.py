"""The test of features that accounts for clusters chosen on the same data: every feature is held out once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from kernelweave._types import Array, LabelsLike, Tables
from kernelweave.errors import InvalidInputError, KernelweaveError
from kernelweave.explain._columns import Columns
from kernelweave.explain._effects import Floats, indicators
from kernelweave.explain._frames import some_columns
from kernelweave.explain._tests import adjusted, category_p_values, p_values
from kernelweave.samples import Views
from kernelweave.samples.labels import encode_labels
from kernelweave.samples.reader import form_of
from kernelweave.samples.views import named_tables

__all__ = ["HeldOut", "held_out_test"]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """p-values and adjusted ones, (n_groups, n_columns); NaN for columns that could not be held out.

    `recovered` (n_groups,) is how far each group was found again without the held-out columns: the mean over the fits
    of the Jaccard overlap with the group that fits it best.
    """

    p_values: Floats
    q_values: Floats
    recovered: Floats


def held_out_test(
    model: BaseEstimator,
    X: Tables,
    y: LabelsLike | None,
    columns: Columns,
    groups: tuple[Array, NDArray[np.intp]],
    *,
    n_splits: int,
    rng: np.random.Generator,
) -> HeldOut:
    """Fit the model without a part of the columns, and test these columns against the groups it finds, for all parts.

    A column is tested against groups that were found without it. So if the column is independent of all others, its
    ranks are exchangeable. The clusters of a fit are matched to the reported ones, which do depend on the column: the
    p-values are multiplied by the number of clusters to allow for any match.
    """
    names, codes = groups
    parts = _parts(columns, n_splits, rng)
    given, widths = _given(X)
    order = columns.order
    if order is not None and hasattr(given, "iloc"):  # one data frame, whose labels y have the order of fit
        given, order = given.iloc[order], None
    found = np.full((len(names), len(columns)), np.nan)
    overlaps, refused = [], None
    for part in range(int(parts.max()) + 1):
        try:
            labels = _refitted(model, _kept(given, widths, parts != part), y, len(names))
        except KernelweaveError as error:  # such as columns that have nothing to tell the samples apart
            refused = error
            continue
        labels = labels if order is None else labels[order]
        again, match, overlap = _matched(labels, names, codes, by_name=y is not None)
        overlaps.append(overlap)
        tested = np.flatnonzero(parts == part)
        p = _tested(columns, tested, again, int(again.max()) + 1)
        if y is None:
            p = np.minimum(1, p * len(p))
        found[:, tested] = np.where(match[:, None] >= 0, p[match], 1.0)
    if not overlaps:
        msg = f"The test fits the model without some of its columns, and none of the fits was possible. {refused}"
        raise InvalidInputError(msg) from refused
    return HeldOut(found, adjusted(found), np.mean(overlaps, axis=0))


def _parts(columns: Columns, n_splits: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the part in which every column is held out; -1 for one that is not used, or alone in its view."""
    parts = np.full(len(columns), -1)
    start, used = 0, columns.used
    for table in columns.tables:
        own = start + np.flatnonzero(used[start : start + table.shape[1]])
        if len(own) > 1:
            parts[own[rng.permutation(len(own))]] = np.arange(len(own)) % min(n_splits, len(own))
        start += table.shape[1]
    if (parts < 0).all():
        msg = "The test holds features out, but no view has two of them: pass test=False."
        raise InvalidInputError(msg)
    return parts


def _given(X: Any) -> tuple[Any, list[int] | None]:
    """Return the samples as tables that columns can be left out of; the widths of several, or None for one table."""
    if isinstance(X, Views):
        return X, list(X.widths)
    if form_of(X) == "several":
        named = {name: _with_shape(table) for name, table in named_tables(X).items()}
        return named, [table.shape[1] for table in named.values()]
    return _with_shape(X), None


def _with_shape(table: Any) -> Any:
    return table if hasattr(table, "shape") else np.asarray(table)


def _kept(given: Any, widths: list[int] | None, keep: NDArray[np.bool_]) -> Any:
    if widths is None:
        return some_columns(given, np.flatnonzero(keep))
    each = [np.flatnonzero(part) for part in np.split(keep, np.cumsum(widths)[:-1])]
    if isinstance(given, Views):
        chosen = dict(zip(given.names, each, strict=True))
        return given.map({name: partial(some_columns, at=at) for name, at in chosen.items()})
    return {name: some_columns(table, at) for (name, table), at in zip(given.items(), each, strict=True)}


def _refitted(model: BaseEstimator, X: Any, y: LabelsLike | None, n_groups: int) -> Array:
    """Return the groups of the same model on other columns."""
    again = clone(model)
    possible = again.get_params(deep=False)
    changes = {"n_clusters": n_groups, "views": None}
    again.set_params(**{name: value for name, value in changes.items() if name in possible})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one of several fits: what they warn of shows in how far they differ
        again.fit(X) if y is None else again.fit(X, y)
    return np.asarray(again.transduction_ if hasattr(again, "transduction_") else again.labels_)


def _matched(
    labels: Array, names: Array, codes: NDArray[np.intp], *, by_name: bool
) -> tuple[NDArray[np.intp], NDArray[np.intp], Floats]:
    """Return the codes of new groups, the new group that matches each reported one (-1: none), and their overlaps."""
    from scipy.optimize import linear_sum_assignment

    found, again = encode_labels(labels, "labels_")
    both = np.zeros((len(names), len(found)))
    np.add.at(both, (codes, again), 1)
    overlap = both / (both.sum(axis=1, keepdims=True) + both.sum(axis=0) - both)
    match = np.full(len(names), -1)
    if by_name:
        place = {name: k for k, name in enumerate(found.tolist())}
        match[:] = [place.get(name, -1) for name in names.tolist()]
    else:
        rows, cols = linear_sum_assignment(overlap, maximize=True)
        match[rows] = cols
    return again, match, np.where(match >= 0, overlap[np.arange(len(names)), match], 0.0)


def _tested(columns: Columns, tested: NDArray[np.intp], codes: NDArray[np.intp], n_groups: int) -> Floats:
    """Return the p-values (c, n_tested) of some columns against the groups."""
    Y = indicators(codes, n_groups)
    kinds = np.array([columns.columns[j].kind == "category" for j in tested])
    found = np.ones((n_groups, len(tested)))
    step = max(1, 2**22 // columns.n_samples)
    numbers = np.flatnonzero(~kinds)
    for first in range(0, len(numbers), step):
        at = numbers[first : first + step]
        found[:, at] = p_values(columns.take(tested[at].tolist()), Y)
    for i in np.flatnonzero(kinds):
        j = int(tested[i])
        found[:, i] = category_p_values(columns.take([j])[:, 0], len(columns.columns[j].levels), Y)
    return found
