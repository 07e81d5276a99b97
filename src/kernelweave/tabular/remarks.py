"""Lines of a table that are not rows: comments between the rows, and remarks below them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernelweave._plural import counted
from kernelweave.tabular.heading import written_alike
from kernelweave.tabular.number_text import may_be_number
from kernelweave.tabular.problems import shown
from kernelweave.tabular.separator import split_rows

__all__ = ["Comments", "find_comments", "footer_lines", "is_remark", "outside_quotes", "told_comments"]

_REMARK = re.compile(
    r"(sources?|notes?|n\.?b\.?|remarks?|legend|totals?|sum|data( from| source)?|downloaded|exported|generated|created"
    r"|printed|copyright|last updated|updated|end of \w+|quelle|anmerkung(en)?|stand|fuente|source ?)(\s*[:.\-–—]|\s|$)"
    r"|[*†‡©¹]|\(c\)|\d+ (rows|records|samples|entries)\b",
    re.IGNORECASE,
)


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


def is_remark(text: str) -> bool:
    """Return whether a text begins like a remark below a table, such as "Source: WHO"."""
    return _REMARK.match(text.strip()) is not None


def footer_lines(rows: Sequence[Sequence[str]], width: int, samples: Sequence[Sequence[str]]) -> list[str]:
    """Return the remarks at the end of a table whose rows have `width` entries; `rows` are its last lines, split.

    A blank line is an empty row, and is returned as "". A line with one entry is a remark if it begins like one or with
    an exclamation mark, has words in it, or comes after a blank line; one with several if it begins like one and has a
    colon, no other entry, or another number of them than rows have. The last row of a file that was cut off is not a
    remark: it is written like the ids of other rows.
    """
    found: list[str] = []
    for i in range(len(rows) - 1, -1, -1):
        own = [cell.strip() for cell in rows[i]]
        text = own[0] if own else ""
        if not any(own):
            found.append("")
            continue
        after_blank = i > 0 and not any(map(str.strip, rows[i - 1]))
        if not _is_footer(own, width, samples, after_blank=after_blank):
            break
        found.append(text)
    while found and not found[-1]:
        found.pop()
    return found[::-1]


def _is_footer(own: Sequence[str], width: int, samples: Sequence[Sequence[str]], *, after_blank: bool) -> bool:
    text, *others = own
    if not text or width < 2 or may_be_number(text) or written_alike(text, [row[0] for row in samples if row]):
        return False
    if len(own) == 1 and (after_blank or len(text.split()) > 2 or text.startswith("!")):
        return True  # ! begins the lines around the tables of GEO
    return is_remark(text) and (len(own) != width or not any(others) or ":" in text)
