"""Whether the first row of a table is its header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelweave.tabular.number_text import is_number
from kernelweave.tabular.problems import Problem, TableError, Way, shown_names
from kernelweave.tabular.row_labels import names_ids

__all__ = ["has_header", "written_alike"]

_WHOLE = re.compile(r"[+-]?\d+")
_ENOUGH = 4  # columns that are numbered in order: fewer may be so by chance


def has_header(rows: Sequence[Sequence[str]], source: str, notes: list[str]) -> bool:
    """Return whether the first row names the columns; what is not usual is added to `notes`.

    It does unless it has numbers where all other rows have numbers. Then the first row is a header if it counts the
    columns, and is not one if it has fractions or says a number twice. Raise `TableError` if both are plausible.
    """
    head, *body = rows
    if not body or len(head) != max(map(len, body)):
        return True
    numeric = [j for j in range(len(head)) if _is_numeric(body, j)]
    cells = [head[j].strip() for j in numeric]
    if not cells or not all(map(is_number, cells)):
        return True
    texts = [j for j in range(len(head)) if j not in numeric]
    if _counts(cells) or (texts and all(names_ids(head[j]) or not head[j].strip() for j in texts)):
        notes.append(f"its first row is the header, with numbers as names ({shown_names(cells)})")
        return True
    alike = all(written_alike(head[j], [row[j] for row in body if j < len(row)]) for j in texts)
    if alike and (texts or len(set(cells)) < len(cells) or not all(map(_WHOLE.fullmatch, cells))):
        notes.append("it has no header, so its columns are named 0, 1, ...")
        return False
    if texts and not alike and all(map(_WHOLE.fullmatch, cells)):
        return True
    ways = (
        Way("the first row is a sample", {"header": False}),
        Way("the first row names the columns", {"header": True}),
    )
    text = f"its first row holds numbers ({shown_names(cells)}), so that it may be a header or a sample."
    raise TableError(source, [Problem(text, ways, choice=True)])


def _is_numeric(body: Sequence[Sequence[str]], j: int) -> bool:
    known = [row[j].strip() for row in body if j < len(row) and row[j].strip()]
    return bool(known) and all(map(is_number, known))


def _counts(cells: Sequence[str]) -> bool:
    """Return whether the cells are 0, 1, 2, ... or 1, 2, 3, ..."""
    return len(cells) >= _ENOUGH and any(cells == [str(i + first) for i in range(len(cells))] for first in (0, 1))


def written_alike(cell: str, below: Sequence[str]) -> bool:
    """Return whether a text is written like those below it: equal to one, or equal but for the digits."""
    return cell in below or (any(map(str.isdigit, cell)) and _shape(cell) in set(map(_shape, below)))


def _shape(text: str) -> str:
    return re.sub(r"\d+", "0", text)
