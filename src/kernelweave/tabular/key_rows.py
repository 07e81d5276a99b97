"""Rows above a table that say something of it, such as "Operator,Bo", as instruments and laboratories export them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kernelweave.tabular.number_text import is_blank, may_be_number

__all__ = ["key_rows"]

_LEAST = 3  # columns of the table
_SAMPLES = 2  # samples with a number that a column of numbers must have


def key_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows are keys with values, which stand before the header; 0 if there are none.

    They have fewer entries than the header, which follows them: the first row with an entry in every column, which are
    texts that differ, above columns of numbers. A single row with as many cells as the header may be one of groups, and
    one with a cell less the header, with a row of units below it.
    """
    cells = [[cell.strip() for cell in row] for row in rows]
    filled = [max((j + 1 for j, cell in enumerate(row) if cell), default=0) for row in cells]
    sizes = Counter(size for size in filled if size)
    width = max(sizes, key=lambda size: (sizes[size], size), default=0)
    first = next((i for i, size in enumerate(filled) if size >= width), 0)
    before = [i for i in range(first) if filled[i]]
    if width < _LEAST or not before or not all(all(cells[i][: filled[i]]) for i in before):
        return 0
    if len(before) == first == 1 and len(cells[0]) >= width - 1:
        return 0
    return first if _names(cells[first][: filled[first]], cells[first + 1 :]) else 0


def _names(head: Sequence[str], samples: Sequence[Sequence[str]]) -> bool:
    """Return whether a row names the columns of the rows below it: texts that differ, some above numbers."""
    if (
        not all(head[1:])
        or len(set(head)) < len(head)
        or any(is_blank(cell) or may_be_number(cell) for cell in head[1:])
    ):
        return False
    return any(_are_numbers([row[j] for row in samples if j < len(row)]) for j in range(1, len(head)))


def _are_numbers(cells: Sequence[str]) -> bool:
    known = [cell for cell in cells if not is_blank(cell)]
    return len(known) >= _SAMPLES and all(map(may_be_number, known))
