"""Large text and Parquet files, read in parts of some rows, each as the whole file would be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.tabular.delimited import clean_frame, columns_of, parsed_parts, refuse_headers, refuse_rows
from kernelweave.tabular.frame_files import parquet_parts
from kernelweave.tabular.number_style import file_style, style_of
from kernelweave.tabular.number_text import named_units, text_columns
from kernelweave.tabular.problems import Problem, TableError, shown
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import find_id
from kernelweave.tabular.summary_rows import parts_without_summaries
from kernelweave.tabular.table_file import TableFile, with_ids
from kernelweave.tabular.table_reader import readable
from kernelweave.tabular.text_layout import find_layout
from kernelweave.tabular.text_source import text_source

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["table_parts"]


def table_parts(path: Path, options: ReadOptions, rows: int) -> Iterator[TableFile]:
    """Yield a text or Parquet file in parts of so many rows.

    What is found from the first part (layout, ids, decimal mark, which columns are numbers) holds for all of it. A part
    that would be read in another way is refused, since the file as a whole would be read in another way too. Rows that
    sum up others are left out as in a whole file.
    """
    suffix = path.suffix.lower()
    if options.long is not None:
        text = "a long table cannot be read in parts, since a sample has several rows. Pass --chunk-rows 0."
        raise TableError(str(path), [Problem(text)])
    parts = parquet_parts(path, options, rows) if suffix == ".parquet" else _text_parts(path, options, rows)
    with readable(path, suffix):
        yield from parts_without_summaries(
            (part.without(options.left_out) for part in _alike(parts, str(path))), str(path)
        )


def _text_parts(path: Path, options: ReadOptions, rows: int) -> Iterator[TableFile]:
    source = text_source(path, options.encoding, whole=False)
    layout = find_layout(source, options)
    found = find_id(columns_of(layout), layout.body, options)

    def first(*, texts: bool) -> pd.DataFrame:
        return next(parsed_parts(source, layout, options, found, rows, texts=texts))

    style, texts = file_style(path, first(texts=False), lambda: first(texts=True), options, found, layout)
    short, start = False, 0
    for frame in parsed_parts(source, layout, options, found, rows, texts=texts is not None):
        if not short and frame.iloc[:, -1].isna().any():
            short = True  # all rows of the file have been looked at
            refuse_rows(source, layout)
        refuse_headers(source, frame, layout, start)
        start += len(frame)
        own = style_of(path, frame, options, found, layout)
        if own.thousands is not None and own.decimal != style.decimal:
            marks = f"{shown(style.decimal)} in some rows and {shown(own.decimal)} in others"
            text = f"its numbers have the decimal mark {marks}. Say which it is with --decimal."
            raise TableError(str(path), [Problem(text)])
        clean = clean_frame(frame, path, own if own.decimal == style.decimal else style, options, found)
        lost = [name for name in frame if name not in clean.frame]  # without an entry in this part
        kept = clean.frame.assign(**dict.fromkeys(lost, np.nan))[list(frame)]
        part = with_ids(kept, path, options, found=found, notes=[*source.notes, *layout.notes, *clean.notes])
        yield replace(part, units=named_units(part.frame, {**layout.units, **clean.units}))


@dataclass(slots=True)
class _PartsBefore:
    """What the parts before had: the kinds of columns, the column of ids, digests of the ids, and notes."""

    kinds: dict[str, str] = field(default_factory=dict)
    title: tuple[str | None, bool] | None = None
    ids: set[int] = field(default_factory=set)
    notes: set[str] = field(default_factory=set)
    rows: int = 0

    def new_notes(self, notes: Sequence[str]) -> tuple[str, ...]:
        """Return the notes that no part before had, but for the examples that they give in parentheses."""
        new = {note: note.partition(" (")[0] for note in notes if note.partition(" (")[0] not in self.notes}
        self.notes.update(new.values())
        return tuple(new)


def _alike(parts: Iterator[TableFile], source: str) -> Iterator[TableFile]:
    """Yield the parts of a table; refuse one with other kinds of columns or ids than those before, or the same ids."""
    before = _PartsBefore()
    for part in parts:
        for name in part.frame:
            kind = _kind(part.frame[name])
            if kind is not None and before.kinds.setdefault(str(name), kind) != kind:
                text = (
                    f"column {str(name)!r} holds {before.kinds[str(name)]} at first, but {kind} after row {before.rows}"
                )
                raise _differs(source, text)
        title = part.title, part.ids is not None
        if before.title is not None and title != before.title:
            same = f"the ids of the rows cannot be read in the same way before and after row {before.rows}"
            raise _differs(source, same)
        _check_ids(part, before, source)
        before.title, before.rows = title, before.rows + len(part.frame)
        yield replace(part, start=before.rows - len(part.frame), notes=before.new_notes(part.notes))


def _check_ids(part: TableFile, before: _PartsBefore, source: str) -> None:
    """Refuse an id that a part before has; only their hashes are kept."""
    for name in part.ids or ():
        if hash(name) in before.ids:
            text = (
                f"the id {shown(name)} occurs more than once. Give every sample its own, or choose other ids with --id."
            )
            raise TableError(source, [Problem(text)])
        before.ids.add(hash(name))


def _kind(column: pd.Series) -> str | None:
    """Return what a column holds, None if it has no entry."""
    known = column.dropna()
    if known.empty:
        return None
    if known.map(lambda cell: isinstance(cell, bool | np.bool_)).all():
        return "booleans"
    return "texts" if text_columns(column.to_frame()) else "numbers or dates"


def _differs(source: str, text: str) -> TableError:
    advice = "Read the file as a whole with --chunk-rows 0, or leave the column out with --drop."
    return TableError(source, [Problem(f"{text}. {advice}")])
