"""What the columns of a table hold, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from typing import TYPE_CHECKING

from kernelweave._plural import counted
from kernelweave.tabular.problems import shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnSummary", "summarise"]

_FEW = 20  # different texts that are still categories


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """A column: its name, its kind, the number of missing cells, and its range or categories in words."""

    name: str
    kind: str
    n_missing: int
    content: str


def summarise(frame: pd.DataFrame) -> list[ColumnSummary]:
    """Return what every column of a data frame holds.

    The kinds are number, whole number, boolean, date, duration, time (of day), category (few texts, which repeat), text
    and empty.
    """
    return [_summary(str(name), frame[name]) for name in frame]


def _summary(name: str, column: pd.Series) -> ColumnSummary:
    known = column.dropna()
    missing = len(column) - len(known)
    code = column.dtype.kind
    if known.empty:
        return ColumnSummary(name, "empty", missing, "")
    if code == "b" or set(map(str, known.head(1000).unique())) <= {"True", "False"}:
        return ColumnSummary(
            name, "boolean", missing, f"{counted(int((known.astype(str) == 'True').sum()), 'time')} True"
        )
    if code in "iuf":
        low, high = known.min(), known.max()
        whole = bool((known % 1 == 0).all())
        return ColumnSummary(name, "whole number" if whole else "number", missing, f"{low:.6g} to {high:.6g}")
    if code == "M":
        return ColumnSummary(name, "date", missing, f"{known.min():%Y-%m-%d} to {known.max():%Y-%m-%d}")
    if code == "m" or all(isinstance(cell, time) for cell in known):
        return ColumnSummary(name, "duration" if code == "m" else "time", missing, f"{known.min()} to {known.max()}")
    texts = known.astype(str)
    counts = texts.value_counts()
    if len(counts) <= max(_FEW, len(column) // 10) and len(counts) < max(len(known), 2):
        return ColumnSummary(name, "category", missing, f"{len(counts)} different: {shown_names(list(counts.index))}")
    return ColumnSummary(name, "text", missing, f"{len(counts)} different: {shown_names(list(texts[:3]))}")
