"""A table as it was read, and the names of its rows: an index, or a first column without a name."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelweave.cli._numeric import text_of
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["UNNAMED", "RawTable", "index_names", "leading_names"]

UNNAMED = "Unnamed: 0"  # pandas' name for a first column without one
_UNNAMED = re.compile(r"Unnamed: 0(\.\d+)?")  # with a number if a table was written, read and written again


@dataclass(frozen=True, slots=True)
class RawTable:
    """A table as read.

    `names` are the ids that the file gives its rows, if any, and `title` is what the file calls them. `columns` are
    those that --id and --labels may name; the frame has those of them that were asked for.
    """

    frame: pd.DataFrame
    names: list[str] | None = None
    title: str | None = None
    columns: Sequence[str] = ()


def index_names(table: pd.DataFrame) -> RawTable:
    """Return a table whose index names its rows, unless the index only counts them."""
    index = table.index
    frame = table.reset_index(drop=True)
    if type(index).__name__ == "RangeIndex" or index.nlevels > 1:
        return RawTable(frame, columns=list(frame))
    title = None if index.name is None else str(index.name)
    columns = [*frame, *([] if title is None else [title])]
    return RawTable(frame, [text_of(value) for value in index], title, columns)


def leading_names(table: pd.DataFrame, source: str, *, id: str | None, asked: Collection[str]) -> RawTable:
    """Return a table without its first columns that have no name: the first holds the ids, unless `id` names others.

    A column that options name (`asked`) stays.
    """
    leading: list[str] = []
    for column in table:
        if not _UNNAMED.fullmatch(column) or column in asked or column == id:
            break
        leading.append(column)
    frame = table.drop(columns=leading)
    if not leading:
        return RawTable(frame, columns=list(frame))
    names = None if id is not None else _unique_texts(table[leading[0]], source)
    if names is not None:
        shown = ", ".join(map(repr, names[:2])) + (" ..." if len(names) > 2 else "")
        _note(f"{source}: its first column has no name, so its entries are the ids ({shown}).")
    for column in leading if names is None else leading[1:]:
        _note(f"{source}: the column {column!r} is left out, since it looks like the row numbers that pandas writes.")
    return RawTable(frame, names, columns=list(frame))


def _unique_texts(column: pd.Series, source: str) -> list[str]:
    texts = column.map(text_of)
    bad = column.isna() | (texts == "") | texts.duplicated()
    if bad.any():
        where = int(bad.to_numpy().argmax())
        held = f"{texts.iloc[where]!r} twice" if texts.iloc[where] and column.notna().iloc[where] else "no entry"
        msg = (
            f"{source}: its first column has no name, and holds {held} (row {where + 1}), so that it cannot be the "
            f"ids. Name the column, or leave it out: --drop {str(column.name)!r}."
        )
        raise InvalidInputError(msg)
    return list(texts)


def _note(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=2)
