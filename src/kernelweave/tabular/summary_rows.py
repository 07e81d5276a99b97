"""Rows of a table that sum up others: subtotals, totals and means, which are no samples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.tabular.number_text import text_columns
from kernelweave.tabular.problems import shown, shown_names
from kernelweave.tabular.table_file import TableFile

__all__ = ["without_summaries"]

_WORDS = frozenset(("total", "totals", "grand total", "sum", "mean", "average", "avg", "median", "min", "minimum",
                    "max", "maximum", "std", "sd", "sem", "var", "variance", "cv", "count", "n", "gesamt",
                    "gesamtsumme", "insgesamt", "summe", "mittelwert", "durchschnitt", "total général", "somme",
                    "moyenne"))  # fmt: skip
_SUM = re.compile(r"(sub|grand)[ -]?totals?\b.*|totals?:?|(zwischen|gesamt)summe\b.*|sous-total\b.*|total général")
_PART_SUM = re.compile(r".*\btotal")  # as spreadsheets call them, above a grand total
_STAYS = (
    "is called a sum, but is none of the rows above it. If it is no sample, remove it from the file",
    "are called sums, but are none of the rows above them. If they are no samples, remove them from the file",
)
_CLOSE = 0.02  # relative difference that rounding may cause
_LEAST = 3  # samples
_PART = 2  # samples of a subtotal
_EXACT = 1e-6  # relative difference of a sum in a row that is not called so
_ABOVE, _COLUMNS = 5, 2  # rows and columns that such a sum must have, since small ones come about by chance


def without_summaries(table: TableFile, source: str) -> TableFile:
    """Return a table without the rows whose names say that they sum up others, and whose numbers do.

    Subtotals may be anywhere, other statistics at the end. A last row of sums that is not called so stays, with a note.
    """
    numbers = table.frame.select_dtypes("number", exclude="timedelta")
    names = _names(table)
    parts = _subtotals(names, numbers)
    kept = [i for i in range(len(names)) if i not in parts]
    last = _at_end([names[i] for i in kept], numbers.iloc[kept])
    rest = kept[: len(kept) - last]
    notes = []
    if parts:
        told = "are sums of rows above them, so they are" if len(parts) > 1 else "is a sum of rows above it, so it is"
        notes.append(f"{shown_names([names[i] for i in parts])} {told} left out")
    if last:
        what = ", ".join(shown(names[i]) for i in kept[-last:])
        notes.append(f"{what} at its end {'sums' if last == 1 else 'sum'} up the other rows, so left out")
    if not notes and _is_sum(numbers):
        notes.append("its last row holds the sums of the rows above it. If it is no sample, remove it from the file")
    elif unlike := [names[i] for i in rest if _SUM.fullmatch(names[i].strip().lower())]:
        notes.append(f"{shown_names(unlike)} {_STAYS[len(unlike) > 1]}")
    said = tuple(f"{source}: {note}." for note in notes)
    return _without_rows(replace(table, notes=(*table.notes, *said)), rest)


def _without_rows(table: TableFile, kept: Sequence[int]) -> TableFile:
    if len(kept) == len(table.frame):
        return table
    ids = None if table.ids is None else [table.ids[i] for i in kept]
    return replace(table, frame=table.frame.iloc[kept].reset_index(drop=True), ids=ids)


def _names(table: TableFile) -> list[str]:
    """Return the ids, or the texts of the first column that has some, as the names of rows."""
    if table.ids is not None:
        return table.ids
    columns = text_columns(table.frame)[:1]
    return table.frame[columns[0]].fillna("").astype(str).tolist() if columns else [""] * len(table.frame)


def _subtotals(names: Sequence[str], numbers: Any) -> list[int]:
    """Return the rows that are called totals and hold the sums of the rows since the one before, or of all samples."""
    plain = [name.strip().lower() for name in names]
    parts = _PART_SUM if "grand total" in plain else _SUM
    called = [i for i, name in enumerate(plain) if _SUM.fullmatch(name) or parts.fullmatch(name)]
    found: list[int] = []
    before = 0
    for i in called:
        sections = [list(range(before, i))] if i - before >= _PART else []
        sections += [[j for j in range(i) if j not in others] for others in (found, called) if found]
        if any(_are_sums(numbers.iloc[section], numbers.iloc[i]) for section in sections):
            found.append(i)
        before = i + 1
    if not found or found[0] >= _end(names):
        return []  # they are at the end, where means may follow
    return found


def _at_end(names: Sequence[str], numbers: Any) -> int:
    """Return how many of the last rows are called a statistic of the other rows, and are one."""
    n = _end(names)
    if not set(names[n:]).isdisjoint(names[:n]):
        return 0  # categories, such as y and n
    return len(names) - n if all(_sums_up(numbers.iloc[:n], numbers.iloc[i]) for i in range(n, len(names))) else 0


def _end(names: Sequence[str]) -> int:
    """Return where the last rows begin that are called a statistic."""
    n = len(names)
    while n > _LEAST and names[n - 1].strip().rstrip(":").lower() in _WORDS:
        n -= 1
    return n


def _are_sums(rows: Any, last: Any) -> bool:
    """Return whether every number of a row is the sum of those in some rows."""
    values = last.dropna().astype(float)
    if not values.any():
        return False  # rows of zeros
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused elsewhere
        return len(values) > 0 and np.allclose(rows[values.index].sum(), values, rtol=_CLOSE, atol=0)


def _sums_up(rows: Any, last: Any) -> bool:
    """Return whether every number of a row is a sum, mean or other statistic of the numbers above it."""
    values = last.dropna()
    if values.empty:
        return False
    above = rows[values.index]
    found = [getattr(above, name)() for name in ("sum", "mean", "median", "min", "max", "std", "count", "sem", "var")]
    found.append(above.std() / above.mean())
    slack = _CLOSE * above.std().fillna(0).to_numpy(float)  # a mean near 0 is rounded by more than its own share
    close = [np.isclose(values.to_numpy(float), each.to_numpy(float), rtol=_CLOSE, atol=slack) for each in found]
    return bool(np.any(close, axis=0).all())


def _is_sum(numbers: Any) -> bool:
    """Return whether every number of the last row is the sum of those above it, and not 0."""
    last = numbers.iloc[-1].dropna()
    if len(numbers) <= _ABOVE or len(last) < _COLUMNS:
        return False
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused elsewhere
        sums = numbers[last.index].iloc[:-1].sum().to_numpy(dtype=np.float64)
    values = last.to_numpy(dtype=np.float64)
    known = np.isfinite(values) & np.isfinite(sums) & (values != 0)
    return bool(known.all() and (np.abs(sums - values) <= _EXACT * np.abs(values)).all())
