"""Tables with typed columns: Parquet and Feather files, and data frames of other readers, with their index."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave.runtime import check_memory
from kernelweave.tabular.column_hints import with_hints
from kernelweave.tabular.delimited import (
    clean_frame,
    distinct_names,
    finished,
)
from kernelweave.tabular.heading import level_names
from kernelweave.tabular.number_style import style_of, told_style
from kernelweave.tabular.number_text import Style, named_units, text_columns
from kernelweave.tabular.packages import need, pandas
from kernelweave.tabular.problems import Problem, TableError, Way, shown, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import examples, find_id, repeated, text_of
from kernelweave.tabular.table_file import TableFile, named_rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["parquet_parts", "read_feather", "read_parquet", "table_of_columns", "typed_table"]

_NAMES = "\0names"  # a column that no file has
_PEEKED = 100  # rows


def read_parquet(path: Path, options: ReadOptions) -> TableFile:
    """Return a Parquet file."""
    parquet = need("pyarrow.parquet", "Parquet files are", "cli")
    shape = parquet.read_metadata(path)
    advice = "read a part of it in Python, and write that"
    check_memory(8 * shape.num_rows * shape.num_columns, what=f"Reading {path}", advice=advice)
    return typed_table(pandas().read_parquet(path), path, options)


def parquet_parts(path: Path, options: ReadOptions, rows: int) -> Iterator[TableFile]:
    """Yield a Parquet file in parts of so many rows."""
    parquet = need("pyarrow.parquet", "Parquet files are", "cli")
    pyarrow = need("pyarrow", "Parquet files are", "cli")
    with parquet.ParquetFile(path) as file:
        counted, start = _counting_index(file.schema_arrow.pandas_metadata), 0
        for batch in file.iter_batches(batch_size=rows):
            table = pyarrow.Table.from_batches([batch]).to_pandas()
            if counted is not None:
                table.index = counted[start : start + len(table)]
            start += len(table)
            yield typed_table(table, path, options)


def _counting_index(metadata: Mapping[str, Any] | None) -> Any:
    """Return the index of a Parquet file that is stored as a range with a start and a step; None if it is not.

    pandas gives it to the whole table, but numbers every part from 0.
    """
    stored = (metadata or {}).get("index_columns") or [None]
    index = stored[0]
    if not isinstance(index, dict) or (index["start"], index["step"], index["name"]) == (0, 1, None):
        return None
    return pandas().RangeIndex(index["start"], index["stop"], index["step"], name=index["name"])


def read_feather(path: Path, options: ReadOptions) -> TableFile:
    """Return a Feather file."""
    table = need("pyarrow.feather", "Feather files are", "cli").read_table(path, memory_map=False)
    table.validate(full=True)  # of a damaged file, conversion would read outside its memory
    return typed_table(table.to_pandas(), path, options)


def typed_table(table: pd.DataFrame, path: Path, options: ReadOptions, notes: Sequence[str] = ()) -> TableFile:
    """Return a table with typed columns; an index that does not count the rows holds the ids."""
    if table.columns.nlevels > 1:
        levels = [table.columns.get_level_values(i) for i in range(table.columns.nlevels)]
        names, note = level_names(levels)
        table.columns, notes = distinct_names(names), [*notes, note]
    else:
        table.columns = table.columns.astype(str)
    frame, index = _without_nested(table.reset_index(drop=True), path, options), _read_index(table.index)
    options = options.settled([*frame, index.title]) if index.ids is not None else options
    index = _chosen_index(index, frame, options)
    notes = [*notes, *index.notes]
    if index.ids is None:
        return table_of_columns(frame, path, options, notes)
    ids, title = index.ids, index.title
    columns = (*frame, *([] if title is None else [title]))
    style, frame = _styled(path, frame, options, None)
    clean = clean_frame(frame.assign(**{_NAMES: ids}), path, style, options, _NAMES)  # rows with a name stay
    said = tuple(f"{path}: {note}." for note in (*notes, *told_style(style, frame, clean.frame), *clean.notes))
    rest = clean.frame.drop(columns=_NAMES)
    table = TableFile(rest, ids, said, title, columns, units=named_units(rest, clean.units))
    return with_hints(named_rows(table, path, options), path, options)


def _without_nested(frame: pd.DataFrame, path: Path, options: ReadOptions) -> pd.DataFrame:
    """Refuse columns whose cells are lists or records; those that are left out anyway become texts."""
    problems, texts = [], {}
    for name in [name for name in frame if frame[name].dtype == object]:
        column = frame[name]
        nested = column.map(lambda cell: isinstance(cell, dict | list | tuple | np.ndarray)).to_numpy(dtype=bool)
        if not nested.any():
            continue
        texts[name] = column.astype(str)
        if name in options.left_out:
            continue
        where = int(nested.argmax())
        told = (
            f"column {name!r} holds {shown(column.iloc[where])} in row {where + 1}: a cell must be a number or a text."
        )
        way = Way("leave it out", {"drop": name})
        problems.append(Problem(f"{told} Write its parts as columns of their own.", (way,)))
    if problems:
        raise TableError(str(path), problems)
    return frame.assign(**texts)


def _styled(path: Path, frame: pd.DataFrame, options: ReadOptions, found: str | None) -> tuple[Style, pd.DataFrame]:
    """Return the marks of numbers that are texts, and the table, whose numbers among texts are written with them."""
    frame = _without_decimals(frame, options.named | {found})
    style = style_of(path, frame, options, found)
    if style.decimal == ".":
        return style, frame
    texts = [name for name in text_columns(frame) if name not in options.named | {found}]
    written = {
        name: frame[name].map(
            lambda cell: f"{cell}".replace(".", ",") if isinstance(cell, float) else cell, na_action="ignore"
        )
        for name in texts
    }
    return style, frame.assign(**written)


def _without_decimals(frame: pd.DataFrame, kept: Collection[str | None]) -> pd.DataFrame:
    """Return a table whose columns of decimals are numbers, which would be judged as texts, but for those in `kept`."""
    decimals = [
        name
        for name in text_columns(frame)
        if name not in kept and len(known := frame[name].dropna()) and known.map(lambda c: isinstance(c, Decimal)).all()
    ]
    return frame.astype(dict.fromkeys(decimals, np.float64))


def table_of_columns(
    frame: pd.DataFrame, path: Path, options: ReadOptions, notes: Sequence[str], units: Mapping[str, str] | None = None
) -> TableFile:
    """Return a table whose ids are in a column that is named or found; texts that are numbers are numbers."""
    found = _find_frame_id(frame, options)
    style, frame = _styled(path, frame, options, found)
    clean = clean_frame(frame, path, style, options, found)
    said = [*notes, *told_style(style, frame, clean.frame)]
    return finished(replace(clean, units={**(units or {}), **clean.units}), path, style, options, found, said)


@dataclass(frozen=True, slots=True)
class _FrameIndex:
    """The ids in an index, None if there are none, what it is called, and notes about it.

    `numbers` tells that it has no name and holds whole numbers, as that of a table that was filtered or shuffled.
    """

    ids: list[str] | None = None
    title: str | None = None
    numbers: bool = False
    notes: tuple[str, ...] = ()


def _read_index(index: pd.Index) -> _FrameIndex:
    """Return the ids in an index, unless it only counts the rows from 0 or has several levels."""
    if index.nlevels > 1:
        named = [name for name in index.names if name is not None]
        which = f" ({shown_names(named)})" if named else ""
        note = f"its index of {index.nlevels} levels{which} is left out: reset_index() in pandas makes columns of them"
        return _FrameIndex(notes=(note,))
    title = None if index.name is None else str(index.name)
    if title is None and type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return _FrameIndex()
    entries = index.astype(str) if index.dtype.kind == "M" else index  # without times if all of them are 0:00
    ids = [text_of(value) for value in entries]
    return _FrameIndex(ids, title, title is None and all(text.isdecimal() for text in ids))


def _chosen_index(index: _FrameIndex, frame: pd.DataFrame, options: ReadOptions) -> _FrameIndex:
    """Return an index without ids if its numbers are not ids, with notes that tell what was chosen.

    A column of ids comes before numbers without a name, as in text, and numbers that repeat are not ids: tables that
    were put together have such an index.
    """
    if index.ids is None or options.id is not None:
        return index
    if index.numbers:
        found = _find_frame_id(frame, options)
        if found is not None and repeated(frame[found]) is None:
            return _FrameIndex(notes=("its index of numbers is left out, since a column holds the ids",))
        wrong = repeated(pandas().Series(index.ids, dtype=object))
        if wrong is not None:
            told = f"its index holds {shown(wrong[1])} again in row {wrong[0]}"
            return _FrameIndex(notes=(f"{told}, so it is left out, and the samples are numbered",))
    named = "" if index.title is None else f" {shown(index.title)}"
    return _FrameIndex(
        index.ids, index.title, index.numbers, (f"its index{named} holds the ids ({examples(index.ids)})",)
    )


def _find_frame_id(frame: pd.DataFrame, options: ReadOptions) -> str | None:
    """Return the column of texts or whole numbers that most likely holds the ids, judged by the first rows."""
    names = [name for name in frame if frame[name].dtype.kind in "iuO" or str(frame[name].dtype) in ("str", "string")]
    body = frame[names].head(_PEEKED).map(lambda cell: "" if cell is None or cell != cell else str(cell))
    return find_id(names, body.to_numpy().tolist(), options)
