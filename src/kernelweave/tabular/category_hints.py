"""Categories and codes that are most likely not what they are read as: a hint, since nothing else tells."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.tabular.measured import VARIED, most_words
from kernelweave.tabular.number_text import is_blank, seems_number, text_columns
from kernelweave.tabular.problems import shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["case_hints", "code_notes", "word_hints"]

_WORDS = 3  # different words beside numbers, and columns that an option names
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


def word_hints(frame: pd.DataFrame, kept: Collection[str | None]) -> list[str]:
    """Return a sentence for columns of categories that are numbers for the most part, as those of ages beside a word.

    Where the words are few or the numbers nearly all differ, the commands refuse the column.
    """
    import pandas as pd

    found: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in [name for name in text_columns(frame) if name not in kept]:
        if len({cell for cell in frame[name].tolist() if seems_number(cell)}) <= VARIED:
            continue
        texts = frame[name].dropna().astype(str).str.strip()
        numbers = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64)
        words = texts[np.isnan(numbers)]
        known, kinds = numbers[~np.isnan(numbers)], tuple(sorted(set(words)))
        if not 1 <= len(kinds) <= _WORDS or len(np.unique(known)) <= VARIED or "=" in "".join(kinds):
            continue
        if len(words) > most_words(known, len(kinds)) * len(texts):
            found[kinds].append(str(name))
    return [_told_words(names, kinds) for kinds, names in found.items()]


def _told_words(names: Sequence[str], words: Sequence[str]) -> str:
    several = len(names) > 1
    told = f"columns {shown_names(names)} are" if several else f"column {shown(names[0])} is"
    told += f" not read as numbers, since {'they hold' if several else 'it holds'} {shown_names(words)} beside them"
    codes = [f"{name}={word}" for name in names for word in words] if len(names) <= _WORDS else list(words)
    flags = " ".join(f'--missing "{code}"' for code in codes)
    return f"{told}. If these are measured, pass {flags} (missing={codes!r} in Python)"


def code_notes(
    names: Sequence[str], rows: Sequence[Sequence[str]], frame: pd.DataFrame, kept: Collection[str | None]
) -> list[str]:
    """Return a sentence for every column of numbers whose digits were codes of the same length, such as 00123."""
    notes = []
    for j, name in enumerate(names):
        cells = [row[j].strip() for row in rows if j < len(row) and not is_blank(row[j])]
        padded = next((cell for cell in cells if cell[0] == "0"), None)
        if padded is None or name in kept or name not in frame or frame[name].dtype.kind not in "iuf":
            continue
        if all(map(_CODE.fullmatch, cells)) and len({len(cell) for cell in cells}) == 1:
            told = f"column {name!r} is read as whole numbers, but written with zeros in front ({shown(padded)})"
            notes.append(f'{told}. If these are codes, leave them out with --drop "{name}"')
    return notes
