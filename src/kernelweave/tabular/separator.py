"""What separates the columns of a text table: found from its first lines."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kernelweave.tabular.number_text import is_number, may_be_number, unit_in
from kernelweave.tabular.problems import Problem, TableError, Way, shown
from kernelweave.tabular.read_options import SEPARATORS
from kernelweave.tabular.text_source import TextSource

__all__ = ["expected_separator", "find_separator", "refuse_single", "separator_word", "split_rows", "usual_width"]

_JUDGED = 5000  # cells whose kind tells the separator
_OTHERS = ":~^&@"  # separators that are not found, but named
_WORDS = {mark: word for word, mark in SEPARATORS.items()}


def split_rows(lines: Iterable[str], sep: str) -> Iterator[list[str]]:
    """Yield the rows of a text table that are not empty."""
    trimmed = (line.strip(" \r\n") + "\n" for line in lines) if sep == " " else lines
    for row in csv.reader(trimmed, delimiter=sep, skipinitialspace=True):
        if row:
            yield row


def expected_separator(source: TextSource) -> str:
    """Return the separator that the name of a file promises."""
    return "\t" if ".tsv" in source.path.name.lower() else ","


def separator_word(sep: str) -> str:
    """Return a separator as a message calls it."""
    word = _WORDS.get(sep)
    return shown(sep) if word is None else f"{word}s"


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of entries that most rows below the first have."""
    return Counter(len(row) for row in rows[1:] or rows).most_common(1)[0][0]


def find_separator(source: TextSource, lines: Sequence[str]) -> str:
    """Return the separator that cuts lines into rows of the same length, and leaves no other one in their entries."""
    found = {sep: score for sep in (*",;\t|", " ") if (score := _score(lines, sep)) is not None}
    if " " in found and len(found) > 1:
        best_other = max(share for sep, (_, share) in found.items() if sep != " ")
        if not (found[" "][1] == 1 > best_other and _all_read(lines[1:], " ")):
            del found[" "]  # words, and numbers such as 5.5 (0.3), may have spaces between them
    if not found:
        return expected_separator(source)
    best: str
    best, *others = sorted(found, key=lambda sep: (found[sep][0], -found[sep][1]))
    unclear = [sep for sep in others if found[best][0] > 0.1 and found[sep][0] - found[best][0] < 0.25]
    if unclear:
        ways = tuple(Way(f"columns are separated by {separator_word(sep)}", {"sep": sep}) for sep in (best, unclear[0]))
        text = f"its columns may be separated by {separator_word(best)} or by {separator_word(unclear[0])}."
        raise TableError(str(source.path), [Problem(text, ways, choice=True)])
    return best


def _all_read(lines: Sequence[str], sep: str) -> bool:
    """Return whether all entries are numbers in some style, not several that commas separate, such as 1.5,2.5."""
    return all(unit_in(cell) is not None for row in split_rows(lines, sep) for cell in row if cell)


def _score(lines: Sequence[str], sep: str) -> tuple[float, float] | None:
    """Return the shares of entries that hold another separator, and of numbers; None if rows differ in length."""
    try:
        rows = list(split_rows(lines, sep))
    except csv.Error:
        return None
    width = usual_width(rows)
    whole = [i for i, row in enumerate(rows) if len(row) >= width]
    rows = rows[whole[0] : whole[-1] + 1]  # shorter lines above and below may be titles, keys and remarks
    regular = [row for row in rows if len(row) == width]
    if width < 2 or len(regular) < 0.8 * (len(rows) - 1):
        return None
    cells = [cell for row in regular[: 2 + _JUDGED // width] for cell in row if cell]
    if not cells:
        return None
    numbers = [may_be_number(cell) for cell in cells]
    foreign = set(",;\t|") - {sep}
    messy = sum(not number and not foreign.isdisjoint(cell) for cell, number in zip(cells, numbers, strict=True))
    return messy / len(cells), sum(numbers) / len(cells)


def refuse_single(source: TextSource, sep: str, rows: Sequence[Sequence[str]]) -> None:
    """Raise an error if a table has one column of texts, which another separator would cut into columns of numbers."""
    cells = [row[0] for row in rows if row]
    if any(len(row) > 1 for row in rows) or len(cells) < 2 or any(unit_in(cell) is not None for cell in cells[1:]):
        return
    for other in (*SEPARATORS.values(), *_OTHERS):
        head, *body = ([part.strip() for part in cell.split(other)] for cell in cells)
        if other == sep or len(head) < 2 or any(map(is_number, head)) or {len(row) for row in body} != {len(head)}:
            continue
        if any(all(unit_in(cell) is not None for cell in column) for column in zip(*body, strict=True)):
            text = f"with {separator_word(sep)} between columns it has a single column of texts ({shown(cells[0])})."
            way = Way(f"columns are separated by {separator_word(other)}", {"sep": _WORDS.get(other, other)})
            raise TableError(str(source.path), [Problem(text, (way,))])
