"""Text tables: read by pandas in the layout that was found, then checked as a whole."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.tabular.cell_notes import CellNote, told_notes
from kernelweave.tabular.column_hints import code_notes, with_hints
from kernelweave.tabular.date_text import dates_of
from kernelweave.tabular.long_table import Widened, widened
from kernelweave.tabular.missing_codes import whole_labels, without_codes, without_words
from kernelweave.tabular.number_style import file_style, told_style
from kernelweave.tabular.number_text import Style, has_word, named_units, numbers_of, text_columns
from kernelweave.tabular.packages import pandas
from kernelweave.tabular.problems import Problem, TableError, shown, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import find_id, is_unnamed, text_of
from kernelweave.tabular.separator import split_rows
from kernelweave.tabular.table_file import TableFile, with_ids
from kernelweave.tabular.text_layout import Layout, find_layout
from kernelweave.tabular.text_source import TextSource, text_source

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "CleanFrame",
    "clean_frame",
    "columns_of",
    "distinct_names",
    "finished",
    "parsed_parts",
    "read_delimited",
    "refuse_headers",
    "refuse_rows",
    "repeated_names",
    "trimmed",
]

_LISTED = 5  # rows that a message names


def read_delimited(path: Path, options: ReadOptions) -> TableFile:
    """Return a text table."""
    source = text_source(path, options.encoding)
    layout = find_layout(source, options)
    found = find_id(columns_of(layout), layout.body, options)
    frame = _parsed(source, layout, options, found)
    if repeats := header_rows(frame, layout):
        layout = replace(layout, repeats=True, notes=(*layout.notes, _told_repeats(repeats)))
        frame = _parsed(source, layout, options, found)
        refuse_headers(source, frame, layout)
    _check_rows(source, layout, frame)
    style, texts = file_style(
        path, frame, lambda: _parsed(source, layout, options, found, texts=True), options, found, layout
    )
    frame = frame if texts is None else texts
    clean = clean_frame(frame, path, style, options, found)
    named = repeated_names(layout.head) if layout.header or layout.names is not None else []
    said = [*source.notes, *layout.notes, *named, *told_style(style, frame, clean.frame)]
    said += code_notes(columns_of(layout), layout.body, frame, options.kept)
    table = finished(replace(clean, units={**layout.units, **clean.units}), path, style, options, found, said)
    if table.ids is not None and table.frame.columns.empty and len(layout.head) == 1:
        told = f"it has the column {shown(layout.head[0])} only, which holds the ids"
        text = f"{told}. If there are others, say what separates them with --sep."
        if any(mark in layout.head[0] for mark in ",;\t|") and _in_quotes(source, layout):
            text = f"{told}. Its lines are in quotes as a whole: remove the quotes around them, and halve those within."
        raise TableError(str(path), [Problem(text)])
    return table


def _in_quotes(source: TextSource, layout: Layout) -> bool:
    """Return whether the first line of a table is one entry in quotes, as programs write that quote what they copy."""
    with source.open() as file:
        line = next(layout.lines(file), "").strip()
    return len(line) > 1 and line[0] == line[-1] == '"'


def finished(
    clean: CleanFrame, path: Path, style: Style, options: ReadOptions, found: str | None, said: Sequence[str]
) -> TableFile:
    """Return a table that was read and cleaned, with a row for every sample, and its ids."""
    wide = widened(clean.frame, path, options)
    notes = [*said, *clean.notes]
    if isinstance(wide, Widened):
        found, clean = wide.id, clean_frame(wide.frame, path, style, replace(options, missing=()), wide.id)
        notes += [*wide.notes, *clean.notes]
    else:
        notes += wide
    table = with_ids(clean.frame, path, options, found=found, notes=notes)
    return with_hints(replace(table, units=named_units(table.frame, clean.units)), path, options)


def columns_of(layout: Layout) -> list[str]:
    """Return the names of the columns, which all differ."""
    if not layout.header and layout.names is None:
        return list(map(str, range(len(layout.head))))
    return distinct_names(layout.head if layout.names is None else layout.names)


def distinct_names(given: Sequence[str]) -> list[str]:
    """Return names of columns that differ: one without a name gets that of pandas, a repeated one a number.

    Line breaks and blanks at the ends, as spreadsheets have them in headers, are not part of a name.
    """
    given = [" ".join(name.split()) for name in given]
    taken = set(given)
    names: dict[str, None] = {}
    for j, name in enumerate(given):
        called = name or f"Unnamed: {j}"
        if called in names or (not name and called in taken):
            called = next(other for i in count(1) if (other := f"{called}.{i}") not in taken and other not in names)
        names[called] = None
    return list(names)


def _parsed(
    source: TextSource, layout: Layout, options: ReadOptions, found: str | None, *, texts: bool = False
) -> pd.DataFrame:
    """Return the table that pandas reads; ids and labels are text, and each is kept as it is, "NA" too."""
    marked, settings = _pandas_settings(layout, options, found, texts=texts)
    with _rows_of(source, layout) as lines, _complete(source, layout):
        frame = pandas().read_csv(lines, **settings)
    return trimmed(_unmarked(frame, marked))


def parsed_parts(
    source: TextSource, layout: Layout, options: ReadOptions, found: str | None, rows: int, *, texts: bool
) -> Iterator[pd.DataFrame]:
    """Yield the table of `_parsed` in parts of so many rows."""
    marked, settings = _pandas_settings(layout, options, found, texts=texts)
    with _rows_of(source, layout) as lines:
        with _complete(source, layout):
            reader = pandas().read_csv(lines, chunksize=rows, **settings)
        while True:
            with _complete(source, layout):
                frame = next(reader, None)
            if frame is None:
                return
            yield trimmed(_unmarked(frame.reset_index(drop=True), marked))


def _pandas_settings(
    layout: Layout, options: ReadOptions, found: str | None, *, texts: bool
) -> tuple[list[str], dict[str, Any]]:
    """Return the columns that may be ids, or are labels, and the settings of `read_csv`."""
    settings: dict[str, Any] = {"sep": r"\s+" if layout.sep == " " else layout.sep, "skipinitialspace": True}
    settings |= {"index_col": False, "header": 0 if layout.header else None, "low_memory": False}
    settings["float_precision"] = "round_trip"  # a sample is that of a fit in Python only if all digits are the same
    keys = settings["names"] = columns_of(layout)
    marked = [key for key in keys if key in (options.id, options.labels, found) or is_unnamed(key)]
    settings["dtype"] = {key: str for key in keys if texts and key not in marked}
    settings["converters"] = dict.fromkeys(marked, _marked)
    return marked, settings


class _Lines(io.TextIOBase):
    """Lines as a file, of which pandas asks for some characters at a time."""

    def __init__(self, lines: Iterator[str]) -> None:
        super().__init__()
        self._lines = lines

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> str:
        """Return lines until there are so many characters."""
        parts: list[str] = []
        n = 0
        for line in self._lines:
            parts.append(line)
            n += len(line)
            if size is not None and 0 <= size <= n:
                break
        return "".join(parts)


@contextmanager
def _rows_of(source: TextSource, layout: Layout) -> Iterator[IO[str] | _Lines]:
    """Open a file at its header, without comments between the rows and lines below them."""
    with source.open() as file:
        if layout.comments is not None or layout.footer or layout.repeats:
            yield _Lines(layout.lines(file))
            return
        for _ in range(layout.skip):
            next(file)
        yield file


@contextmanager
def _complete(source: TextSource, layout: Layout) -> Iterator[None]:
    """Refuse rows of another length while pandas reads: it stops at them, or leaves entries out with a warning."""
    pd = pandas()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        try:
            yield
        except (pd.errors.ParserError, pd.errors.EmptyDataError):
            refuse_rows(source, layout)
            raise
    if any(issubclass(warning.category, pd.errors.ParserWarning) for warning in said):
        refuse_rows(source, layout)


def _unmarked(frame: pd.DataFrame, marked: Collection[str]) -> pd.DataFrame:
    """Return a table whose ids and labels are without their mark."""
    for key in marked:
        texts_of = frame[key].str[1:]
        frame[key] = texts_of.mask(texts_of == "")
    return frame


def trimmed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose texts have no blanks around them, which are not part of a category."""
    texts = {
        name: frame[name].map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
        for name in text_columns(frame)
    }
    return frame.assign(**{name: column.mask(column == "") for name, column in texts.items()})


def _marked(entry: str) -> str:
    """Return an id or label with a mark before it, so that pandas does not take it for missing; it is removed later."""
    return f"={entry.strip()}"


def _check_rows(source: TextSource, layout: Layout, frame: pd.DataFrame) -> None:
    """Refuse a table with no rows, or with rows that are too short, which pandas fills up."""
    if not len(frame):
        msg = f"{source.path} holds no rows."
        raise InvalidInputError(msg)
    if frame.iloc[:, -1].isna().any():
        refuse_rows(source, layout)


def header_rows(frame: pd.DataFrame, layout: Layout) -> list[int]:
    """Return the rows, from 1, that are the header again, as in files that were put together from several."""
    texts = text_columns(frame)
    if not layout.header or len(layout.head) < 2 or not texts or len(layout.head) != frame.shape[1]:
        return []
    names = dict(zip(frame, map(str.strip, layout.head), strict=True))
    hit = (frame[texts[0]].map(text_of).str.strip() == names[texts[0]]).to_numpy()
    rows = frame[hit].map(text_of)
    same = [[cell.strip() for cell in row] == list(names.values()) for row in rows.to_numpy().tolist()]
    return [int(i) + 1 for i, again in zip(hit.nonzero()[0], same, strict=True) if again]


def refuse_headers(source: TextSource, frame: pd.DataFrame, layout: Layout, start: int = 0) -> None:
    """Raise an error if a row is the header again; so many rows of the file are before the frame."""
    if again := header_rows(frame, layout):
        text = f"row {start + again[0]} repeats the header: remove it from the file."
        raise TableError(str(source.path), [Problem(text)])


def _told_repeats(rows: Sequence[int]) -> str:
    listed = ", ".join(map(str, rows[:_LISTED])) + (" ..." if len(rows) > _LISTED else "")
    if len(rows) == 1:
        return f"row {listed} repeats the header, so it is left out"
    return f"{len(rows)} rows repeat the header, so they are left out (rows {listed})"


def refuse_rows(source: TextSource, layout: Layout) -> None:
    """Raise an error that lists the rows whose number of entries is not that of the header, if there are any."""
    width = len(columns_of(layout))
    what = "header" if layout.header or layout.names else "first row"
    wrong: list[str] = []
    with source.open() as file:
        rows = split_rows(layout.lines(file), layout.sep)
        for i, row in enumerate(rows, start=0 if layout.header else 1):
            if i and (any(row[width:]) or len(row) < width):
                wrong.append(f"row {i} has {counted(len(row), 'entry')}")
    if wrong:
        more = f" and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
        text = (
            f"{', '.join(wrong[:_LISTED])}{more}, but the {what} has {width}: correct the "
            f"{'row' if len(wrong) == 1 else 'rows'}, or quote entries that contain the separator."
        )
        raise TableError(str(source.path), [Problem(text)])


@dataclass(frozen=True, slots=True)
class CleanFrame:
    """A table whose texts that are numbers are numbers, with notes, and the units of columns."""

    frame: pd.DataFrame
    notes: list[str]
    units: Mapping[str, str]


def clean_frame(frame: pd.DataFrame, path: Path, style: Style, options: ReadOptions, found: str | None) -> CleanFrame:
    """Return a table whose texts that are numbers are numbers, without rows and columns that are empty.

    Raise `TableError` if the numbers of a column cannot be read as they are.
    """
    ids = {options.id, found, *filter(is_unnamed, frame)}
    kept = options.named | ids
    frame, coded = without_codes(frame, options.missing, ids, options.labels)
    frame, unlabelled = without_words(frame, options.labels)
    frame = whole_labels(frame, options.labels)
    frame, emptied = _without_empty(frame, options.kept | {found})
    notes = [*coded, *unlabelled, *emptied]
    problems: list[Problem] = []
    said: list[CellNote] = []
    dated: list[str] = []
    changed: dict[str, Any] = {}
    units: dict[str, str] = {}
    for name in text_columns(frame):
        if name in kept or has_word(frame[name]):
            continue
        result = numbers_of(frame[name], style, options.limits)
        if result is not None:
            changed[name] = result.values
            said += result.notes
            problems += [result.problem] if result.problem is not None and name not in options.kept else []
            units |= {name: result.unit} if result.unit else {}
        elif (dates := dates_of(frame[name])) is not None:
            changed[name], note = dates
            dated.append(note)
    if problems:
        raise TableError(str(path), problems)
    notes += [*told_notes(said), *dated]
    return CleanFrame(frame.assign(**changed), notes, units)


def _without_empty(frame: pd.DataFrame, kept: Collection[str | None]) -> tuple[pd.DataFrame, list[str]]:
    """Return a table without rows and columns that are empty, and notes."""
    notes = []
    empty = frame.isna().to_numpy()
    blank = empty.all(axis=1)
    if blank.any() and not blank.all():
        frame = frame[~blank].reset_index(drop=True)
        notes.append(f"{counted(int(blank.sum()), 'empty row')} {'is' if blank.sum() == 1 else 'are'} left out")
    hollow = [name for name, lacks in zip(frame, empty.all(axis=0), strict=True) if lacks and name not in kept]
    if hollow and len(hollow) < frame.shape[1]:
        frame = frame.drop(columns=hollow)
        if any(not name.startswith("Unnamed: ") for name in hollow):
            notes.append(f"{counted(len(hollow), 'column')} without any entry left out: {shown_names(hollow)}")
    return frame, notes


def repeated_names(head: Sequence[str]) -> list[str]:
    """Return a note about names that several columns have."""
    names = [name for name, count in Counter(head).items() if count > 1 and name]
    return [f"several columns have the same name, so a number is added: {shown_names(names)}"] if names else []
