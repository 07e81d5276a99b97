"""A table as it was read: the columns, the ids of its rows, and what was found out about the file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave.tabular.problems import Problem, TableError, Way, need_column, shown
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import chosen_ids, examples, names_ids, numbers_rows, repeated, text_of, unnamed_ids

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableFile", "named_rows", "with_ids"]

_NEARLY = 0.9  # share of entries that differ in a column of ids with a mistake


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table that was read from a file.

    Parameters
    ----------
    frame : pandas.DataFrame
        The columns without that of the ids. Columns of numbers have a numeric type; others are texts, booleans, dates
        or categories, as the file has them.
    ids : list of str or None
        The ids of the rows; None if the file has none.
    notes : tuple of str
        What was found in the file, one sentence each.
    title : str or None
        What the file calls the ids.
    columns : tuple of str
        The columns that `id` and `labels` may name; the frame has those of them that were asked for.
    start : int
        The number of rows of the file before those of the frame, if it is a part of it.
    units : mapping of str to str
        The units of columns that have one, as the file says it.
    """

    frame: pd.DataFrame
    ids: list[str] | None = None
    notes: tuple[str, ...] = field(default=())
    title: str | None = None
    columns: tuple[str, ...] = field(default=())
    start: int = 0
    units: Mapping[str, str] = field(default_factory=dict)

    def without(self, columns: Collection[str]) -> TableFile:
        """Return the table without some columns, where it has them; options may still name them."""
        left_out = [name for name in columns if name in self.frame]
        frame = self.frame.drop(columns=left_out)
        units = {name: unit for name, unit in self.units.items() if name in frame}
        return replace(self, frame=frame, units=units, columns=(*self.columns, *map(str, left_out)))


def with_ids(
    frame: pd.DataFrame, path: Path, options: ReadOptions, *, found: str | None, notes: Sequence[str]
) -> TableFile:
    """Return a table of a format without row names: ids are in a column, which `options.id` or `found` names."""
    source = str(path)
    said = [f"{source}: {note}." for note in notes]
    ids: list[str] | None
    if options.id is not None and options.id in frame:
        rest, _, more = unnamed_ids(frame, source, id=options.id, asked=options.kept)
        ids = chosen_ids(rest, options.id, source)
        said += [f"{source}: {note}." for note in more]
        return TableFile(rest.drop(columns=options.id), ids, tuple(said), options.id, tuple(rest))
    if options.id is not None:
        chosen_ids(frame, options.id, source)
    rest, ids, more = unnamed_ids(frame, source, id=found, asked=options.kept)
    said += [f"{source}: {note}." for note in more]
    if ids is None and found is None:
        said += _nearly_ids(rest, source)
    if ids is not None or found is None or found not in rest:
        return TableFile(rest, ids, tuple(said), None, tuple(rest))
    wrong = repeated(rest[found])
    if wrong is not None:
        said += [f"{source}: {_not_ids(found, 'held the ids before', *wrong)}."] if found == options.usual_id else []
        return _without_ids(rest, source, found, wrong, said)
    ids = [text_of(value) for value in rest[found]]
    said.append(f"{source}: the column {found!r} holds the ids ({examples(ids)}).")
    return TableFile(rest.drop(columns=found), ids, tuple(said), found, tuple(rest))


def _nearly_ids(frame: pd.DataFrame, source: str) -> list[str]:
    """Return a note if the first column has the name of an id column and holds texts, of which few are repeated."""
    name = str(frame.columns[0])
    texts = frame[name]
    if not names_ids(name) or texts.dtype.kind in "biufcmM" or texts.nunique() < _NEARLY * len(texts):
        return []
    row, text = repeated(texts) or (0, "")
    return [f"{source}: {_not_ids(name, 'has the name of an id column', row, text)}."] if row else []


def _not_ids(name: str, why: str, row: int, text: str) -> str:
    """Return that a column was expected to hold the ids, but does not tell all samples apart."""
    told = f"holds {shown(text)} again in row {row}" if text else f"has no entry in row {row}"
    return f"the column {name!r} {why}, but {told}, so the samples are numbered instead"


def _without_ids(frame: pd.DataFrame, source: str, found: str, wrong: tuple[int, str], said: list[str]) -> TableFile:
    """Return a table whose column `found` is not the ids after all; refuse one that is called an id."""
    row, text = wrong
    if numbers_rows(found):
        told = f"holds {shown(text)} again in row {row}" if text else f"has no entry in row {row}"
        why = f"the column {found!r} has the name of an id column, but {told}"
        problem = f"{why}. Give every sample its own, or leave it out."
        raise TableError(source, [Problem(problem, (Way("leave it out", {"drop": found}),))])
    return TableFile(frame, None, tuple(said), None, tuple(frame))


def named_rows(table: TableFile, path: Path, options: ReadOptions) -> TableFile:
    """Return a table whose format names its rows; `options.id` may name a column with other ids."""
    if options.id is None or (options.id == table.title and options.id not in table.frame):
        if table.ids is not None:
            _need_unique(table, path)
        return table
    need_column(table.columns, options.id, str(path))
    ids = chosen_ids(table.frame, options.id, str(path))
    return replace(table, frame=table.frame.drop(columns=options.id), ids=ids, title=options.id)


def _need_unique(table: TableFile, path: Path) -> None:
    import pandas as pd

    title = table.title or "row names"
    chosen_ids(pd.DataFrame({title: pd.Series(table.ids, dtype=object)}), title, str(path))
