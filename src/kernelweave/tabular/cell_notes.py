"""Notes about the cells of columns; a note that many columns have in common becomes one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from kernelweave.tabular.problems import shown_names

__all__ = ["CellNote", "told_notes"]

_FEW = 3  # columns of which the same is said one by one


class CellNote(NamedTuple):
    """A note about `cells` cells of a column, or the whole column if it is 0; `told` is what is said of several.

    Notes with the same `key` say the same, but for the numbers of cells and the example in it.
    """

    text: str
    column: str
    cells: int
    told: str
    key: Hashable


def told_notes(notes: Sequence[CellNote]) -> list[str]:
    """Return the sentences of notes, in which those of many columns that say the same are one."""
    alike: dict[Hashable, list[CellNote]] = defaultdict(list)
    for note in notes:
        alike[note.key].append(note)
    said: list[str] = []
    for note in notes:
        same = alike[note.key]
        if len(same) <= _FEW:
            said.append(note.text)
        elif note is same[0]:
            cells = sum(each.cells for each in same)
            columns = f"{len(same)} columns ({shown_names([each.column for each in same])})"
            said.append(f"{f'{cells} cells of ' if cells else ''}{columns} are {note.told}")
    return said
