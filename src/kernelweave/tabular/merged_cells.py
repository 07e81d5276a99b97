"""Cells of a workbook that are merged with those below them: their value is that of all their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._plural import counted
from kernelweave.tabular.problems import shown_names

if TYPE_CHECKING:
    from zipfile import ZipFile

    import pandas as pd

__all__ = ["with_merged"]

_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s+ref\s*=\s*"([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_CHUNK = 1 << 20  # bytes
_LONGEST = 200  # bytes that hold one merged cell


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
