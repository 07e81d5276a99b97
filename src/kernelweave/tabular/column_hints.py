"""Hints about columns that are probably not what they are read as, such as codes, dates or numbers of the rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import narwhals as nw
import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Array
from kernelweave.samples.column_kinds import tell_apart
from kernelweave.samples.unread_texts import Unread, unread_texts
from kernelweave.tabular.date_text import date_hints, dates_of
from kernelweave.tabular.missing_codes import code_hints
from kernelweave.tabular.number_text import is_blank, seems_number, text_columns
from kernelweave.tabular.problems import shown, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import may_number
from kernelweave.tabular.table_file import TableFile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["code_notes", "most_words", "with_hints"]

_SLIPS = 0.1  # share of words among numbers up to which they are errors, not categories
_MIXED = 0.5  # the same, of a column whose numbers are measured: they have fractions, and many of them differ
_VARIED = 10  # different numbers that such a column must have more of
_APART = 0.8  # share of the numbers beside few words that differ, if they are measured however many words there are
_FEW_KINDS = 3  # different words that are few
_FRACTIONS, _WHOLES = 2, 5  # with no more different numbers than this (fractions, whole numbers), they are categories
_MOST_CATEGORIES = 200  # categories of a column
_CODE = re.compile(r"\d{3,}")  # months and hours have two digits
_DATED = re.compile(
    r"\d{1,2}[-. ]+(mar|mär|mrz|sep|sept|dec|dez|oct|okt|apr|feb)\.?|(mar|sep|dec)-\d{1,2}|\d{4}-\d\d-\d\d( 00:00:00)?",
    re.IGNORECASE,
)
_DATES = 0.05  # share of the ids that dates among other names have at most
_LEAST_ROWS = 10  # rows; fewer whole numbers may follow each other by chance
_NAMED = 3  # columns that an option names


def with_hints(table: TableFile, path: Path, options: ReadOptions) -> TableFile:
    """Return a table whose notes name what may be codes for missing values, numbers of the rows, dates, or the same."""
    frame, kept, named = table.frame, options.kept, table.ids is not None
    hints = [
        *code_hints(frame, kept),
        *_number_hints(frame, kept, named=named),
        *date_hints(frame, kept),
        *_case_hints(frame, kept),
        *_word_hints(frame, kept),
        *_unread_hints(frame, kept, named=named),
        *_dated_genes(table.ids or ()),
    ]
    return replace(table, notes=(*table.notes, *(f"{path}: {hint}." for hint in hints)))


def _dated_genes(ids: Sequence[str]) -> list[str]:
    """Return a hint if a few of many names are dates, into which spreadsheets turn genes such as MARCH1 and SEPT2."""
    dates = [name for name in ids if _DATED.fullmatch(name)]
    if not dates or len(dates) > _DATES * len(ids):
        return []
    told = f"{counted(len(dates), 'id')} {'is a date' if len(dates) == 1 else 'are dates'} ({shown_names(dates)})"
    genes = "If these are genes, a spreadsheet program has changed names such as MARCH1 and SEPT2"
    return [f"{told}, and the others are not. {genes}: correct them"]


def _case_hints(frame: pd.DataFrame, kept: Collection[str | None]) -> list[str]:
    """Return a sentence for every column with categories that differ in small and capital letters only."""
    hints = []
    for name in [name for name in text_columns(frame) if name not in kept]:
        categories = frame[name].dropna().astype(str).unique().tolist()
        if not 2 <= len(categories) <= min(_MOST_CATEGORIES, len(frame) // 2):
            continue
        alike: defaultdict[str, list[str]] = defaultdict(list)
        for category in categories:
            alike[category.casefold()].append(category)
        if several := [sorted(same) for same in alike.values() if len(same) > 1]:
            told = f"column {name!r} has categories that differ in small and capital letters only"
            hints.append(f"{told} ({shown_names(several[0])}). If they are the same, write them alike")
    return hints


def _word_hints(frame: pd.DataFrame, kept: Collection[str | None]) -> list[str]:
    """Return a sentence for columns of categories that are numbers for the most part, as those of ages beside a word.

    Where the words are few or the numbers nearly all differ, the commands refuse the column.
    """
    import pandas as pd

    found: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in [name for name in text_columns(frame) if name not in kept]:
        if len({cell for cell in frame[name].tolist() if seems_number(cell)}) <= _VARIED:
            continue
        texts = frame[name].dropna().astype(str).str.strip()
        numbers = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=np.float64)
        words = texts[np.isnan(numbers)]
        known, kinds = numbers[~np.isnan(numbers)], tuple(sorted(set(words)))
        if not 1 <= len(kinds) <= _FEW_KINDS or len(np.unique(known)) <= _VARIED or "=" in "".join(kinds):
            continue
        if len(words) > most_words(known, len(kinds)) * len(texts):
            found[kinds].append(str(name))
    return [_told_words(names, kinds) for kinds, names in found.items()]


def _told_words(names: Sequence[str], words: Sequence[str]) -> str:
    several = len(names) > 1
    told = f"columns {shown_names(names)} are" if several else f"column {shown(names[0])} is"
    told += f" not read as numbers, since {'they hold' if several else 'it holds'} {shown_names(words)} beside them"
    codes = [f"{name}={word}" for name in names for word in words] if len(names) <= _NAMED else list(words)
    flags = " ".join(f'--missing "{code}"' for code in codes)
    return f"{told}. If these are measured, pass {flags} (missing={codes!r} in Python)"


def _number_hints(frame: pd.DataFrame, kept: Collection[str | None], *, named: bool) -> list[str]:
    """Return a sentence for every column that holds each whole number of a range once, or is called like numbers.

    `named` tells whether the rows have ids.
    """
    n = len(frame)
    if n < _LEAST_ROWS:
        return []
    numeric = frame.select_dtypes("number", exclude="timedelta")
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused elsewhere
        fits = (numeric.max() - numeric.min() == n - 1).to_numpy(dtype=bool, na_value=False)
    hints = []
    for name, follows in zip(map(str, numeric), fits, strict=True):
        if name in kept or not (follows or may_number(name)):
            continue
        values = numeric[name].to_numpy(dtype=np.float64, na_value=np.nan)
        if len(np.unique(values)) == n and (values % 1 == 0).all():  # a missing cell is not a whole number
            option = f'--drop "{name}" (drop=["{name}"]' if named else f'--id "{name}" (id="{name}"'
            numbers = f"the numbers {int(values.min())} to {int(values.max())}, each once"
            hints.append(
                f"column {name!r} holds {numbers if follows else 'another whole number in every row'}. If it only "
                f"numbers the samples, it is not a feature: pass {option} in Python)"
            )
    return hints


def _unread_hints(frame: pd.DataFrame, kept: Collection[str | None], *, named: bool) -> list[str]:
    """Return a sentence for every kind of measurements that columns hold as texts; `named` is whether there are ids."""
    found: defaultdict[str, list[tuple[str, Unread, bool]]] = defaultdict(list)
    for name in [name for name in text_columns(frame) if name not in kept]:
        different = frame[name].dropna().unique()
        unread = unread_texts([str(text).strip() for text in different])
        if unread is None or (unread.kind == "dates" and dates_of(frame[name]) is not None):
            continue
        if tell_apart(nw.from_native(frame[name], series_only=True), None)[0] in ("category", "left out"):
            found[unread.kind].append((str(name), unread, not named and len(different) == len(frame)))
    return [_told_unread(columns) for columns in found.values()]


def _told_unread(columns: Sequence[tuple[str, Unread, bool]]) -> str:
    names = [name for name, *_ in columns]
    _, unread, may_name = columns[0]
    several = len(names) > 1
    other = "" if unread.other is None or several else f", beside {shown(unread.other)}"
    as_what = "dates" if unread.kind == "dates" else "numbers"
    told = f"columns {shown_names(names)} seem" if several else f"column {shown(names[0])} seems"
    told += f" to hold {unread.kind} ({shown(unread.example)}{other}), which are not read as {as_what}"
    drop = " ".join(f'--drop "{name}"' for name in names[:_NAMED]) + " ..." * (len(names) > _NAMED)
    naming = f'. If {"one of them" if several else "it"} names the samples, pass --id "{names[0]}"' if may_name else ""
    return f"{told}. {unread.advice}, or leave {'them' if several else 'it'} out with {drop}{naming}"


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


@np.errstate(invalid="ignore")  # infinity is no whole number
def most_words(numbers: Array, n_kinds: int) -> float:
    """Return the share of a column that may be words, of so many kinds, if these numbers of it are measured.

    Whole numbers that are next to each other, such as those of chromosomes beside an X, count the rows.
    """
    different, whole = len(np.unique(numbers)), bool((numbers % 1 == 0).all())
    if different <= (_WHOLES if whole else _FRACTIONS):
        return _SLIPS
    spread = not whole or bool(np.ptp(numbers) >= 2 * len(numbers))
    if n_kinds <= _FEW_KINDS and spread and different >= _APART * len(numbers):
        return 1.0
    return _MIXED if not whole and different > _VARIED else _SLIPS
