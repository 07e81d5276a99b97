"""A data frame with columns of several kinds, read as a block of numbers and one of categories, and read so again."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar

import narwhals as nw
import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Mask, Matrix, Vector
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.samples.column_kinds import (
    CATEGORICAL,
    REPEATED,
    Cells,
    Column,
    KindLike,
    cells_of,
    holds_numbers,
    tell_apart,
    values_of,
)
from kernelweave.samples.table import Table, as_narwhals, is_frame, is_plain
from kernelweave.samples.unread_texts import told_texts

__all__ = ["CATEGORIES", "NUMBERS", "ColumnChoices", "MixedTable", "fit_mixed", "is_mixed", "reasons_left_out"]

NUMBERS, CATEGORIES = "numbers", "categories"  # the blocks of a mixed table


@dataclass(frozen=True, slots=True)
class ColumnChoices:
    """What a user may choose about reading a mixed table.

    Parameters
    ----------
    kinds : mapping of column name to kind, optional
        The kinds of columns that should not be told by themselves: "number", "boolean", "category", "ordered",
        "date", "duration", "left out", or a list of ordered categories, the lowest first.
    standardize : bool, default=True
        Whether every column of numbers gets mean 0 and standard deviation 1 over the training samples.
    gaps : bool, default=True
        Whether a sample without any known cell in a block lacks the block. If not, its cells are filled as others are.
    """

    kinds: Mapping[str, KindLike] | None = None
    standardize: bool = True
    gaps: bool = True


@dataclass(frozen=True, slots=True)
class MixedTable:
    """How a mixed table was read, so that new tables can be read alike.

    Numbers, ordered categories (their ranks), dates and durations (in days) form the block "numbers": a missing cell
    gets the median of the known ones, then columns are standardised. Booleans and categories form the block
    "categories", one column of 0 and 1 per category: a missing cell gets the shares of the categories, so that it
    matches each as often as a known cell does on average; a category that is not known matches none.

    Parameters
    ----------
    columns : tuple of Column
        Every column, those that were left out too.
    standardize, gaps : bool
        As in `ColumnChoices`.
    """

    kind: ClassVar[str] = "mixed"

    columns: tuple[Column, ...]
    standardize: bool = True
    gaps: bool = True

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that were left out, and why."""
        return {column.name: column.reason for column in self.columns if column.kind == "left out"}

    @property
    def missing(self) -> dict[str, int]:
        """The number of missing cells of every column that has any, among the training samples."""
        return {column.name: column.missing for column in self.columns if column.missing and column.kind != "left out"}

    @property
    def blocks(self) -> dict[str, tuple[Column, ...]]:
        """The columns of every block."""
        used = [column for column in self.columns if column.kind != "left out"]
        parts = {
            NUMBERS: tuple(column for column in used if column.kind not in CATEGORICAL),
            CATEGORIES: tuple(column for column in used if column.kind in CATEGORICAL),
        }
        return {name: columns for name, columns in parts.items() if columns}

    def feature_names(self, block: str) -> tuple[str, ...]:
        """Return the name of every column of a block: "age", or "sex=male" for a category."""
        columns = self.blocks[block]
        if block == NUMBERS:
            return tuple(column.name for column in columns)
        return tuple(f"{column.name}={category}" for column in columns for category in column.categories)

    def read(self, thing: Any, view: str) -> dict[str, Table]:
        """Return the blocks of a new table; a warning says which columns and categories are not those of `fit`."""
        frame = as_frame(thing, view)
        self._check_columns([str(name) for name in frame.columns], view)
        used = [column for column in self.columns if column.kind != "left out"]
        cells = {column.name: _new_cells(frame, column) for column in used}
        _warn_of_unknown({column: _unknown(cells[column.name], column) for column in used if column.categories}, view)
        for column in used:
            if column.kind == "ordered":
                cells[column.name] = _ranks(cells[column.name], column)
        return self.tables(cells, nw.maybe_get_index(frame))

    def tables(self, cells: Mapping[str, Cells], index: Any) -> dict[str, Table]:
        """Return the blocks of a table from the cells of its columns; a row of NaN is a sample without the block."""
        found = {}
        for block, columns in self.blocks.items():
            parts = [
                _indicators(cells[column.name], column)
                if block == CATEGORIES
                else _numbers(cells[column.name], column, standardize=self.standardize)
                for column in columns
            ]
            values = np.hstack([part for part, _ in parts])
            if self.gaps:
                values[~np.any([known for _, known in parts], axis=0)] = np.nan
            kind = "table" if block == NUMBERS and not self.standardize else block
            found[block] = Table(values, index, self.feature_names(block), kind)
        return found

    def _check_columns(self, given: list[str], view: str) -> None:
        """Warn of columns that were not in `fit`, and of columns of `fit` that are absent; refuse if all are."""
        used = [column.name for column in self.columns if column.kind != "left out"]
        known = {column.name for column in self.columns}
        absent = [name for name in used if name not in given]
        if len(absent) == len(used):
            msg = (
                f"View {view!r} has none of the {counted(len(used), 'column')} that the model was fitted on "
                f"({_names(used)}); got {_names(given)}."
            )
            raise InvalidInputError(msg)
        extra = [name for name in given if name not in known]
        said = []
        if extra:
            said.append(f"{counted(len(extra), 'column')} not seen in fit, and not used: {_names(extra)}")
        if absent:
            said.append(f"{counted(len(absent), 'column')} of fit absent, read as missing cells: {_names(absent)}")
        if said:
            warnings.warn(f"View {view!r}: {'; '.join(said)}.", ColumnsWarning, stacklevel=3)

    def __str__(self) -> str:
        lines = []
        for column in self.columns:
            missing = f", {counted(column.missing, 'cell')} missing" if column.missing else ""
            of = f" of {len(column.categories)}" if column.categories and column.kind != "left out" else ""
            lines.append(f"{column.name}: {column.kind}{of}{missing} ({column.reason})")
        return "\n".join(lines)


def is_mixed(thing: Any) -> bool:
    """Return whether this is a data frame with columns that cannot be read as numbers."""
    frame = as_narwhals(thing) if is_frame(thing) and not is_plain(thing) else None
    if frame is None:
        return False
    others = [name for name, kind in frame.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
    return not all(holds_numbers(frame.get_column(name)) for name in others)  # names may be numbers


def fit_mixed(thing: Any, view: str, choices: ColumnChoices | None = None) -> tuple[MixedTable, dict[str, Table]]:
    """Return how a data frame is read, and its blocks.

    A warning names the columns that are left out, and says that the table is mixed if that was not asked for.
    """
    told, choices = choices is None, choices or ColumnChoices()
    frame = as_frame(thing, view)
    kinds = {str(name): kind for name, kind in (choices.kinds or {}).items()}  # names of columns may be numbers
    names = [str(name) for name in frame.columns]
    unknown = [name for name in kinds if name not in names]
    if unknown:
        msg = f"kinds names the column {unknown[0]!r}, but the columns of {view!r} are {_names(names)}."
        raise InvalidInputError(msg)
    read = [
        _fit_column(frame.get_column(original), name, kinds.get(name))
        for original, name in zip(frame.columns, names, strict=True)
    ]
    table = MixedTable(tuple(column for column, _ in read), choices.standardize, choices.gaps)
    if not table.blocks:
        reasons = "; ".join(f"{name!r}: {reason}" for name, reason in table.left_out.items())
        msg = f"View {view!r} has no column that tells samples apart ({reasons}): choose kinds with Mixed(kinds=...)."
        raise InvalidInputError(msg)
    _say(table, view, kinds, told=told)
    return table, table.tables({column.name: cells for column, cells in read}, nw.maybe_get_index(frame))


def _say(table: MixedTable, view: str, kinds: Mapping[str, KindLike], *, told: bool) -> None:
    """Warn of columns that are left out, but for those chosen to be, and of a table that was found to be mixed."""
    said, advice = [], []
    if told:
        blocks = " and ".join(f"{counted(len(cols), 'column')} of {name}" for name, cols in table.blocks.items())
        missing = sum(table.missing.values())
        cells = f", {counted(missing, 'cell')} missing" if missing else ""
        said.append(f"{view!r} has columns that are not numbers, so it is read as a mixed table: {blocks}{cells}.")
        advice.append('kernels="mixed" says that this is meant, and takes the recipe "auto" for numbers.')
    left = {name: reason for name, reason in table.left_out.items() if kinds.get(name) != "left out"}
    if left:
        shown = "; ".join(f"{name!r}: {reason}" for name, reason in left.items())
        count = f"{counted(len(left), 'column')} of {view!r} {'is' if len(left) == 1 else 'are'}"
        said.append(f"{count} left out ({shown}).")
        advice.append("kernels=Mixed(kinds={...}) chooses the kind of a column.")
    doubted = [
        f"{column.name!r}: {doubt}"
        for column in table.columns
        if column.kind == "category" and column.reason.startswith(REPEATED) and (doubt := told_texts(column.categories))
    ]
    if doubted:
        advice.append(f"Some categories may be measurements ({'; '.join(doubted)}).")
    if said:
        advice.append("model.readings_ tells how every column was read.")
        warnings.warn(ColumnsWarning(" ".join(said), " ".join(advice)), stacklevel=3)


def as_frame(thing: Any, view: str) -> Any:
    """Return a data frame of any supported library as one of narwhals; its column names must differ."""
    if not is_frame(thing):
        msg = f"View {view!r} was read as a mixed table: pass a data frame in memory; got {type(thing).__name__}."
        raise InvalidInputError(msg)
    frame = as_narwhals(thing)
    twice = [name for name, count in Counter(map(str, thing.columns)).items() if count > 1]
    if frame is None or twice:
        what = f"several columns called {twice[0]!r}" if twice else f"the type {type(thing).__name__}"
        msg = f"View {view!r} has {what}: pass a data frame in memory with different names of columns."
        raise InvalidInputError(msg)
    return frame


def reasons_left_out(thing: Any) -> dict[str, str]:
    """Return the columns of a data frame that cannot be used, and why, also if that is so of all."""
    frame = as_frame(thing, "X")
    reasons = {}
    for name in map(str, frame.columns):
        try:
            column, _ = _fit_column(frame.get_column(name), name, None)
        except InvalidInputError as error:
            reasons[name] = str(error).rstrip(".")
        else:
            reasons |= {name: column.reason} if column.kind == "left out" else {}
    return reasons


def _fit_column(series: Any, name: str, given: KindLike | None) -> tuple[Column, Cells]:
    """Return how a column is read, and its cells."""
    kind, reason, order, values = tell_apart(series, given)
    column = Column(name, kind, reason)
    if kind == "left out":
        return column, np.empty(0)
    cells = cells_of(kind, values, name)
    if kind == "ordered":
        column = replace(column, categories=order)
        if odd := _unknown(cells, column):
            msg = (
                f"Column {name!r} holds {_listed(odd)}, which has no place in the order {_names(order)}: add it to the "
                "order, or make it missing."
            )
            raise InvalidInputError(msg)
        cells = _ranks(cells, column)
    if isinstance(cells, list):
        return _with_shares(column, cells), cells
    return _with_moments(column, cells)


def _with_shares(column: Column, cells: list[str | None]) -> Column:
    """Return a column of categories with their shares; one category alone tells nothing."""
    counts = Counter(cell for cell in cells if cell is not None)
    known = sum(counts.values())
    if len(counts) < 2:
        return replace(column, kind="left out", reason="it is constant" if counts else "it has no values")
    categories = tuple(sorted(counts))
    shares = tuple(counts[category] / known for category in categories)
    return replace(column, missing=len(cells) - known, categories=categories, shares=shares)


def _with_moments(column: Column, cells: Vector) -> tuple[Column, Vector]:
    """Return a column of numbers with their moments, and its cells; dates are counted from the first."""
    known = cells[~np.isnan(cells)]
    if len(known) == 0 or known.min() == known.max():
        return replace(column, kind="left out", reason="it is constant" if len(known) else "it has no values"), cells
    if column.kind == "date":
        first = datetime(1970, 1, 1) + timedelta(days=float(known.min()))
        column = replace(column, origin=first.isoformat())
        cells, known = _since(cells, column), _since(known, column)
    with np.errstate(over="ignore", invalid="ignore"):
        moments = {"fill": float(np.median(known)), "mean": float(known.mean()), "deviation": float(known.std())}
    if not np.isfinite(moments["deviation"]) or moments["deviation"] == 0:
        msg = f"Column {column.name!r} has values that are too large or too small to be squared: use another unit."
        raise InvalidInputError(msg)
    return replace(column, missing=int(np.isnan(cells).sum()), **moments), cells  # type: ignore[arg-type]


def _since(days: Vector, column: Column) -> Vector:
    """Return dates, given in days since 1970, in days since the first of the training samples."""
    first = datetime.fromisoformat(str(column.origin)) - datetime(1970, 1, 1)
    return np.asarray(days - first / timedelta(days=1))


def _ranks(cells: Cells, column: Column) -> Vector:
    """Return the ranks of ordered categories, from 0; one that is not known has none and is missing."""
    rank = {category: float(i) for i, category in enumerate(column.categories)}
    return np.array([rank.get(str(cell), np.nan) if cell is not None else np.nan for cell in cells], dtype=np.float64)


def _new_cells(frame: Any, column: Column) -> Cells:
    """Return the cells of a column of a new table, in the kind of `fit`; all are missing if it is absent."""
    place = {str(name): name for name in frame.columns}
    if column.name not in place:
        return [None] * len(frame) if column.categories else np.full(len(frame), np.nan)
    cells = cells_of(column.kind, values_of(frame.get_column(place[column.name])), column.name)
    return _since(np.asarray(cells), column) if column.kind == "date" else cells


def _warn_of_unknown(found: Mapping[Column, Counter[str]], view: str) -> None:
    """Warn of categories that were not in `fit`, with their counts."""
    unknown = {column: counts for column, counts in found.items() if counts}
    if not unknown:
        return
    shown = "; ".join(f"{column.name!r}: {_listed(counts)}" for column, counts in unknown.items())
    total = sum(sum(counts.values()) for counts in unknown.values())
    ordered = ", those of ordered columns are missing cells" if any(c.kind == "ordered" for c in unknown) else ""
    msg = (
        f"View {view!r} holds categories that were not in fit, in {counted(total, 'cell')}: {shown}. They match no "
        f"training sample{ordered}."
    )
    warnings.warn(msg, ColumnsWarning, stacklevel=3)


def _numbers(cells: Cells, column: Column, *, standardize: bool) -> tuple[Matrix, Mask]:
    """Return a column of numbers, missing ones filled, and which are known."""
    values = np.asarray(cells, dtype=np.float64)
    known = ~np.isnan(values)
    values = np.where(known, values, column.fill)
    if standardize:
        with np.errstate(over="ignore"):  # refused below
            values = (values - column.mean) / column.deviation
        if not np.isfinite(values).all():
            msg = (
                f"Column {column.name!r} holds values that are too far from its mean of {column.mean:g} to be "
                "standardised: check its unit."
            )
            raise InvalidInputError(msg)
    return values[:, None], known


def _indicators(cells: Cells, column: Column) -> tuple[Matrix, Mask]:
    """Return a column of 0 and 1 for every category, shares where a cell is missing, and which cells are known."""
    place = {category: i for i, category in enumerate(column.categories)}
    values = np.zeros((len(cells), len(place)))
    known = np.array([cell is not None for cell in cells], dtype=bool)
    values[~known] = column.shares
    hits = [(i, place[str(cell)]) for i, cell in enumerate(cells) if cell is not None and cell in place]
    if hits:
        values[tuple(np.array(hits).T)] = 1
    return values, known


def _unknown(cells: Cells, column: Column) -> Counter[str]:
    known = set(column.categories)
    return Counter(str(cell) for cell in cells if cell is not None and cell not in known)


def _listed(found: Counter[str]) -> str:
    shown = ", ".join(f"{name!r} ({count})" for name, count in found.most_common(3))
    return shown + (f" and {len(found) - 3} more" if len(found) > 3 else "")


def _names(names: Any) -> str:
    names = list(names)
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
