"""Cells of CSV files that a spreadsheet would run as formulas are guarded by an apostrophe."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import TextIO

__all__ = ["guarded", "unguarded", "write_rows"]

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")  # apostrophes before it count, so that what is guarded can be read back
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def guarded(cell: str) -> str:
    """Return a cell with an apostrophe before it if a spreadsheet would take it for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def write_rows(file: TextIO, rows: Iterable[Sequence[str]]) -> None:
    """Write rows of a CSV file with every cell guarded."""
    plain = csv.writer(file, lineterminator="\n")
    quoted = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    for row in rows:  # Python 3.11 does not quote a carriage return, which ends a row
        (quoted if any("\r" in cell for cell in row) else plain).writerow([guarded(cell) for cell in row])


def unguarded(cell: str) -> str:
    """Return a cell as it was before `guarded`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
