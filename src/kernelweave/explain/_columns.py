"""The columns of a user's samples: numbers, categories and dates, with their names, block by block."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Array, Mask, Samples, Tables
from kernelweave.errors import InvalidInputError
from kernelweave.explain._frames import some_columns
from kernelweave.explain._groups import Grouped, sample_names
from kernelweave.explain._units import checked_units
from kernelweave.samples import Views
from kernelweave.samples.column_kinds import Kind as FittedKind
from kernelweave.samples.column_kinds import cells_of, tell_apart, values_of
from kernelweave.samples.comparisons import Distances, Graph
from kernelweave.samples.mixed_table import MixedTable
from kernelweave.samples.numbers import unmasked
from kernelweave.samples.reader import form_of, in_columns_of_fit
from kernelweave.samples.table import (
    counts_rows,
    counts_rows_elsewhere,
    is_frame,
    names_of_rows,
    plain_names,
    without_sparse_columns,
)
from kernelweave.samples.view_columns import view_columns
from kernelweave.samples.views import named_tables

__all__ = ["Column", "Columns", "Kind", "read_columns", "split_views"]

Kind: TypeAlias = Literal["number", "category", "date"]

_BLOCK = 2**22  # numbers that are made dense at a time
_LARGEST = 1e150  # of the values


@dataclass(frozen=True, slots=True)
class Column:
    """The name, view, kind and unit of a column; `levels` are the categories behind its codes.

    `used` is False for a column that the model left out of its fit.
    """

    name: str
    view: str
    kind: Kind = "number"
    levels: tuple[str, ...] = ()
    unit: str = ""
    used: bool = True

    @property
    def title(self) -> str:
        """The name, after that of the view if there are several."""
        return f"{self.view}: {self.name}" if self.view else self.name


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of numbers in one or several tables; categories are codes, and what is missing is NaN.

    `tables` hold the rows of the samples that each view has, which `present` (n_views, n_samples) tells. `names` are
    those of the samples, None if they have none; `counted` tells that data frames only count them. `order` tells where
    X has each sample, None if X has the same order.
    """

    columns: tuple[Column, ...]
    tables: tuple[Samples, ...]
    present: Mask
    names: Array | None = None
    counted: bool = False
    order: NDArray[np.intp] | None = None

    def in_units(self, units: Mapping[str, str]) -> Columns:
        """Return the columns with their units, which are given by title or by name; durations are in days."""
        given = checked_units(units, self.columns)
        found = [given.get(column.title, given.get(column.name, column.unit)) for column in self.columns]
        columns = (replace(column, unit=unit) for column, unit in zip(self.columns, found, strict=True))
        return replace(self, columns=tuple(columns))

    @property
    def has_units(self) -> bool:
        """Whether a column has a unit."""
        return any(column.unit for column in self.columns)

    @property
    def used(self) -> Mask:
        """Which columns the model used."""
        return np.array([column.used for column in self.columns], dtype=bool)

    @property
    def n_samples(self) -> int:
        """The number of samples."""
        return int(self.present.shape[1])

    def __len__(self) -> int:
        return len(self.columns)

    def blocks(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Yield the positions of some columns and their values (n_samples, b), until all columns were seen."""
        start = 0
        step = max(1, _BLOCK // max(1, self.n_samples))
        for v, table in enumerate(self.tables):
            columns = sparse.csc_array(table) if sparse.issparse(table) else table
            for first in range(0, table.shape[1], step):
                part = columns[:, first : first + step]
                yield start + np.arange(first, first + part.shape[1]), self._of_all(part, v)
            start += table.shape[1]

    def take(self, wanted: Sequence[int]) -> NDArray[np.float64]:
        """Return the values of some columns, (n_samples, n_wanted)."""
        found = np.empty((self.n_samples, len(wanted)))
        ends = np.cumsum([table.shape[1] for table in self.tables])
        at = np.asarray(wanted, dtype=np.intp)
        view = np.searchsorted(ends, at, side="right")
        for v, table in enumerate(self.tables):
            here = np.flatnonzero(view == v)
            if len(here):
                columns = sparse.csc_array(table) if sparse.issparse(table) else table
                found[:, here] = self._of_all(columns[:, at[here] - (ends[v] - table.shape[1])], v)
        return found

    def _of_all(self, part: Samples, v: int) -> NDArray[np.float64]:
        values = np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=np.float64)
        values = np.where(np.isinf(values), np.nan, values)
        if self.present[v].all():
            return values
        whole = np.full((self.n_samples, values.shape[1]), np.nan)
        whole[self.present[v]] = values
        return whole


def read_columns(X: Tables, n_samples: int, model: Grouped, *, gaps: bool = False) -> Columns:
    """Return the columns of one table, or of all views, with one row for each of the model's samples.

    Samples are found by the names of the model's samples, if X has names too. With `gaps`, X may lack some.
    """
    kinds = {} if gaps else _kinds(model)  # metadata are other columns than those of fit
    found = _views(X, kinds) if _several(X) else _one(X, kinds.get("X", {}))
    names = sample_names(model)
    _refuse_row_numbers(found, names, model)
    if gaps or found.n_samples == n_samples:
        found = _ordered(found, names, gaps=gaps)
    if found.n_samples != n_samples:
        msg = (
            f"X must hold the model's {counted(n_samples, 'sample')}; got {counted(found.n_samples, 'row')}. Pass all "
            "tables of the fit, or reindex one that lacks samples to model.sample_names_."
        )
        raise InvalidInputError(msg)
    for table in found.tables:
        _check_magnitude(table.data if sparse.issparse(table) else table)
    return found


def _ordered(found: Columns, names: Array | None, *, gaps: bool) -> Columns:
    """Return columns whose samples are those of the model, in its order, if both have names."""
    if names is None or found.names is None:
        return found
    names, own = plain_names(names), plain_names(found.names)
    if np.array_equal(own, names):
        return found
    place = {name: i for i, name in enumerate(own.tolist())}
    order = np.array([place.get(name, -1) for name in names.tolist()], dtype=np.intp)
    lacking = names[order < 0].tolist()
    if len(lacking) == len(names) or (lacking and not gaps):
        msg = (
            f"The index of X names {len(names) - len(lacking)} of the model's {counted(len(names), 'sample')}, and not "
            f"{lacking[0]!r}: name the samples as in fit (model.sample_names_), or pass an array in their order."
        )
        raise InvalidInputError(msg)
    present = found.present[:, order] & (order >= 0)
    rows = [(np.cumsum(had) - 1)[order[has]] for had, has in zip(found.present, present, strict=True)]
    tables = tuple(table[at] for table, at in zip(found.tables, rows, strict=True))
    return replace(found, tables=tables, present=present, names=names, order=order)


def _refuse_row_numbers(found: Columns, names: Array | None, model: Grouped) -> None:
    """Refuse tables if their rows are counted and the samples of fit are shuffled numbers, or the other way round.

    They may be the table from which the samples were shuffled, or the shuffled one with a new index.
    """
    if found.counted and names is not None and len(names) == found.n_samples and counts_rows_elsewhere(names):
        msg = (
            "The rows of X are counted from 0, but the samples of fit were the same numbers in another order: pass "
            "X.loc[model.sample_names_], or X.to_numpy() if its order is that of fit."
        )
        raise InvalidInputError(msg)
    if names is None and _fitted_on_frames(model) and counts_rows_elsewhere(found.names):
        msg = (
            "The samples of fit were counted from 0, but the rows of X have the same numbers in another order: pass "
            "X.sort_index(), or X.reset_index(drop=True) if its order is that of fit."
        )
        raise InvalidInputError(msg)


def _fitted_on_frames(model: Grouped) -> bool:
    """Return whether a model was fitted on data frames, or labels are a series: their rows have at least numbers."""
    if counts_rows(getattr(model, "index", None)):
        return True
    readings = getattr(model, "readings_", {}).values()
    named = (isinstance(one, MixedTable) or getattr(one, "names", None) is not None for one in readings)
    return hasattr(model, "feature_names_in_") or hasattr(model, "column_names_") or any(named)


def _check_magnitude(values: Array) -> None:
    """Refuse numbers whose squares do not fit in floating point; infinite ones count as missing."""
    largest = float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))
    if largest > _LARGEST:
        msg = f"X has values up to {largest:.3g}, whose squares are too large to explain: divide it by a constant."
        raise InvalidInputError(msg)


def split_views(model: Grouped, X: Tables) -> Tables:
    """Return the views of one table as a dict if the model has the parameter `views`; otherwise X as it is."""
    views = getattr(model, "views", None)
    if views is None or _several(X):
        return X
    names = getattr(model, "feature_names_in_", None)
    texts = getattr(model, "column_names_", names)  # also of names that are numbers
    table = in_columns_of_fit(model, X) if is_frame(X) else X if hasattr(X, "shape") else np.asarray(X)
    _check_table(table)
    return {
        str(name): some_columns(table, view_columns(name, spec, table.shape[1], names, texts=texts))
        for name, spec in views.items()
    }


def _several(X: Any) -> bool:
    """Return whether X is several tables, by the rule of `fit`; samples that are read in chunks are refused."""
    form = form_of(X)
    if form == "chunks":
        msg = (
            f"X must be a table of numbers in memory; got {type(X).__name__}, which is read in chunks: load the table "
            "first, or leave X out."
        )
        raise InvalidInputError(msg)
    return form == "several"


def _kinds(model: Grouped) -> dict[str, dict[str, FittedKind]]:
    """Return the kinds in which a model read the columns of its mixed tables, by the table."""
    readings = getattr(model, "readings_", {}).items()
    mixed = {name: one.columns for name, one in readings if isinstance(one, MixedTable)}
    return {name: {column.name: column.kind for column in columns} for name, columns in mixed.items()}


def _one(X: Any, kinds: Mapping[str, FittedKind]) -> Columns:
    table, columns = _encoded(X, kinds)
    present, counted = np.ones((1, table.shape[0]), dtype=bool), counts_rows(getattr(X, "index", None))
    return Columns(columns, (table,), present, names_of_rows(X), counted)


def _views(X: Any, kinds: Mapping[str, Mapping[str, FittedKind]]) -> Columns:
    """Return the columns of all views, whose samples are aligned as in `fit`."""
    if isinstance(X, Views):
        views, encoded, tables = X, [_encoded(table, {}) for table in X.tables], X.tables
    else:
        named = named_tables(X)
        _refuse_comparisons(named)
        encoded = [_encoded(table, kinds.get(name, {})) for name, table in named.items()]
        pairs = zip(named.items(), encoded, strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fit has said what it found in the names of the samples
            views = Views({name: _row_numbers(table, numbers) for (name, table), (numbers, _) in pairs})
        rows = [table[:, 0].astype(np.intp) for table in views.tables]
        tables = tuple(numbers[own] for (numbers, _), own in zip(encoded, rows, strict=True))
    several = len(views.names) > 1
    columns = [
        replace(column, view=view if several else "")
        for view, (_, found) in zip(views.names, encoded, strict=True)
        for column in found
    ]
    return Columns(tuple(columns), tables, views.present, views.sample_names, views.counted)


def _refuse_comparisons(named: Mapping[str, Any]) -> None:
    """Refuse distances and graphs, which have no columns that describe samples."""
    for name, table in named.items():
        if isinstance(table, Distances | Graph):
            msg = (
                f"View {name!r} is {type(table).__name__}, which compares samples and has no columns to explain: pass "
                "tables that describe the samples, or leave X out."
            )
            raise InvalidInputError(msg)


def _row_numbers(table: Any, numbers: Samples) -> Any:
    """Return a column that numbers the rows, by their names if they have any, so that views can be aligned.

    It is NaN for a row without any value: the sample lacks the view. Cells that are missing do not matter here.
    """
    rows = np.arange(numbers.shape[0], dtype=np.float64)[:, None]
    if not sparse.issparse(numbers):
        rows[np.isnan(numbers).all(axis=1)] = np.nan
    index = getattr(table, "obs_names", getattr(table, "index", None))
    if index is None or callable(index):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, index=index)


def _encoded(table: Any, kinds: Mapping[str, FittedKind]) -> tuple[Any, tuple[Column, ...]]:
    """Return a table as numbers, dense or sparse, and its columns; `kinds` are those in which fit read them."""
    if hasattr(table, "var_names"):
        numbers, columns = _encoded(table.X, kinds)
        names = [str(name) for name in table.var_names]
        return numbers, tuple(Column(name, "") for name, _ in zip(names, columns, strict=True))
    if sparse.issparse(table):
        table = sparse.csr_array(table)
        return table, tuple(Column(str(j), "") for j in range(table.shape[1]))
    try:
        frame = nw.from_native(without_sparse_columns(table), eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            return _encoded_frame(frame, kinds)
        values = _real(np.asarray(unmasked(table) if isinstance(table, np.ma.MaskedArray) else table))
    except nw.exceptions.DuplicateError as error:
        msg = f"The columns of X must have different names, by which they are explained ({error}): rename them."
        raise InvalidInputError(msg) from error
    except (TypeError, ValueError) as error:
        msg = f"X must be a table of numbers in memory; got {type(table).__name__} ({error}): leave X out."
        raise InvalidInputError(msg) from error
    _check_table(values)
    return values, tuple(Column(str(j), "") for j in range(values.shape[1]))


def _check_table(table: Any) -> None:
    if len(table.shape) != 2:
        msg = f"X must be a table of samples by features; got {counted(len(table.shape), 'dimension')}."
        raise InvalidInputError(msg)


def _encoded_frame(frame: nw.DataFrame[Any], kinds: Mapping[str, FittedKind]) -> tuple[Array, tuple[Column, ...]]:
    names = [str(name) for name in getattr(nw.to_native(frame), "columns", frame.columns)]
    used = [kinds.get(name) != "left out" for name in names]
    if all(dtype.is_numeric() for dtype in frame.schema.values()):
        return _floats(frame), tuple(Column(name, "", used=own) for name, own in zip(names, used, strict=True))
    values = np.empty((len(frame), len(names)))
    columns = []
    for j, (name, series) in enumerate(zip(names, frame.iter_columns(), strict=True)):
        values[:, j], kind, levels = _encoded_series(series, kinds.get(name))
        unit = "days" if kind == "duration" else ""
        columns.append(Column(name, "", "number" if kind == "duration" else kind, levels, unit, used[j]))
    return values, tuple(columns)


def _real(values: Array) -> NDArray[np.float64]:
    if values.dtype.kind in "cmM":
        msg = f"numbers are real; got {values.dtype}"
        raise TypeError(msg)
    return values.astype(np.float64)


def _floats(frame: nw.DataFrame[Any]) -> Array:
    native = nw.to_native(frame)
    try:
        return _real(np.asarray(native))
    except (TypeError, ValueError):  # pandas.NA
        return np.column_stack([_encoded_series(series, None)[0] for series in frame.iter_columns()])


def _encoded_series(
    series: nw.Series[Any], fitted: FittedKind | None
) -> tuple[Array, Kind | Literal["duration"], tuple[str, ...]]:
    """Return a column as numbers, its kind, and its categories; `fitted` is the kind of its cells in fit."""
    missing = series.is_null().to_numpy()
    if series.dtype.is_numeric():
        filled = series.fill_null(0).to_numpy() if missing.any() else series.to_numpy()
        return np.where(missing, np.nan, _real(np.asarray(filled))), "number", ()
    if series.dtype in (nw.Date, nw.Datetime):
        days = np.asarray(series.to_numpy(), dtype="datetime64[s]").astype(np.float64) / 86400
        return np.where(missing, np.nan, days), "date", ()
    if series.dtype in (nw.String, nw.Object, nw.Duration, nw.Time, nw.Unknown):  # such as the other byte order
        kind = fitted or tell_apart(series, None)[0]  # by the rules of fit
        if kind in ("number", "date", "duration"):
            return np.asarray(cells_of(kind, values_of(series), str(series.name))), kind, ()
    texts = np.array(["" if gap else str(entry) for entry, gap in zip(series.to_list(), missing, strict=True)])
    levels, codes = np.unique(texts[~missing], return_inverse=True)
    values = np.full(len(texts), np.nan)
    values[~missing] = codes
    return values, "category", tuple(map(str, levels))
