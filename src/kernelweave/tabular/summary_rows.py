"""Rows at the end of a table that sum up the others: totals and means, which are no samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kernelweave.tabular.problems import shown
from kernelweave.tabular.table_file import TableFile

__all__ = ["without_summaries"]

_WORDS = frozenset(("total", "totals", "grand total", "sum", "mean", "average", "avg", "median", "min", "minimum",
                    "max", "maximum", "std", "sd", "count", "n", "gesamt", "gesamtsumme", "insgesamt", "summe",
                    "mittelwert", "durchschnitt", "total général", "somme", "moyenne"))  # fmt: skip
_CLOSE = 0.02  # relative difference that rounding may cause
_LEAST = 3  # samples
_EXACT = 1e-6  # relative difference of a sum in a row that is not called so
_ABOVE, _COLUMNS = 5, 2  # rows and columns that such a sum must have, since small ones come about by chance


def without_summaries(table: TableFile, source: str) -> TableFile:
    """Return a table without its last rows whose ids say that they sum up the others, and whose numbers do.

    A last row of sums that is not called so stays, with a note.
    """
    frame = table.frame
    ids = table.ids or [""] * len(frame)
    n = len(ids)
    while n > _LEAST and ids[n - 1].strip().rstrip(":").lower() in _WORDS:
        n -= 1
    numbers = frame.select_dtypes("number")
    if n == len(ids) and _is_sum(numbers):
        said = (
            f"{source}: its last row holds the sums of the rows above it. If it is no sample, remove it from the file."
        )
        return replace(table, notes=(*table.notes, said))
    if n == len(ids) or not all(_sums_up(numbers.iloc[:n], numbers.iloc[i]) for i in range(n, len(ids))):
        return table
    names = ", ".join(map(shown, ids[n:]))
    note = f"{source}: {names} at its end {'sums' if len(ids) - n == 1 else 'sum'} up the other rows, so left out."
    return replace(table, frame=frame.iloc[:n].reset_index(drop=True), ids=ids[:n], notes=(*table.notes, note))


def _sums_up(rows: Any, last: Any) -> bool:
    """Return whether every number of a row is a sum, mean or other statistic of the numbers above it."""
    values = last.dropna()
    if values.empty:
        return False
    above = rows[values.index]
    found = [getattr(above, name)() for name in ("sum", "mean", "median", "min", "max", "std", "count")]
    close = [np.isclose(values.to_numpy(float), each.to_numpy(float), rtol=_CLOSE) for each in found]
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
