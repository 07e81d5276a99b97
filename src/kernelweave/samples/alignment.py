"""Alignment of the samples of several tables, and which samples each table has."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Array, Mask, Samples
from kernelweave.errors import InvalidInputError
from kernelweave.samples.spellings import spelled_alike
from kernelweave.samples.table import Table, counts_rows, counts_rows_elsewhere

__all__ = ["Unlinked", "align", "examples", "holds_ids", "known_rows", "need_samples", "unlinked"]

_LINKED = 0.05  # of the smaller table; tables that share fewer samples than this name them differently


def align(tables: Mapping[str, Table]) -> tuple[int, NDArray[Any] | None, dict[str, NDArray[np.intp]]]:
    """Return the number of samples, their names if tables have an index, and the sample of each row of each table."""
    indexed = _indexes(tables)
    for name, index in indexed.items():
        _need_names(index, name)
    if not indexed:
        return _by_position(tables)
    _need_shared(indexed, tables)
    _say_alike(indexed)
    first = next(iter(indexed.values()))
    samples = first
    for index in indexed.values():
        samples = _joined(samples, index)
    for name, table in tables.items():
        if name not in indexed and table.values.shape[0] != len(samples):
            lacks = "has no index" if table.index is None else "has an index that only counts rows, and none"
            msg = (
                f"View {name!r} {lacks} to align its {counted(table.values.shape[0], 'row')} by, but "
                f"{next(iter(indexed))!r} has, of {counted(len(samples), 'sample')}: give it that index."
            )
            raise InvalidInputError(msg)
        if name not in indexed and not all(index.equals(samples) for index in indexed.values()):
            msg = (
                f"View {name!r} has no index, but the other views list their samples in different orders: give it an "
                "index, or put all in one order."
            )
            raise InvalidInputError(msg)
    rows = {name: samples.get_indexer(indexed[name]) if name in indexed else np.arange(len(samples)) for name in tables}
    return len(samples), np.asarray(samples), rows


def _joined(samples: Any, index: Any) -> Any:
    """Return the samples, followed by those that only this index has."""
    further = index[~index.isin(samples)]
    return samples.append(further) if len(further) else samples  # pandas warns of empty indexes of another type


def _indexes(tables: Mapping[str, Table]) -> dict[str, Any]:
    """Return the indexes that name samples, by the table; one that only counts rows does not.

    It is refused beside the same numbers in another order. One of the tables may have been sorted or shuffled since, or
    may have lost its index in the same order: it cannot be told which rows belong together.
    """
    indexes = {name: table.index for name, table in tables.items() if table.index is not None}
    plain = {len(index): name for name, index in indexes.items() if counts_rows(index)}
    for name, index in indexes.items():
        if len(index) in plain and counts_rows_elsewhere(index):
            msg = (
                f"View {plain[len(index)]!r} counts its rows 0, 1, 2, ..., and the index of view {name!r} has the same "
                "numbers in another order. If the numbers name the samples, put both in one order with sort_index(); "
                "if their rows are in one order already, call reset_index(drop=True) for both."
            )
            raise InvalidInputError(msg)
    return {name: index for name, index in indexes.items() if not counts_rows(index)}


def _need_names(index: Any, view: str) -> None:
    """Refuse an index that names a sample twice, or not at all."""
    if index.nlevels == 1 and index.hasnans:
        row = int(np.flatnonzero(index.isna())[0])
        msg = f"The index of view {view!r} has no name for the sample in row {row}: name it, or leave the row out."
        raise InvalidInputError(msg)
    if not index.is_unique:
        twice = index[index.duplicated()].tolist()[0]
        msg = f"The index of view {view!r} holds {twice!r} more than once: give every sample one row."
        raise InvalidInputError(msg)


def _say_alike(indexes: Mapping[str, Any]) -> None:
    """Say which samples may be the same, since their names in two views are nearly the same text."""
    found = spelled_alike(indexes)
    if found:
        (one, own), (other, again) = found[0]
        msg = (
            f"{counted(len(found), 'pair')} of samples may be one sample each, since their names are nearly the same "
            f"text, such as {own!r} in view {one!r} and {again!r} in view {other!r}. They are taken as different "
            "samples: write the name of a sample alike in every table."
        )
        warnings.warn(msg, UserWarning, stacklevel=4)


@dataclass(frozen=True, slots=True)
class Unlinked:
    """A view that shares hardly any sample with others: its name, theirs, and how many samples it shares."""

    view: str
    others: tuple[str, ...]
    shared: int


def unlinked(indexes: Mapping[str, Any]) -> Unlinked | None:
    """Return a view that shares hardly any sample with the others, or None.

    Views may be linked through others: a sample of the first need not be in the last. `indexes` are pandas indexes.
    """
    (first, joined), *rest = indexes.items()
    names = [first]
    while rest:
        shared = [int(index.isin(joined).sum()) for _, index in rest]
        smaller = [min(len(index), len(joined)) for _, index in rest]
        linked = [i for i, (both, size) in enumerate(zip(shared, smaller, strict=True)) if both >= _LINKED * size]
        if not linked:
            return Unlinked(rest[0][0], tuple(names), shared[0])
        name, index = rest.pop(linked[0])
        names.append(name)
        joined = _joined(joined, index)
    return None


def _need_shared(indexes: Mapping[str, Any], tables: Mapping[str, Table]) -> None:
    """Refuse views whose samples are (nearly) all different: most likely they are named in different ways."""
    found = unlinked(indexes)
    if found is None:
        return
    own, other = indexes[found.view], found.others[0]
    for one, another in ((found.view, other), (other, found.view)):
        if holds_ids(tables[one].columns or (), indexes[another]):
            msg = (
                f"The columns of view {one!r} have the names of the samples of {another!r}: transpose (.T) the view "
                "whose rows are not samples."
            )
            raise InvalidInputError(msg)
    msg = (
        f"View {found.view!r} shares {found.shared or 'none'} of its {counted(len(own), 'sample')} with "
        f"{', '.join(map(repr, found.others))}: its index holds {examples(own)}, that of {other!r} "
        f"{examples(indexes[other])}. Name a sample alike in every index. If the samples do differ, reindex every "
        "table to all samples, so that those it lacks are rows of NaN."
    )
    raise InvalidInputError(msg)


def holds_ids(columns: Iterable[object], index: Iterable[object]) -> bool:
    """Return whether columns have the names of samples: of half of those in an index, or more."""
    names = set(map(str, columns))
    found = [str(name) in names for name in index]
    return sum(found) >= len(found) / 2


def examples(index: Any) -> str:
    """Return the first names of samples, for a message."""
    return ", ".join(map(repr, index[:2].tolist())) + (" ..." if len(index) > 2 else "")


def _by_position(tables: Mapping[str, Table]) -> tuple[int, None, dict[str, NDArray[np.intp]]]:
    lengths = {name: table.values.shape[0] for name, table in tables.items()}
    first, n = next(iter(lengths.items()))
    for name, length in lengths.items():
        if length != n:
            msg = (
                f"All views must hold the same samples: {first!r} has {n}, {name!r} has {length}. Align them, one row "
                "per sample (a row of NaN where a sample lacks the view), or give data frames an index."
            )
            raise InvalidInputError(msg)
    return n, None, {name: np.arange(n) for name in tables}


def known_rows(values: Samples, name: str) -> Mask:
    """Return which rows are finite; a row of NaN only is a sample missing from this view, other NaN is an error."""
    if sparse.issparse(values):
        lacking = np.add.reduceat(np.r_[np.isnan(values.data), 0], values.indptr[:-1]) * (np.diff(values.indptr) > 0)
        bad = ~np.isfinite(values.data)
    else:
        lacking = np.isnan(values).sum(axis=1)
        bad = ~np.isfinite(values)
    missing = lacking == values.shape[1]
    if not bad.any():
        return np.ones(values.shape[0], dtype=bool)
    rows, cols = _positions(values, bad)
    partly = ~missing[rows]
    if partly.any():
        i, j = rows[partly][0], cols[partly][0]
        msg = (
            f"View {name!r} holds NaN or infinity at row {i}, column {j} ({np.count_nonzero(partly)} in all). A sample "
            "may lack a view as a whole (a row of NaN), not a part of it: impute the value or drop the column."
        )
        raise InvalidInputError(msg)
    return np.asarray(~missing)


def _positions(values: Any, bad: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    if not sparse.issparse(values):
        rows, cols = np.nonzero(bad)
        return rows, cols
    rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
    return rows[bad], values.indices[bad]


def need_samples(present: Mask, names: tuple[str, ...], samples: Array | None, *, least: int) -> None:
    """Refuse a view with fewer than `least` samples, and a sample that is in no view."""
    for name, known in zip(names, present, strict=True):
        if (count := np.count_nonzero(known)) < least:
            msg = f"View {name!r} has {count} of {len(known)} samples; at least {least} are needed. Leave the view out."
            raise InvalidInputError(msg)
    nowhere = np.flatnonzero(~present.any(axis=0))
    if len(nowhere):
        shown = nowhere[:3] if samples is None else samples[nowhere[:3]]
        more = "" if len(nowhere) <= 3 else f" and {len(nowhere) - 3} more"
        msg = (
            f"There is no data for {counted(len(nowhere), 'sample')}, which every view lacks: "
            f"{', '.join(map(str, shown))}{more}. Remove samples without data."
        )
        raise InvalidInputError(msg)
