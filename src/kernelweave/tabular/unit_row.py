"""A row of units below the header, which is no sample."""

from __future__ import annotations

from collections.abc import Sequence

from kernelweave.tabular.number_text import is_blank, is_unit, may_be_number

__all__ = ["unit_row"]

_LEAST = 2  # samples with a number that a column of numbers must have
# what such a row has in columns without a unit
_NO_UNIT = frozenset(("", "-", "--", "–", "—", "/", "none", "n/a", "na", "id", "name", "text", "string", "str", "code",
                      "date", "yyyy-mm-dd", "category", "factor", "label", "class", "unit", "units"))  # fmt: skip


def unit_row(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the units in the row below the header, the first of `rows`; none if that row is a sample.

    Columns of numbers have texts there, of which at least one is a known unit, and other columns have no entry.
    """
    head, *body = rows
    if len(body) <= _LEAST or len(body[0]) != len(head):
        return ()
    given, *samples = body
    numeric = {j for j in range(len(head)) if _is_numeric(samples, j)}
    cells = [cell.strip() for cell in given]
    if any(cell.lower() not in _NO_UNIT for j, cell in enumerate(cells) if j not in numeric):
        return ()
    own = [cells[j] for j in sorted(numeric)]
    if any(may_be_number(cell) for cell in own) or not any(map(is_unit, own)):
        return ()
    return tuple(dict.fromkeys(cell for cell in own if cell.lower() not in _NO_UNIT))


def _is_numeric(samples: Sequence[Sequence[str]], j: int) -> bool:
    known = [row[j].strip() for row in samples if j < len(row) and not is_blank(row[j])]
    return len(known) >= _LEAST and all(map(may_be_number, known))
