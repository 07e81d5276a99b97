"""The layout of a text table, found from its first lines: separator, lines before the header, the header itself."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import IO

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.tabular.first_row import has_header
from kernelweave.tabular.heading import Heading, find_heading, key_rows
from kernelweave.tabular.number_text import is_number
from kernelweave.tabular.problems import shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.remarks import Comments, find_comments, footer_lines, outside_quotes, told_comments
from kernelweave.tabular.separator import (
    expected_separator,
    find_separator,
    refuse_single,
    separator_word,
    split_rows,
    usual_width,
)
from kernelweave.tabular.text_source import TextSource

__all__ = ["UNNAMED", "Layout", "find_layout"]

UNNAMED = "Unnamed: 0"  # pandas' name for a first column without one
_PEEKED, _LEAST, _ENOUGH = 120, 8, 1_000_000  # lines, and characters that are enough to judge by
_MARKS = ("#", "%", "!", "//")  # of comments
_JSON = re.compile(r'\s*(\[\s*)?\{\s*"[^"]*"\s*:')
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*')


@dataclass(frozen=True, slots=True)
class Layout:
    """How the rows of a text file are written.

    `skip` lines stand before the header, or before the rows if there is none. `names` are those of all columns where
    the header does not give them as they are. `comments` tells those between the rows. The last lines, as
    many as `footer` says, are not rows. With `repeats`, the line of the header occurs again below it. `head` and `body`
    are the header and the first rows, split.
    """

    sep: str
    skip: int
    header: bool
    names: list[str] | None
    comments: Comments | None
    head: list[str]
    body: list[list[str]]
    notes: tuple[str, ...] = field(default=())
    footer: int = 0
    units: Mapping[str, str] = field(default_factory=dict)
    repeats: bool = False

    def lines(self, file: IO[str]) -> Iterator[str]:
        """Yield the lines from the header on, without comments and footer."""
        held: deque[str] = deque()
        header: str | None = None
        skipped = (line for i, line in enumerate(file) if i >= self.skip)
        for line, outside in outside_quotes(skipped):
            if outside and header is not None and self._is_left_out(line, header):
                continue
            header = line.strip() if header is None else header
            held.append(line)
            if len(held) > self.footer:
                yield held.popleft()

    def _is_left_out(self, line: str, header: str) -> bool:
        """Return whether a line below the first is not a row."""
        return (self.comments is not None and self.comments.has(line)) or (self.repeats and line.strip() == header)


def find_layout(source: TextSource, options: ReadOptions) -> Layout:
    """Return the layout of a text file; raise `TableError` where two readings are equally plausible."""
    lines = _peek(source)
    start, given = _beginning(lines)
    if not "".join(lines[start:]).strip():
        msg = f"{source.path} {'holds only comments' if ''.join(lines).strip() else 'is empty'}."
        raise InvalidInputError(msg)
    if _JSON.match("".join(lines[start : start + 3])):
        msg = f"{source.path} holds JSON, not a table in text: call it .json, or .jsonl if every line is a record."
        raise InvalidInputError(msg)
    sep = options.sep or given or find_separator(source, lines[start:])
    rows = list(split_rows(lines[start:], sep))
    refuse_single(source, sep, rows)
    width = usual_width(rows)
    notes = (
        []
        if sep == expected_separator(source) or width < 2
        else [f"its columns are separated by {separator_word(sep)}"]
    )
    footer = _footer(source, sep, width, rows, notes)
    if footer and len(lines) < _PEEKED:
        lines = lines[:-footer]
        rows = list(split_rows(lines[start:], sep))
    before = _titles(rows, width)
    skip = start + sum(len(row) == 1 for row in rows[:before]) + _blank(lines[start:], before)
    if options.header is not False and (keys := key_rows(rows)) > before:
        before = keys
        skip = start + _lines_above(lines[start:], sep, keys)
    rows = rows[before:]
    marked = _marked_header(lines[:start], sep, width, rows)
    if marked is not None:
        rows = [marked, *rows]
        notes.append("its header begins with a comment mark, which is left out")
    elif skip > (given is not None):
        notes.append(f"{counted(skip, 'line')} before the table {'is' if skip == 1 else 'are'} left out")
    comments = find_comments(rows, sep, width)
    if comments is not None:
        with source.open() as file:
            notes.append(told_comments(comments, islice(file, skip + 1, None)))
    rows = _only_rows(rows, comments)
    header = has_header(rows, str(source.path), notes) if options.header is None else options.header
    names = _names(rows, marked) if header else None
    heading = find_heading(rows) if header else Heading(rows[0])
    if heading.rows > 1:
        notes += heading.notes
        skip += _lines_of(lines[skip:], sep, heading.rows - (marked is not None))
        names, rows = heading.names, [heading.names, *rows[heading.rows :]]
    named = header and marked is None and heading.rows == 1
    body = rows[1:] if header else rows
    return Layout(sep, skip, named, names, comments, rows[0], body, tuple(notes), footer, heading.units)


def _only_rows(rows: list[list[str]], comments: Comments | None) -> list[list[str]]:
    """Return the first row, and those below it that are neither comments nor the same, if it is a header of texts."""
    head, *body = rows
    body = [row for row in body if comments is None or not comments.has_row(row)]
    if len(head) < 2 or any(map(is_number, head)):
        return [head, *body]
    return [head, *(row for row in body if row != head)]


def _footer(source: TextSource, sep: str, width: int, rows: Sequence[Sequence[str]], notes: list[str]) -> int:
    """Return how many lines at the end of a file are no rows of its table, and say so."""
    last = [next(split_rows([line], sep), []) for line in _after_quotes(source.tail, sep)]
    remarks = footer_lines(last, width, rows[1 : -len(last) or None] or rows[1:2])
    told = [remark for remark in remarks if remark]
    if told:
        one = len(told) == 1
        what = "last line is not a row" if one else f"last {len(told)} lines are not rows"
        notes.append(f"its {what} of the table, so {'it is' if one else 'they are'} left out ({shown_names(told)})")
    return len(remarks)


def _after_quotes(lines: Sequence[str], sep: str) -> Sequence[str]:
    """Return the last lines below the last one that ends a quoted entry of several lines, since that is part of a row.

    Such a line has an odd number of quotes, of which the first is followed by a separator or the end of the line.
    """
    closing = re.compile(rf'[^"]*[^"{re.escape(sep)}]"\s*({re.escape(sep)}.*)?')
    ends = [i for i, line in enumerate(lines) if line.count('"') % 2 and closing.fullmatch(line.replace('""', ""))]
    return lines[ends[-1] + 1 :] if ends else lines


def _lines_of(lines: Sequence[str], sep: str, count: int) -> int:
    """Return how many lines the first rows take, so many of them, with comments and blank lines between them."""
    reader = csv.reader(lines, delimiter=sep, skipinitialspace=True)
    seen = 0
    for row in reader:
        seen += bool(row) and not (seen and row[0].startswith("#"))
        if seen == count:
            break
    return reader.line_num


def _lines_above(lines: Sequence[str], sep: str, count: int) -> int:
    """Return how many lines stand above a row with so many rows above it, with the blank lines between them."""
    quotes = list(accumulate(line.count('"') for line in lines))
    blank = " \r\n" if sep == " " else "\r\n"
    ends = [i for i, line in enumerate(lines) if line.strip(blank) and quotes[i] % 2 == 0]
    above = ends[count - 1] + 1
    return above + next((i for i, line in enumerate(lines[above:]) if line.strip()), 0)


def _peek(source: TextSource) -> list[str]:
    """Return the first lines; of a wide table only a few, since there are enough cells to judge by."""
    lines: list[str] = []
    with source.open() as file:
        for line in islice(file, _PEEKED):
            lines.append(line)
            if len(lines) >= _LEAST and sum(map(len, lines)) > _ENOUGH:
                break
    return lines


def _beginning(lines: Sequence[str]) -> tuple[int, str | None]:
    """Return how many comments and blank lines begin the file, and the separator if the first line names it."""
    start, given = 0, None
    if lines and (found := _SEP_LINE.fullmatch(lines[0])):
        start, given = 1, found.group(1)
    while start < len(lines) and (not lines[start].strip() or _is_comment(lines, start)):
        start += 1
    return start, given


def _is_comment(lines: Sequence[str], i: int) -> bool:
    """Return whether a line is a comment: it begins with a mark, and is not a header of columns like '#' or '%fat'."""
    mark = next((mark for mark in _MARKS if lines[i].startswith(mark)), None)
    if mark is None or re.match(r"[#%!]\s*[,;\t|]", lines[i]):
        return False
    if mark != "%" or i + 1 == len(lines):
        return True
    return not any(lines[i].count(sep) == lines[i + 1].count(sep) > 0 for sep in ",;\t|")


def _titles(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many rows before the table are titles: one entry, where rows have at least three."""
    before = 0
    while width >= 3 and before < len(rows) - 1 and len(rows[before]) == 1:
        before += 1
    return before


def _blank(lines: Sequence[str], titles: int) -> int:
    """Return the number of blank lines among and after the first titles."""
    blank = 0
    for line in lines if titles else ():
        if line.strip():
            if not titles:
                break
            titles -= 1
        else:
            blank += 1
    return blank


def _marked_header(comments: Sequence[str], sep: str, width: int, rows: Sequence[Sequence[str]]) -> list[str] | None:
    """Return the header if it is the last of the comments: it has an entry for every column, and none is a number."""
    if not comments or width < 2 or not comments[-1].startswith("#"):
        return None
    head = next(split_rows([comments[-1].lstrip("#").lstrip(" ")], sep), [])
    if len(head) != width or any(map(is_number, head)):
        return None
    if not any(is_number(cell) for cell in rows[0]) and find_heading([head, *rows]).rows == 1:
        return None
    return head


def _names(rows: Sequence[list[str]], marked: list[str] | None) -> list[str] | None:
    """Return the names of all columns where the header lacks that of the first, as R's write.table leaves it out.

    Rows that end with a separator are one entry longer than the header as well, but their last entry is empty.
    """
    if marked is not None:
        return marked
    head, *body = rows
    lacks = bool(body) and all(len(row) == len(head) + 1 for row in body) and any(row[-1] for row in body)
    return [UNNAMED, *head] if lacks else None
