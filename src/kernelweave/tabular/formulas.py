"""Formulas in a workbook whose results were never stored: cells that look empty, but are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kernelweave._plural import counted
from kernelweave.tabular.packages import need
from kernelweave.tabular.problems import shown_names

__all__ = ["formula_columns", "told_formulas"]


def formula_columns(path: Path, sheet: str, skip: int) -> dict[int, int]:
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


def told_formulas(names: Sequence[str], n_cells: int) -> str:
    """Return a sentence about columns with formulas that have no stored results."""
    what = f"column {names[0]!r} holds" if len(names) == 1 else f"columns {shown_names(names)} hold"
    return (
        f"{what} formulas without stored results ({counted(n_cells, 'cell')}), which are missing here: open the file "
        "in a spreadsheet program, and save it"
    )
