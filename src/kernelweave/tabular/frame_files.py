"""Tables with typed columns: Parquet, Feather and Excel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.runtime import check_memory
from kernelweave.tabular.delimited import (
    clean_frame,
    distinct_names,
    finished,
    hinted,
    trimmed,
)
from kernelweave.tabular.footer import is_remark
from kernelweave.tabular.formulas import formula_columns, told_formulas
from kernelweave.tabular.frame_index import chosen_index, find_frame_id, read_index
from kernelweave.tabular.header_row import has_header
from kernelweave.tabular.heading import Heading, find_heading, level_names
from kernelweave.tabular.key_rows import key_rows
from kernelweave.tabular.merged_cells import with_merged
from kernelweave.tabular.number_style import style_of, told_style
from kernelweave.tabular.number_text import MISSING, Style, may_be_number, text_columns
from kernelweave.tabular.packages import need, pandas
from kernelweave.tabular.problems import Problem, TableError, Way, shown, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import find_id
from kernelweave.tabular.table_file import TableFile, named_rows
from kernelweave.tabular.text_layout import UNNAMED
from kernelweave.tabular.units import named_units

__all__ = ["parquet_parts", "read_excel", "read_feather", "read_parquet", "typed_table"]

_PEEKED = 100  # rows
_NAMES = "\0names"  # a column that no file has


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


def typed_table(table: Any, path: Path, options: ReadOptions, notes: Sequence[str] = ()) -> TableFile:
    """Return a table with typed columns; an index that does not count the rows holds the ids."""
    if table.columns.nlevels > 1:
        levels = [table.columns.get_level_values(i) for i in range(table.columns.nlevels)]
        names, note = level_names(levels)
        table.columns, notes = distinct_names(names), [*notes, note]
    else:
        table.columns = table.columns.astype(str)
    frame, index = _without_nested(table.reset_index(drop=True), path, options), read_index(table.index)
    options = options.settled([*frame, index.title]) if index.ids is not None else options
    index = chosen_index(index, frame, options)
    notes = [*notes, *index.notes]
    if index.ids is None:
        return _found_ids(frame, path, options, notes)
    ids, title = index.ids, index.title
    columns = (*frame, *([] if title is None else [title]))
    style, frame = _styled(path, frame, options, None)
    clean = clean_frame(frame.assign(**{_NAMES: ids}), style, options, _NAMES)  # rows with a name stay
    if clean.problems:
        raise TableError(str(path), clean.problems)
    said = tuple(f"{path}: {note}." for note in (*notes, *told_style(style, frame, clean.frame), *clean.notes))
    rest = clean.frame.drop(columns=_NAMES)
    table = TableFile(rest, ids, said, title, columns, units=named_units(rest, clean.units))
    return hinted(named_rows(table, path, options), path, options)


def _without_nested(frame: Any, path: Path, options: ReadOptions) -> Any:
    """Refuse columns whose cells are lists or records; those that are left out anyway become texts."""
    problems, texts = [], {}
    for name in [name for name in frame if frame[name].dtype == object]:
        column = frame[name]
        nested = column.map(lambda cell: isinstance(cell, dict | list | tuple | np.ndarray)).to_numpy(dtype=bool)
        if not nested.any():
            continue
        texts[name] = column.astype(str)
        where = int(nested.argmax())
        told = (
            f"column {name!r} holds {shown(column.iloc[where])} in row {where + 1}: a cell must be a number or a text."
        )
        way = Way("leave it out", {"drop": name})
        problems.append(Problem(f"{told} Write its parts as columns of their own.", (way,)))
    problems = [problem for problem in problems if problem.ways[0].options["drop"] not in options.left_out]
    if problems:
        raise TableError(str(path), problems)
    return frame.assign(**texts)


def _styled(path: Path, frame: Any, options: ReadOptions, found: str | None) -> tuple[Style, Any]:
    """Return the marks of numbers that are texts, and the table, whose numbers among texts are written with them."""
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


def _found_ids(
    frame: Any, path: Path, options: ReadOptions, notes: Sequence[str], units: Mapping[str, str] | None = None
) -> TableFile:
    """Return a table whose ids are in a column that is named or found; texts that are numbers are numbers."""
    found = find_frame_id(frame, options)
    style, frame = _styled(path, frame, options, found)
    clean = clean_frame(frame, style, options, found)
    said = [*notes, *told_style(style, frame, clean.frame)]
    return finished(replace(clean, units={**(units or {}), **clean.units}), path, style, options, found, said)


def read_excel(path: Path, options: ReadOptions) -> TableFile:
    """Return the first sheet of an Excel file that holds a table."""
    need("openpyxl", "Excel files are", "excel")
    pd = pandas()
    with pd.ExcelFile(path) as book:
        sheets = {
            name: head
            for name in book.sheet_names
            if len(head := pd.read_excel(book, name, nrows=_PEEKED, header=None, dtype=str, keep_default_na=False))
        }
        if not sheets:
            return TableFile(pd.DataFrame())
        sheet = _chosen(sheets, options, path)
        head, others = sheets[sheet], [name for name in sheets if name != sheet]
        notes = [f"the sheet {sheet!r} is read; those left out: {shown_names(others)}"] if others else []
        rows = head.map(str).to_numpy().tolist()
        before = max(_titles(rows), key_rows(rows) if options.header is not False else 0)
        if before:
            notes.append(f"{counted(before, 'row')} before the table {'is' if before == 1 else 'are'} left out")
            rows = rows[before:]
        header = has_header(rows, str(path), notes) if options.header is None else options.header
        heading = find_heading(rows) if header else Heading(list(map(str, range(len(rows[0])))), 0)
        notes += heading.notes
        own, skip = rows[heading.rows :], before + heading.rows
        table = _sheet(book, sheet, heading, own, options, skip)
        remarks = _remarks(table)
        if remarks:
            told = "row is a remark, so it is" if len(remarks) == 1 else "rows are remarks, so they are"
            notes.append(f"its last {told} left out ({shown_names(remarks)})")
            table = _sheet(book, sheet, heading, own, options, skip, len(remarks))
        table, merged = with_merged(table, book.book[sheet], skip)
        notes += merged
    notes += _formulas(path, sheet, table, skip)
    return _found_ids(table, path, options, notes, heading.units)


def _chosen(sheets: Mapping[str, Any], options: ReadOptions, path: Path) -> str:
    """Return the sheet that was asked for, else the first that holds a table with numbers, else the first."""
    if options.sheet is not None:
        if options.sheet not in sheets:
            msg = f"{path} has no sheet {options.sheet!r} with a table; its sheets: {', '.join(sheets)}."
            raise InvalidInputError(msg)
        return options.sheet
    tables = [
        name
        for name, head in sheets.items()
        if head.shape[1] > 1 and any(map(may_be_number, head.iloc[1:].to_numpy(dtype=str).ravel()))
    ]
    return next(iter(tables or sheets))


def _titles(rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows before the table are titles or empty: they have at most one entry, of three or more."""
    before = 0
    while before < len(rows) - 2 and len(rows[0]) > 2 and sum(bool(cell.strip()) for cell in rows[before]) < 2:
        before += 1
    return before


def _sheet(
    book: Any,
    sheet: str,
    heading: Heading,
    rows: Sequence[Sequence[str]],
    options: ReadOptions,
    skip: int,
    footer: int = 0,
) -> Any:
    """Return a sheet with the names of its heading; ids are text, as they are written."""
    columns = distinct_names(heading.names)
    ids = {options.id, UNNAMED, find_id(columns, rows, options)}
    table = pandas().read_excel(
        book,
        sheet,
        header=None,
        skiprows=skip,
        skipfooter=footer,
        dtype={j: str for j, column in enumerate(columns) if column in ids | {options.labels}},
        keep_default_na=False,
        na_values={j: [""] if column in ids | {options.labels} else MISSING for j, column in enumerate(columns)},
    )
    return trimmed(table.set_axis(distinct_names([*columns, *[""] * (table.shape[1] - len(columns))]), axis=1))


def _formulas(path: Path, sheet: str, table: Any, skip: int) -> list[str]:
    """Return a note about formulas without stored results in a table with empty cells; refuse one of little else."""
    found = formula_columns(path, sheet, skip) if table.isna().any(axis=None) else {}
    names = [str(table.columns[j]) for j in found if j < table.shape[1]]
    if not names:
        return []
    told = told_formulas(names, sum(found.values()))
    if table.drop(columns=names).select_dtypes("number", exclude="timedelta").columns.empty and table[names].isna().all(
        axis=None
    ):
        raise TableError(str(path), [Problem(f"{told}.")])
    return [told]


def _remarks(table: Any) -> list[str]:
    """Return the remarks in the last rows: one text in the first column, and nothing beside it."""
    found: list[str] = []
    for i in range(len(table) - 1, 0, -1):
        first, *others = table.iloc[i].tolist()
        if not isinstance(first, str) or not is_remark(first) or any(cell == cell for cell in others):
            break
        found.append(first)
    return found[::-1]
