"""The first row of a table: whether it names the columns, or is the first sample."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from kernelweave.tabular.heading import counts, written_alike
from kernelweave.tabular.number_text import is_blank, number_in, unit_in
from kernelweave.tabular.problems import Problem, TableError, Way, shown_names
from kernelweave.tabular.row_labels import names_ids

__all__ = ["has_header"]

_WHOLE = re.compile(r"[+-]?\d+")
_PLAIN = re.compile(r"[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?")
_STEPS, _EQUAL_STEPS = 8, 5  # columns whose numbers all go up, or all down: fewer may do so by chance
_EXACT = 1e-6  # relative difference of equal steps


def has_header(rows: Sequence[Sequence[str]], source: str, notes: list[str]) -> bool:
    """Return whether the first row names the columns; what is not usual is added to `notes`.

    It does unless it is written like the rows below it: with numbers where they have numbers, in the same unit, and in
    a table without numbers with texts that occur again. Cells may be missing. Raise `TableError` if it may be both.
    """
    head, *body = rows
    if not body or len(head) != max(map(len, body)):
        return True
    numeric = [j for j in range(len(head)) if _holds_numbers(_below(body, j))]
    texts = [j for j in range(len(head)) if j not in numeric]
    given = [j for j in numeric if not is_blank(head[j])]
    if not all(unit_in(head[j]) in set(map(unit_in, _below(body, j))) for j in given):
        return True
    alike = all(is_blank(head[j]) or written_alike(head[j].strip(), _below(body, j)) for j in texts)
    header: bool | None
    if given:
        header = _of_numbers(head, given, texts, body, alike=alike)
    elif numeric:
        header = not (alike and any(head[j].strip() for j in texts))
    else:
        header = _of_texts([cell.strip() for cell in head], body) if alike else True
    cells = [head[j].strip() for j in given or texts]
    if header is None:
        ways = (
            Way("the first row is a sample", {"header": False}),
            Way("the first row names the columns", {"header": True}),
        )
        what = "numbers" if given else "texts that occur again below it"
        text = f"its first row holds {what} ({shown_names(cells)}), so that it may be a header or a sample."
        raise TableError(source, [Problem(text, ways, choice=True)])
    if not header:
        notes.append("it has no header, so its columns are named 0, 1, ...")
    elif given and (texts or head[0].strip()):
        notes.append(f"its first row is the header, with numbers as names ({shown_names(cells)})")
    return header


def _of_texts(head: Sequence[str], body: Sequence[Sequence[str]]) -> bool | None:
    """Return whether a first row of texts that occur again in a table of texts is a header; None if it may be both.

    Options that were ticked are written with the name of their column, and nothing else. Names that all differ, and
    are entries of other columns too, may be those of what is chosen in every column.
    """
    below = [set(_below(body, j)) for j in range(len(head))]
    if not any(len({*cells, cell}) > 1 for cell, cells in zip(head, below, strict=True)):
        return True
    elsewhere = [any(cell in below[k] for k in range(len(head)) if k != j) for j, cell in enumerate(head)]
    return None if len(head) > 1 and len(set(head)) == len(head) and all(elsewhere) else False


def _of_numbers(
    head: Sequence[str], given: Sequence[int], texts: Sequence[int], body: Sequence[Sequence[str]], *, alike: bool
) -> bool | None:
    """Return whether a first row with numbers in columns of numbers is a header; None if it may be both.

    It is a header if it counts the columns, if its texts are names of ids, or if its numbers all go up or down, as
    years do, while those below do not; and a sample if a number is a fraction or occurs twice.
    """
    numbers = [number_in(head[j]) or head[j] for j in given]
    whole = all(map(_WHOLE.fullmatch, numbers))
    if counts(numbers) or (texts and all(names_ids(head[j]) or not head[j].strip() for j in texts)):
        return True
    if not texts and not head[0].strip():  # as pandas writes the numbers of the rows, below no name
        return True if whole or _all_go_one_way(numbers) else None
    if alike and (texts or len(set(numbers)) < len(numbers)):
        return False
    if _all_go_one_way(numbers) and not all(
        _all_go_one_way([row[j] for j in given]) for row in body if len(row) == len(head)
    ):
        return True
    if alike and not whole:
        return False
    return True if texts and not alike and whole else None


def _below(body: Sequence[Sequence[str]], j: int) -> list[str]:
    """Return the cells of a column that are not missing."""
    return [cell for row in body if j < len(row) and not is_blank(cell := row[j].strip())]


def _holds_numbers(cells: Sequence[str]) -> bool:
    """Return whether cells are numbers, in the style of English or German, and in known units."""
    return bool(cells) and all(unit_in(cell) is not None for cell in cells)


def _all_go_one_way(numbers: Sequence[str]) -> bool:
    """Return whether numbers all go up, or all down, from each to the next; a few only if they do so in equal steps."""
    if len(numbers) < _EQUAL_STEPS or not all(_PLAIN.fullmatch(number.strip()) for number in numbers):
        return False
    values = [float(number.replace(",", ".")) for number in numbers]
    steps = [after - before for before, after in pairwise(values)]
    if len(numbers) < _STEPS and max(steps) - min(steps) > _EXACT * max(map(abs, steps)):
        return False
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)
