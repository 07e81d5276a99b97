"""The index of a data frame: ids of the rows, numbers left over from another table, or a count of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelweave.tabular.packages import pandas
from kernelweave.tabular.problems import shown, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import examples, find_id, repeated, text_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FrameIndex", "chosen_index", "find_frame_id", "read_index"]

_PEEKED = 100  # rows


@dataclass(frozen=True, slots=True)
class FrameIndex:
    """The ids in an index, None if there are none, what it is called, and notes about it.

    `numbers` tells that it has no name and holds whole numbers, as that of a table that was filtered or shuffled.
    """

    ids: list[str] | None = None
    title: str | None = None
    numbers: bool = False
    notes: tuple[str, ...] = ()


def read_index(index: pd.Index) -> FrameIndex:
    """Return the ids in an index, unless it only counts the rows from 0 or has several levels."""
    if index.nlevels > 1:
        named = [name for name in index.names if name is not None]
        which = f" ({shown_names(named)})" if named else ""
        note = f"its index of {index.nlevels} levels{which} is left out: reset_index() in pandas makes columns of them"
        return FrameIndex(notes=(note,))
    title = None if index.name is None else str(index.name)
    if title is None and type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1):
        return FrameIndex()
    entries = index.astype(str) if index.dtype.kind == "M" else index  # without times if all of them are 0:00
    ids = [text_of(value) for value in entries]
    return FrameIndex(ids, title, title is None and all(text.isdecimal() for text in ids))


def chosen_index(index: FrameIndex, frame: pd.DataFrame, options: ReadOptions) -> FrameIndex:
    """Return an index without ids if its numbers are not ids, with notes that tell what was chosen.

    A column of ids comes before numbers without a name, as in text, and numbers that repeat are not ids: tables that
    were put together have such an index.
    """
    if index.ids is None or options.id is not None:
        return index
    if index.numbers:
        found = find_frame_id(frame, options)
        if found is not None and repeated(frame[found]) is None:
            return FrameIndex(notes=("its index of numbers is left out, since a column holds the ids",))
        wrong = repeated(pandas().Series(index.ids, dtype=object))
        if wrong is not None:
            told = f"its index holds {shown(wrong[1])} again in row {wrong[0]}"
            return FrameIndex(notes=(f"{told}, so it is left out, and the samples are numbered",))
    named = "" if index.title is None else f" {shown(index.title)}"
    return FrameIndex(
        index.ids, index.title, index.numbers, (f"its index{named} holds the ids ({examples(index.ids)})",)
    )


def find_frame_id(frame: pd.DataFrame, options: ReadOptions) -> str | None:
    """Return the column of texts or whole numbers that most likely holds the ids, judged by the first rows."""
    names = [name for name in frame if frame[name].dtype.kind in "iuO" or str(frame[name].dtype) in ("str", "string")]
    body = frame[names].head(_PEEKED).map(lambda cell: "" if cell is None or cell != cell else str(cell))
    return find_id(names, body.to_numpy().tolist(), options)
