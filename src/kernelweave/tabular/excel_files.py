"""Excel workbooks: the sheet that holds a table, its merged cells, and formulas without stored results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

import numpy as np

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.tabular.delimited import distinct_names, repeated_names, trimmed
from kernelweave.tabular.first_row import has_header
from kernelweave.tabular.frame_files import table_of_columns
from kernelweave.tabular.heading import Heading, find_heading, key_rows
from kernelweave.tabular.number_text import MISSING, may_be_number
from kernelweave.tabular.packages import need, pandas
from kernelweave.tabular.problems import Problem, TableError, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.remarks import is_remark
from kernelweave.tabular.row_labels import find_id
from kernelweave.tabular.table_file import TableFile
from kernelweave.tabular.text_layout import UNNAMED

if TYPE_CHECKING:
    from zipfile import ZipFile

    import pandas as pd

__all__ = ["read_excel", "with_merged"]

_PEEKED = 100  # rows
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s+ref\s*=\s*"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_CHUNK = 1 << 20  # bytes
_LONGEST = 200  # bytes that hold one merged cell


def read_excel(path: Path, options: ReadOptions) -> TableFile:
    """Return the first sheet of an Excel file that holds a table."""
    need("openpyxl", "Excel files are", "excel")
    pd = pandas()
    if not is_zipfile(path) and (told := _other_type(path)):
        msg = f"{path} is not an Excel file of type .xlsx. {told}"
        raise InvalidInputError(msg)
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
        notes += [*heading.notes, *repeated_names(heading.names)]
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
    return table_of_columns(table, path, options, notes, heading.units)


def _other_type(path: Path) -> str:
    """Return what to do with a file that is called .xlsx, but is another one; nothing if it is damaged."""
    with path.open("rb") as file:
        head = file.read(_CHUNK)
    if head.startswith(b"PK"):
        return ""
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        return "It is an old or a protected Excel file: save it as .xlsx without a password, or as .csv."
    if head.lstrip()[:1] == b"<":
        return "It is a web page or XML: open it in a spreadsheet program, and save it as .xlsx."
    return "It is no text either." if b"\0" in head else "It seems to be text: call it .csv."


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
) -> pd.DataFrame:
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


def _formulas(path: Path, sheet: str, table: pd.DataFrame, skip: int) -> list[str]:
    """Return a note about formulas without stored results in a table with empty cells; refuse one of little else."""
    found = _formula_columns(path, sheet, skip) if table.isna().any(axis=None) else {}
    names = [str(table.columns[j]) for j in found if j < table.shape[1]]
    if not names:
        return []
    what = f"column {names[0]!r} holds" if len(names) == 1 else f"columns {shown_names(names)} hold"
    told = (
        f"{what} formulas without stored results ({counted(sum(found.values()), 'cell')}), which are missing here: "
        "open the file in a spreadsheet program, and save it"
    )
    if table.drop(columns=names).select_dtypes("number", exclude="timedelta").columns.empty and table[names].isna().all(
        axis=None
    ):
        raise TableError(str(path), [Problem(f"{told}.")])
    return [told]


def _remarks(table: pd.DataFrame) -> list[str]:
    """Return the remarks in the last rows: one text in the first column, and nothing beside it."""
    found: list[str] = []
    for i in range(len(table) - 1, 0, -1):
        first, *others = table.iloc[i].tolist()
        if not isinstance(first, str) or not is_remark(first) or any(cell == cell for cell in others):
            break
        found.append(first)
    return found[::-1]


def with_merged(table: pd.DataFrame, worksheet: object, skip: int) -> tuple[pd.DataFrame, list[str]]:
    """Return a table whose merged cells of one column have their value in all their rows that hold any, and a note.

    The rows of the table follow the first `skip` rows of the worksheet.
    """
    if not table.isna().any(axis=None):
        return table, []
    book, path = getattr(worksheet, "parent", None), getattr(worksheet, "_worksheet_path", None)
    archive = getattr(book, "_archive", None)
    if archive is None or path is None:  # openpyxl says in private names only where a worksheet is
        return table, ["its merged cells cannot be found with this version of openpyxl, and count as missing"]
    filled: dict[str, int] = {}
    table, held = table.copy(), table.notna().any(axis=1).to_numpy()
    for j, first, last in _columns_of_merged(archive, path):
        rows = slice(first - skip, last - skip + 1)
        if rows.start < 0 or j >= table.shape[1] or rows.start >= len(table):
            continue
        cells = table.iloc[rows, j]
        if len(cells) < 2 or not (cells.notna().to_numpy() == ([True] + [False] * (len(cells) - 1))).all():
            continue
        own = held[rows]
        table.iloc[rows.start + np.flatnonzero(own), j] = cells.iloc[0]
        name = str(table.columns[j])
        filled[name] = filled.get(name, 0) + int(own.sum()) - 1
    if not filled:
        return table, []
    told = f"column {shown_names(list(filled))} has merged cells, whose value is taken for all of their rows"
    return table, [f"{told} ({counted(sum(filled.values()), 'cell')} filled)"]


def _columns_of_merged(archive: ZipFile, path: str) -> Iterator[tuple[int, int, int]]:
    """Yield the column, first and last row, from 0, of every cell that is merged with cells below it only."""
    from openpyxl.utils import column_index_from_string

    with archive.open(path) as raw:
        rest = b""
        while chunk := raw.read(_CHUNK):
            text, end = rest + chunk, 0
            for found in _MERGED.finditer(text):
                end = found.end()
                left, top, right, bottom = (part.decode() for part in found.groups())
                if left == right:
                    yield column_index_from_string(left) - 1, int(top) - 1, int(bottom) - 1
            rest = text[max(end, len(text) - _LONGEST) :]


def _formula_columns(path: Path, sheet: str, skip: int) -> dict[int, int]:
    """Return the columns, from 0, of a sheet whose formulas have no stored results, and how many cells they have.

    The first rows, so many as `skip` says, do not count. A column with some result was computed: there, a formula
    without one gives an empty text.
    """
    openpyxl = need("openpyxl", "Excel files are", "excel")
    formulas: Counter[int] = Counter()
    stored: set[int] = set()
    books = [openpyxl.load_workbook(path, read_only=True, data_only=only) for only in (False, True)]
    try:
        for written, computed in zip(*(book[sheet].iter_rows(min_row=skip + 1) for book in books), strict=False):
            for j, (cell, result) in enumerate(zip(written, computed, strict=False)):
                if cell.data_type == "f":
                    formulas[j] += 1
                    stored |= set() if result.value is None else {j}
    finally:
        for book in books:
            book.close()
    return {j: n for j, n in formulas.items() if j not in stored}
