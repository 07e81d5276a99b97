"""The rows that name the columns: a header, with a row of units below it, or a second row of names or groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kernelweave.tabular.header_row import written_alike
from kernelweave.tabular.number_text import is_blank, is_unit, may_be_number
from kernelweave.tabular.problems import shown_names

__all__ = ["Heading", "find_heading"]

_LEAST = 2  # samples with a number that a column of numbers must have
# what a row of units has in columns without a unit
_NO_UNIT = frozenset(("", "-", "--", "–", "—", "/", "none", "n/a", "na", "id", "name", "text", "string", "str", "code",
                      "date", "yyyy-mm-dd", "category", "factor", "label", "class", "unit", "units"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heading:
    """The names of the columns, how many rows give them, their units by name, and what was found if it is unusual."""

    names: list[str]
    rows: int = 1
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_heading(rows: Sequence[Sequence[str]]) -> Heading:
    """Return the heading of a table whose first row is its header: the row below it may be no sample either.

    In a row of units, columns of numbers have texts, of which at least one is a known unit, and other columns have no
    entry. A second row of names or groups has texts in all columns of numbers, and is written otherwise than the
    samples in the other columns; or it has texts in some columns of numbers, and no entry elsewhere.
    """
    head, *body = ([cell.strip() for cell in row] for row in rows)
    if len(body) <= _LEAST or len(body[0]) != len(head):
        return Heading(head)
    given, *samples = body
    numeric = [j for j in range(len(head)) if _is_numeric(samples, j)]
    own = [given[j] for j in numeric]
    others = [j for j in range(len(head)) if j not in numeric]
    if not own or any(map(may_be_number, own)):
        return Heading(head)
    if any(map(is_unit, own)) and all(given[j].lower() in _NO_UNIT for j in others):
        return _with_units(head, given, numeric)
    if _is_second(given, own, others, samples):
        return _of_two(head, given, samples)
    return Heading(head)


def _is_numeric(samples: Sequence[Sequence[str]], j: int) -> bool:
    known = [row[j] for row in samples if j < len(row) and not is_blank(row[j])]
    return len(known) >= _LEAST and all(map(may_be_number, known))


def _with_units(head: list[str], given: Sequence[str], numeric: Sequence[int]) -> Heading:
    units = {head[j]: given[j].strip("[](){} ") for j in numeric if given[j].lower() not in _NO_UNIT}
    distinct = list(dict.fromkeys(given[j] for j in numeric if given[j].lower() not in _NO_UNIT))
    note = f"its second row holds units ({shown_names(distinct)}), so it is no sample"
    return Heading(head, 2, units, (note,))


def _is_second(
    given: Sequence[str], own: Sequence[str], others: Sequence[int], samples: Sequence[Sequence[str]]
) -> bool:
    """Return whether the second row belongs to the header, though it holds no units."""
    texts = [cell for cell in own if not is_blank(cell)]
    if all(not given[j] for j in others) and others:
        return bool(texts)
    if len(own) < 2 or len(texts) < len(own):
        return False
    if not others:
        return len(set(texts)) > 1
    below = {j: [row[j] for row in samples if j < len(row)] for j in others}
    return not any(written_alike(given[j], below[j]) for j in others)


def _of_two(first: list[str], second: list[str], samples: Sequence[Sequence[str]]) -> Heading:
    """Return the heading of two rows; a third one may name the ids only, as pandas writes the name of an index."""
    names, note = _joined(first, second)
    index = samples[0]
    if index[0] and not any(index[1:]) and not names[0]:
        return Heading([index[0], *names[1:]], 3, notes=(note,))
    return Heading(names, 2, notes=(note,))


def _joined(first: list[str], second: list[str]) -> tuple[list[str], str]:
    """Return the names in one of two rows if they tell all columns apart, else those of both together, and a note."""
    if _tells_apart(first):
        groups = [cell for cell in dict.fromkeys(second) if cell]
        return first, f"its second row ({shown_names(groups)}) belongs to the header, so it is no sample"
    if _tells_apart(second):
        groups = [cell for cell in dict.fromkeys(first) if cell]
        return second, f"its first row ({shown_names(groups)}) groups the columns, and its second row names them"
    filled: list[str] = []
    for cell in first:  # merged cells have their entry in the first one
        filled.append(cell or (filled[-1] if filled else ""))
    names = [f"{group} {name}".strip() for group, name in zip(filled, second, strict=True)]
    return names, f"its first two rows name the columns ({shown_names([name for name in names if name])})"


def _tells_apart(names: Sequence[str]) -> bool:
    """Return whether all names differ, and only the first may be empty."""
    return all(names[1:]) and len(set(names)) == len(names)
