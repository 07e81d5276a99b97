"""The ids of the samples: a column that is named, a first column without a name, an index, or one that is found."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.errors import InvalidInputError
from kernelweave.tabular.number_text import is_number, number_in
from kernelweave.tabular.problems import Problem, TableError, Way, need_column, shown
from kernelweave.tabular.read_options import ReadOptions

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "chosen_ids",
    "examples",
    "find_id",
    "is_unnamed",
    "may_number",
    "names_ids",
    "numbers_rows",
    "repeated",
    "text_of",
    "unnamed_ids",
]

_UNNAMED = re.compile(r"Unnamed: 0(\.\d+)?")  # with a number if a table was written, read and written again
_ID = re.compile(r"(.*[ _.\-])?(id|ids|barcode|accession|uuid|guid)|index|row ?names?|id[ _.\-].*")
_SURELY = re.compile(
    r"((sample|patient|pat|u?subj(ect)?|case|cell|donor|participant|proband|person|respondent|specimen|animal|gene|entrez)"
    r"s?[ _.\-]?)?ids?|barcode|uuid|guid"
)
_NUMBERED = re.compile(
    r"(sample|patient|pat|subj(ect)?|participant|proband|probe|person|customer|kunde|client|specimen|animal)(s|en|n)?"
    r"[ _.\-]*(nr|no|num|number|nummer|#)\.?|mrn|entrez"
)
_CAMEL = re.compile(r".*[a-z]I[dD]")  # PassengerId
_NOUN = re.compile(
    r"(sample|patient|subject|case|cell|donor|participant|observation|gene|probe|feature)s?([ _]?names?)?|names?|key"
)
_WHOLE = re.compile(r"\d+")


def is_unnamed(name: str) -> bool:
    """Return whether a name is the one that a first column without a name gets."""
    return _UNNAMED.fullmatch(name) is not None


def names_ids(name: str) -> bool:
    """Return whether a name is that of a column of ids."""
    return numbers_rows(name) or bool(_NOUN.fullmatch(name.strip().lower()))


def numbers_rows(name: str) -> bool:
    """Return whether a name says that even numbers in the column are ids."""
    lower = name.strip().lower()
    return bool(_ID.fullmatch(lower) or _SURELY.fullmatch(lower) or _CAMEL.fullmatch(name.strip()))


def may_number(name: str) -> bool:
    """Return whether a name says that different numbers in the column are most likely those of samples or genes."""
    return numbers_rows(name) or bool(_NUMBERED.fullmatch(name.strip().lower()))


def find_id(names: Sequence[str], body: Sequence[Sequence[str]], options: ReadOptions) -> str | None:
    """Return the column that most likely holds the ids, judged by the first rows; None if none does or `id` is set.

    The column of earlier files comes first, then one whose name says so (its entries may be numbers then), next a first
    column of texts, next one of texts with the name of an id column. Their entries must differ; a column that is called
    "id" and repeats itself is returned only if there is no other, so that it can be refused.
    """
    if options.id is not None or options.usual_id in names:
        return options.usual_id if options.id is None else None
    candidates = []
    full = [row for row in body if any(map(str.strip, row))]
    for j, name in enumerate(names):
        cells = [row[j].strip() for row in full if j < len(row)]
        if not name or is_unnamed(name) or name in options.kept or not cells:
            continue
        texts = not any(map(is_number, cells)) or _padded(cells)
        if len(set(cells)) < len(cells) or "" in cells:
            candidates += [(2, j)] if _SURELY.fullmatch(name.strip().lower()) else []
        elif numbers_rows(name) and (texts or all(map(_WHOLE.fullmatch, cells))):
            candidates.append((0, j))
        elif (texts or (j == 0 and _mostly_texts(cells))) and (j == 0 or names_ids(name)) and not _are_values(cells):
            candidates.append((1, j))
    return names[min(candidates)[1]] if candidates else None


def _padded(cells: Sequence[str]) -> bool:
    """Return whether the cells are digits with leading zeros, as in 007."""
    return all(map(_WHOLE.fullmatch, cells)) and any(len(cell) > 1 and cell[0] == "0" for cell in cells)


def _mostly_texts(cells: Sequence[str]) -> bool:
    return sum(map(is_number, cells)) < 0.5 * len(cells)


def _are_values(cells: Sequence[str]) -> bool:
    """Return whether texts are values after all: dates, times, or numbers with marks or units."""
    values = all(re.match(r"[<>~+\-$€£]?\s*\d", cell) or number_in(cell) is not None for cell in cells)
    return values and not _padded(cells)


def text_of(value: object) -> str:
    """Return an entry as text; a float that is a whole number (pandas casts integers next to NaN) has no ".0"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def repeated(column: pd.Series) -> tuple[int, str] | None:
    """Return the first row (from 1) whose id is missing or has occurred before, with that id; None if all are right."""
    texts = column.map(text_of)
    bad = (column.isna() | (texts == "") | texts.duplicated()).to_numpy()
    if not bad.any():
        return None
    where = int(np.flatnonzero(bad)[0])
    return where + 1, "" if column.isna().iloc[where] else texts.iloc[where]


def chosen_ids(frame: pd.DataFrame, column: str, source: str) -> list[str]:
    """Return the entries of the column that the caller named; each must be unique."""
    need_column(list(frame), column, source)
    found = repeated(frame[column])
    if found is None:
        return [text_of(value) for value in frame[column]]
    row, text = found
    if not text:
        msg = f"{source}: the id in column {column!r} is missing in row {row}: give every sample one."
    else:
        msg = (
            f"{source}: the id {text!r} in column {column!r} is not unique (row {row} repeats it): "
            "give every sample its own."
        )
    raise InvalidInputError(msg)


def unnamed_ids(
    table: pd.DataFrame, source: str, *, id: str | None, asked: Collection[str]
) -> tuple[pd.DataFrame, list[str] | None, list[str]]:
    """Return a table without its first columns that have no name, the ids in the first, and notes.

    They are left out if `id` names other ids. A column that options name (`asked`) stays.
    """
    leading: list[str] = []
    for column in table:
        if not is_unnamed(column) or column in asked or column == id:
            break
        leading.append(column)
    if not leading:
        return table, None, []
    notes, ids = [], None
    if id is None:
        ids = _unique(table[leading[0]], source)
        notes.append(f"its first column has no name, so its entries are the ids ({examples(ids)})")
    notes += [
        f"the column {column!r} is left out, since it looks like the row numbers that pandas writes"
        for column in leading[0 if ids is None else 1 :]
    ]
    return table.drop(columns=leading), ids, notes


def examples(ids: Sequence[str]) -> str:
    """Return the first ids as a message shows them."""
    return ", ".join(map(shown, ids[:2])) + (" ..." if len(ids) > 2 else "")


def _unique(column: pd.Series, source: str) -> list[str]:
    found = repeated(column)
    if found is not None:
        row, text = found
        held = f"{text!r} twice" if text else "no entry"
        said = (
            f"its first column has no name, and holds {held} (row {row}), so that it cannot be the ids. Name the "
            "column, or leave it out."
        )
        raise TableError(source, [Problem(said, (Way("leave it out", {"drop": str(column.name)}),))])
    return [text_of(value) for value in column]
