"""Comments between the rows of a text table: lines that begin with #, unless that is how ids are written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernelweave._plural import counted
from kernelweave.tabular.problems import shown
from kernelweave.tabular.separator import split_rows

__all__ = ["Comments", "find_comments", "outside_quotes", "told_comments"]


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a table whose rows have `width` entries; with `ids`, rows begin with # as well."""

    sep: str
    width: int
    ids: bool

    def has(self, line: str) -> bool:
        """Return whether a line is a comment."""
        return line.startswith("#") and not (self.ids and self.fills(line))

    def has_row(self, row: Sequence[str]) -> bool:
        """Return whether a row, split, is a comment."""
        return row[0].startswith("#") and not (self.ids and len(row) == self.width)

    def fills(self, line: str) -> bool:
        """Return whether a line has as many entries as a row."""
        return len(next(split_rows([line], self.sep), [])) == self.width


def outside_quotes(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield lines, and whether each begins outside of an entry in quotes, which may have several lines."""
    outside = True
    for line in lines:
        yield line, outside
        if not (outside and line.startswith("#")) and line.count('"') % 2:
            outside = not outside


def find_comments(rows: Sequence[Sequence[str]], sep: str, width: int) -> Comments | None:
    """Return what tells comments from rows below the header, which is the first of `rows`; None if there are none.

    Where most rows begin with #, it is part of their ids, and only lines with another number of entries are comments.
    Perseus writes what it knows of the columns in rows that begin with #!{.
    """
    marked = [len(row) == width for row in rows[1:] if row[0].startswith("#")]
    if all(marked) and not any(row[0].startswith("#!{") for row in rows[1:]):
        return None
    full = sum(len(row) == width for row in rows[1:])
    return Comments(sep, width, ids=2 * sum(marked) > full)


def told_comments(comments: Comments, lines: Iterable[str]) -> str:
    """Return a note that counts the comments among lines, and those of them that could be rows."""
    found, rows, example = 0, 0, ""
    for line, outside in outside_quotes(lines):
        if not (outside and comments.has(line)):
            continue
        found += 1
        if comments.fills(line):
            rows, example = rows + 1, example or line.split(comments.sep)[0]
    which = f" and have not {comments.width} entries" if comments.ids else ""
    told = f"lines that begin with #{which} are comments, so they are left out: {counted(found, 'line')}"
    if not rows:
        return told
    return f"{told}, of which {rows} {'has' if rows == 1 else 'have'} as many entries as a row ({shown(example)})"
