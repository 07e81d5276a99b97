"""Tables with typed columns: Parquet, Feather and Excel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelweave.memory import check_memory
from kernelweave.tabular.delimited import clean_frame
from kernelweave.tabular.header_row import has_header
from kernelweave.tabular.number_text import MISSING, Style
from kernelweave.tabular.packages import need, pandas
from kernelweave.tabular.problems import TableError, shown_names
from kernelweave.tabular.row_labels import find_id, index_ids
from kernelweave.tabular.table_file import TableFile, named_rows, with_ids
from kernelweave.tabular.text_layout import UNNAMED
from kernelweave.tabular.unit_row import unit_row
from kernelweave.tabular.wishes import Wishes

__all__ = ["parquet_parts", "read_excel", "read_feather", "read_parquet"]

_PEEKED = 100  # rows


def read_parquet(path: Path, wishes: Wishes) -> TableFile:
    """Return a Parquet file."""
    parquet = need("pyarrow.parquet", "Parquet files are", "cli")
    shape = parquet.read_metadata(path)
    advice = "read a part of it in Python, and write that"
    check_memory(8 * shape.num_rows * shape.num_columns, what=f"Reading {path}", advice=advice)
    return _typed(pandas().read_parquet(path), path, wishes)


def parquet_parts(path: Path, wishes: Wishes, rows: int) -> Iterator[TableFile]:
    """Yield a Parquet file in parts of so many rows."""
    parquet = need("pyarrow.parquet", "Parquet files are", "cli")
    pyarrow = need("pyarrow", "Parquet files are", "cli")
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=rows):
            yield _typed(pyarrow.Table.from_batches([batch]).to_pandas(), path, wishes)


def read_feather(path: Path, wishes: Wishes) -> TableFile:
    """Return a Feather file."""
    table = need("pyarrow.feather", "Feather files are", "cli").read_table(path, memory_map=False)
    table.validate(full=True)  # of a damaged file, conversion would read outside its memory
    return _typed(table.to_pandas(), path, wishes)


def _typed(table: Any, path: Path, wishes: Wishes) -> TableFile:
    table.columns = table.columns.astype(str)
    frame, ids, title = index_ids(table)
    wishes = wishes.settled([*frame, title]) if ids is not None else wishes
    if ids is not None or wishes.id == title is not None:
        columns = (*frame, *([] if title is None else [title]))
        return named_rows(TableFile(frame, ids, (), title, columns), path, wishes)
    return _found_ids(frame, path, wishes, [])


def _found_ids(frame: Any, path: Path, wishes: Wishes, notes: list[str]) -> TableFile:
    """Return a table whose ids are in a column that is named or found; texts that are numbers are numbers."""
    texts = [name for name in frame if frame[name].dtype.kind in "iuO" or str(frame[name].dtype) in ("str", "string")]
    body = frame[texts].head(_PEEKED).map(lambda cell: "" if cell is None or cell != cell else str(cell))
    found = find_id(texts, body.to_numpy().tolist(), wishes)
    kept, more, problems = clean_frame(frame, Style(wishes.decimal or ".", wishes.thousands), wishes, found)
    if problems:
        raise TableError(str(path), problems)
    return with_ids(kept, path, wishes, found=found, notes=[*notes, *more])


def read_excel(path: Path, wishes: Wishes) -> TableFile:
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
        (sheet, head), *others = sheets.items()
        notes: list[str] = []
        if others:
            notes.append(f"the sheet {sheet!r} is read; those left out: {shown_names([name for name, _ in others])}")
        rows = head.map(str).to_numpy().tolist()
        header = has_header(rows, str(path), notes) if wishes.header is None else wishes.header
        columns = pd.read_excel(book, sheet, nrows=0 if header else 1, header=0 if header else None).columns
        units = unit_row(rows) if header else ()
        if units:
            notes.append(f"its second row holds units ({shown_names(units)}), so it is no sample")
        found = find_id(list(map(str, columns)), rows[header + bool(units) :], wishes)
        ids = {wishes.id, UNNAMED, found}
        table = pd.read_excel(
            book,
            sheet,
            header=0 if header else None,
            skiprows=[1] if units else None,
            dtype={column: str for column in columns if str(column) in ids | {wishes.labels}},
            keep_default_na=False,
            na_values={column: [""] if str(column) in ids else MISSING for column in columns},
        )
    table.columns = table.columns.astype(str)
    return _found_ids(table, path, wishes, notes)
