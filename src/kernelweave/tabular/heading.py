"""The rows above the samples of a table: what is said before its header, the header, and rows that belong to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernelweave.tabular.number_text import is_blank, is_unit, may_be_number
from kernelweave.tabular.problems import shown, shown_names
from kernelweave.tabular.row_labels import names_ids

__all__ = ["Heading", "counts", "find_heading", "key_rows", "level_names", "written_alike"]

_LEAST_COLUMNS = 3  # columns of a table below rows of keys
_NUMBERED = 4  # columns that are numbered in order: fewer may be so by chance
_LEAST = 2  # samples with a number that a column of numbers must have
# what a row of units has in columns without a unit
_NO_UNIT = frozenset(("", "-", "--", "–", "—", "/", "none", "n/a", "na", "id", "name", "text", "string", "str", "code",
                      "date", "yyyy-mm-dd", "category", "factor", "label", "class", "unit", "units"))  # fmt: skip
_DASHES = frozenset(("-", "--", "–", "—", "/"))
_STATISTICS = frozenset(("count", "mean", "std", "sd", "sem", "var", "min", "max", "median", "sum", "size", "nunique",
                         "first", "last", "prod", "mad", "skew", "kurt", "quantile", "average", "n", "q1", "q3", "iqr",
                         "top", "freq", "unique"))  # fmt: skip
_QUANTILE = re.compile(r"\d+(\.\d+)?%")
# units that are names as well; a row of these alone is not taken for a row of units
_VAGUE = _STATISTICS | frozenset(
    ("a", "b", "d", "s", "x", "y", "index", "number", "points", "ratio", "score", "fraction")
)
_OF_TIME = frozenset(("d", "s"))
_TIME = re.compile(r"(^|[^a-z])(time|duration|age|latency|delay|interval|period|zeit|dauer|alter|temps|durée)")
_IMPORT = '{"ImportId"'  # in all cells of the third row that Qualtrics writes
_RULE = re.compile(r":-+:?|-+:|-{2,}|=*")  # below the header of a Markdown table


def key_rows(rows: Sequence[Sequence[str]]) -> int:
    """Return how many of the first rows are keys with values, which stand before the header; 0 if there are none.

    They have fewer entries than the header, which follows them: the first row with an entry in every column, which are
    texts that differ, above columns of numbers. A single row with as many cells as the header may be one of groups, and
    one with a cell less the header, with a row of units below it.
    """
    cells = [[cell.strip() for cell in row] for row in rows]
    filled = [max((j + 1 for j, cell in enumerate(row) if cell), default=0) for row in cells]
    sizes = Counter(size for size in filled if size)
    width = max(sizes, key=lambda size: (sizes[size], size), default=0)
    first = next((i for i, size in enumerate(filled) if size >= width), 0)
    before = [i for i in range(first) if filled[i]]
    if width < _LEAST_COLUMNS or not before or not all(all(cells[i][: filled[i]]) for i in before):
        return 0
    if len(before) == first == 1 and len(cells[0]) >= width - 1:
        return 0
    return first if _names_columns(cells[first][: filled[first]], cells[first + 1 :]) else 0


def _names_columns(head: Sequence[str], samples: Sequence[Sequence[str]]) -> bool:
    """Return whether a row names the columns of the rows below it: texts that differ, or 1, 2, ..., above numbers."""
    if not all(head[1:]) or len(set(head)) < len(head):
        return False
    if any(is_blank(cell) or may_be_number(cell) for cell in head[1:]) and not counts(head[1:]):
        return False
    return any(_is_numeric(samples, j) for j in range(1, len(head)))


def counts(numbers: Sequence[str]) -> bool:
    """Return whether numbers are 0, 1, 2, ... or 1, 2, 3, ..."""
    return len(numbers) >= _NUMBERED and any(
        list(numbers) == [str(i + first) for i in range(len(numbers))] for first in (0, 1)
    )


def written_alike(cell: str, below: Sequence[str]) -> bool:
    """Return whether a text is written like those below it: equal to one, or equal but for the digits."""
    return cell in below or (any(map(str.isdigit, cell)) and _shape(cell) in set(map(_shape, below)))


def _shape(text: str) -> str:
    return re.sub(r"\d+", "0", text)


@dataclass(frozen=True, slots=True)
class Heading:
    """The names of the columns, how many rows give them, their units by name, and what was found if it is unusual."""

    names: list[str]
    rows: int = 1
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_heading(rows: Sequence[Sequence[str]]) -> Heading:
    """Return the heading of a table whose first row is its header: the row below it may belong to it.

    In a row of units, columns of numbers have texts, of which at least half are known units, and other columns have no
    entry. A second row of names or groups has texts in all columns of numbers, and is written otherwise than the
    samples in the other columns; or it has texts in some columns of numbers, and no entry elsewhere; or it tells apart
    columns of the same name, or names statistics. A line of dashes, as in Markdown, is never a sample.
    """
    head, *body = ([" ".join(cell.split()) for cell in row] for row in rows)
    if body and any(body[0]) and all(map(_RULE.fullmatch, body[0])):
        return Heading(head, 2, notes=("its second row is a line of dashes, so it is not a sample",))
    if len(body) <= _LEAST or len(body[0]) != len(head):
        return Heading(head)
    given, *samples = body
    if all(cell.startswith(_IMPORT) for cell in samples[0]):
        heading = _of_two(head, given, samples)
        return replace(heading, rows=3, notes=(*heading.notes, "its third row holds the import ids of Qualtrics"))
    if not head[0] and _names_index(given) and names_ids(given[0]):
        return Heading([given[0], *head[1:]], 2)
    if _are_levels(head, given, samples):
        return _of_two(head, ["", *given[1:]], samples)
    numeric = [j for j in range(len(head)) if _is_numeric(samples, j)]
    own = [given[j] for j in numeric]
    others = [j for j in range(len(head)) if j not in numeric]
    bare = not any(_says_unit(given[j]) for j in others)
    if bare and _are_statistics(own):
        return _of_two(head, given, samples)
    if not own or any(map(may_be_number, own)):
        return Heading(head)
    if bare and any(map(is_unit, own)):
        if _are_units([head[j] for j in numeric], own):
            return _with_units(head, given, numeric, samples)
        return _with_hint(_of_two(head, given, samples), head, given, numeric)
    if _is_second(given, own, others, samples):
        return _of_two(head, given, samples)
    return Heading(head)


def _names_index(row: Sequence[str]) -> bool:
    """Return whether a row has its first entry only, as the row in which pandas writes the name of an index."""
    return bool(row[0]) and not any(row[1:])


def _are_levels(head: Sequence[str], given: Sequence[str], samples: Sequence[Sequence[str]]) -> bool:
    """Return whether pandas wrote two levels of names, numbers too: both rows name no ids, and only both differ."""
    below = _names_index(samples[0]) or (not given[0] and all(row[0] for row in samples if any(row)))
    named = list(zip(_filled(head[1:]), given[1:], strict=True))
    repeated = len({first for first, _ in named}) < len(named)
    return not head[0] and below and repeated and all(given[1:]) and len(set(named)) == len(named)


def _are_statistics(cells: Sequence[str]) -> bool:
    """Return whether a row names statistics, as pandas writes them below the names of the columns."""
    words = [cell.lower() in _STATISTICS for cell in cells]
    return any(words) and all(
        word or _QUANTILE.fullmatch(cell) is not None for word, cell in zip(words, cells, strict=True)
    )


def _says_unit(cell: str) -> bool:
    """Return whether a cell of a row of units has an entry that is not one for a column without a unit."""
    return cell.strip("[](){} ").lower() not in _NO_UNIT


def _are_units(names: Sequence[str], own: Sequence[str]) -> bool:
    """Return whether the texts below names are units: half of them are known, one is nothing else, and names differ."""
    given = [(name, cell) for name, cell in zip(names, own, strict=True) if _says_unit(cell)]
    known = [(name, cell) for name, cell in given if is_unit(cell)]
    sure = any(cell.lower() not in _VAGUE or _is_time(name, cell) for name, cell in known)
    return sure and 2 * len(known) >= len(given) and len(set(names)) == len(names)


def _is_time(name: str, cell: str) -> bool:
    """Return whether s or d below a name is a unit, since the name is one of a time."""
    return cell in _OF_TIME and _TIME.search(name.lower()) is not None


def _is_numeric(samples: Sequence[Sequence[str]], j: int) -> bool:
    """Return whether a column holds numbers, in any style and with units, and not too few of them."""
    known = [row[j] for row in samples if j < len(row) and not is_blank(row[j])]
    return len(known) >= _LEAST and all(map(may_be_number, known))


def _with_units(
    head: list[str], given: Sequence[str], numeric: Sequence[int], samples: Sequence[Sequence[str]]
) -> Heading:
    units = {head[j]: given[j].strip("[](){} ") for j in numeric if _says_unit(given[j])}
    distinct = list(dict.fromkeys(given[j] for j in numeric if _says_unit(given[j])))
    note = f"its second row holds units ({shown_names(distinct)}), so it is not a sample"
    names, rows = _with_index(head, samples)
    return Heading(names, rows, units, (note,))


def _with_hint(heading: Heading, head: list[str], given: Sequence[str], numeric: Sequence[int]) -> Heading:
    """Return a heading whose second row may hold units, which are lost, with a note that tells how to keep them."""
    unit = next(j for j in numeric if is_unit(given[j]))
    if heading.names[unit] != head[unit]:
        return heading
    note = f"if its second row holds units, write them into the names, such as {shown(f'{head[unit]} [{given[unit]}]')}"
    return replace(heading, notes=(*heading.notes, note))


def _is_second(
    given: Sequence[str], own: Sequence[str], others: Sequence[int], samples: Sequence[Sequence[str]]
) -> bool:
    """Return whether the second row belongs to the header, though it holds no units."""
    texts = [cell for cell in own if not is_blank(cell) or cell == "Na"]  # which is sodium in a header
    if all(not given[j] for j in others) and others:
        return bool(texts)
    if len(own) < 2 or len(texts) < len(own):
        return False
    if not others:
        return len(set(texts)) > 1
    below = {j: [row[j] for row in samples if j < len(row)] for j in others}
    return not any(written_alike(given[j], below[j]) for j in others)


def _of_two(first: list[str], second: list[str], samples: Sequence[Sequence[str]]) -> Heading:
    """Return the heading of two rows."""
    joined, note = _joined(first, second)
    names, rows = _with_index(joined, samples)
    return Heading(names, rows, notes=(note,))


def _with_index(names: list[str], samples: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """Return the names below two rows, and how many rows give them: pandas writes the name of an index in a third."""
    if _names_index(samples[0]) and not names[0]:
        return [samples[0][0], *names[1:]], 3
    return names, 2


def _joined(first: list[str], second: list[str]) -> tuple[list[str], str]:
    """Return the names in one of two rows if they tell all columns apart, else those of both together, and a note."""
    if _tells_apart(first):
        groups = [cell for cell in dict.fromkeys(second) if cell]
        return first, f"its second row ({shown_names(groups)}) belongs to the header, so it is not a sample"
    if _tells_apart(second):
        second = [name if cell in _DASHES else cell for name, cell in zip(first, second, strict=True)]
        groups = [cell for cell in dict.fromkeys(first) if cell]
        return second, f"its first row ({shown_names(groups)}) groups the columns, and its second row names them"
    names = [f"{group} {name}".strip() for group, name in zip(_filled(first), second, strict=True)]
    return names, f"its first two rows name the columns ({shown_names([name for name in names if name])})"


def _filled(cells: Sequence[str]) -> list[str]:
    """Return a row whose merged cells all have their entry, which the first one has."""
    filled: list[str] = []
    for cell in cells:
        filled.append(cell or (filled[-1] if filled else ""))
    return filled


def level_names(levels: Sequence[Sequence[object]]) -> tuple[list[str], str]:
    """Return the names of columns that have several levels of them, as in two header rows, and a note."""
    first, *others = [["" if name is None else str(name) for name in level] for level in levels]
    joined = [" ".join(filter(None, parts)) for parts in zip(*others, strict=True)]
    names, _ = _joined(first, joined)
    return names, f"its columns have names in {len(levels)} levels, and are called {shown_names(names)}"


def _tells_apart(names: Sequence[str]) -> bool:
    """Return whether all names differ, and only the first may be empty."""
    return all(names[1:]) and len(set(names)) == len(names)
