"""Categories and codes that are most likely not what they are read as: a hint, since nothing else tells."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from kernelweave.tabular.number_text import text_columns
from kernelweave.tabular.problems import shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["case_hints", "code_notes"]

_MOST = 200  # categories of a column
_CODE = re.compile(r"\d{3,}")  # months and hours have two digits


def case_hints(frame: pd.DataFrame, kept: Collection[str | None]) -> list[str]:
    """Return a sentence for every column with categories that differ in small and capital letters only."""
    hints = []
    for name in [name for name in text_columns(frame) if name not in kept]:
        categories = frame[name].dropna().astype(str).unique().tolist()
        if not 2 <= len(categories) <= min(_MOST, len(frame) // 2):
            continue
        alike: defaultdict[str, list[str]] = defaultdict(list)
        for category in categories:
            alike[category.casefold()].append(category)
        if several := [sorted(same) for same in alike.values() if len(same) > 1]:
            told = f"column {name!r} has categories that differ in small and capital letters only"
            hints.append(f"{told} ({shown_names(several[0])}). If they are the same, write them alike")
    return hints


def code_notes(
    names: Sequence[str], rows: Sequence[Sequence[str]], frame: pd.DataFrame, kept: Collection[str | None]
) -> list[str]:
    """Return a sentence for every column of numbers whose digits were codes of the same length, such as 00123."""
    notes = []
    for j, name in enumerate(names):
        cells = [row[j].strip() for row in rows if j < len(row) and row[j].strip()]
        padded = next((cell for cell in cells if cell[0] == "0"), None)
        if padded is None or name in kept or frame[name].dtype.kind not in "iu":
            continue
        if all(map(_CODE.fullmatch, cells)) and len({len(cell) for cell in cells}) == 1:
            told = f"column {name!r} is read as whole numbers, but written with zeros in front ({shown(padded)})"
            notes.append(f'{told}. If these are codes, leave them out with --drop "{name}"')
    return notes
