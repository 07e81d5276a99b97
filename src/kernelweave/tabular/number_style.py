"""The decimal mark and the thousands mark of a file, judged by all its columns of numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.tabular.number_text import Style, are_codes, is_blank, is_number, number_in, text_columns
from kernelweave.tabular.problems import Problem, TableError, Way, shown, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import is_unnamed

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.tabular.text_layout import Layout

__all__ = ["file_style", "style_of", "told_style"]

_POINT, _COMMA = Style(".", ","), Style(",", ".")
_NUMBERS = 0.9  # share of the texts of a column that must be numbers, so that its marks count
_EITHER_COMMA = re.compile(r"[1-9]\d{0,2},\d{3}")
_EITHER_POINT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_ANSWERS = re.compile(r"[1-9]\d?(,[1-9]\d?)*")  # to a question with several, such as 1,3
_LEAST = 3  # different answers, so that numbers are not taken for them


@dataclass(frozen=True, slots=True)
class _Marks:
    """What the numbers of a column show: one that needs a decimal point, one that needs a comma, and all with marks."""

    name: str
    point: str | None
    comma: str | None
    marked: tuple[str, ...]
    grouped: bool = False  # whether only thousands, such as 5,040 beside 3,5, are evidence for the point


def file_style(
    path: Path,
    frame: pd.DataFrame,
    texts: Callable[[], pd.DataFrame],
    options: ReadOptions,
    found: str | None,
    layout: Layout,
) -> tuple[Style, pd.DataFrame | None]:
    """Return the marks of a text file, and the table that `texts` returns if its cells must be read as texts, or None.

    Where a comma is the decimal mark, a point is not. Then all cells are judged again as they are written: numbers with
    a point were not texts before.
    """
    style = style_of(path, frame, options, found, layout)
    if style.decimal != "," and style.thousands != ".":
        return style, None
    written = texts()
    style = style_of(path, written, options, found, layout)
    return style, written if style.decimal == "," or style.thousands == "." else None


def style_of(
    path: Path, frame: pd.DataFrame, options: ReadOptions, found: str | None, layout: Layout | None = None
) -> Style:
    """Return the decimal and thousands marks of texts in a file; raise `TableError` if they cannot be told.

    `layout` is that of a text file, whose numbers show its decimal mark; those of other files have none.
    """
    if options.decimal is not None or options.thousands is not None:
        decimal = options.decimal or ("," if options.thousands == "." else ".")
        return Style(decimal, options.thousands)
    others = frame.drop(columns=[name for name in frame if name in options.kept | {found} or is_unnamed(name)])
    columns = [marks for name in text_columns(others) if (marks := _marks(name, others[name])) is not None]
    point, comma = _decided(path, columns)
    if comma:
        return _COMMA
    floats = others.select_dtypes("float").to_numpy() if columns and layout is not None else np.empty((0, 0))
    fractions = point or bool((floats[np.isfinite(floats)] % 1 != 0).any())
    numbers = [number for column in columns for number in column.marked]
    style = _POINT if any("," in number for number in numbers) else Style()
    unclear = None if fractions else _unclear_comma(numbers)
    if not point and style == Style() and layout is not None and layout.sep == ";":
        unclear = _unclear_point(cell for row in layout.body for cell in row)
    if unclear is not None:
        raise TableError(str(path), [_either(unclear)])
    return style


def _marks(name: str, column: pd.Series) -> _Marks | None:
    """Return what the numbers of a column of texts show; None if it does not hold numbers."""
    texts = [text for text in column.dropna().unique() if isinstance(text, str) and not is_blank(text)]
    numbers = [number for text in texts if (number := number_in(text)) is not None]
    marked = [number for number in numbers if ("." in number or "," in number) and number[-1] not in ".,"]
    if len(numbers) < _NUMBERS * len(texts) or not marked or are_codes(name, marked):
        return None
    fits = [(_POINT.reads(number), _COMMA.reads(number)) for number in marked]
    point, comma, either = (
        [number for number, fit in zip(marked, fits, strict=True) if fit == both]
        for both in ((True, False), (False, True), (True, True))
    )
    if len(point) + len(comma) + len(either) < _NUMBERS * len(marked):
        return None  # dates, for example
    grouped = None if point else _thousands(either, comma)
    return _Marks(name, grouped or next(iter(point), None), next(iter(comma), None), tuple(marked), grouped is not None)


def _thousands(either: Sequence[str], comma: Sequence[str]) -> str | None:
    """Return one of the numbers such as 5,040 that seem to be thousands beside a slip such as 3,5; None if none does.

    A fraction of three digits does not end in 0 where others have one digit, but for numbers with as many digits each.
    """
    ending = [number for number in either if _EITHER_COMMA.fullmatch(number) and number.endswith("0")]
    short = [number for number in comma if re.fullmatch(r"\d+,(\d{1,2}|\d{4,})", number)]
    digits = {len(number) for number in (*either, *short)}
    return ending[0] if ending and 0 < len(short) < len(either) and len(digits) > 1 else None


def _decided(path: Path, columns: Sequence[_Marks]) -> tuple[bool, bool]:
    """Return whether some number needs a decimal point, and whether one needs a decimal comma; refuse both.

    What seem to be thousands are fractions where all of another column are fractions with a comma.
    """
    fractions = [column for column in columns if column.comma is not None and column.point is None]
    if any(all(_COMMA.reads(number) for number in column.marked) for column in fractions):
        columns = [replace(column, point=None) if column.grouped else column for column in columns]
    pointed = [column for column in columns if column.point is not None]
    if pointed:
        columns = [column for column in columns if column.point is not None or not _are_answers(column.marked)]
    commas = [column for column in columns if column.comma is not None]
    if pointed and commas:
        raise TableError(str(path), [_conflict(pointed, commas, columns)])
    return bool(pointed), bool(commas)


def _are_answers(numbers: Collection[str]) -> bool:
    """Return whether what could be fractions are lists of answers, such as 1,3 and 2,5: whole numbers in order."""
    if len(numbers) < _LEAST or not all(map(_ANSWERS.fullmatch, numbers)):
        return False
    lists = [list(map(int, number.split(","))) for number in numbers]
    return all(each == sorted(set(each)) for each in lists) and len({each[0] for each in lists}) > 1


def _conflict(pointed: Sequence[_Marks], commas: Sequence[_Marks], columns: Sequence[_Marks]) -> Problem:
    """Return the problem that numbers of a file need different decimal marks; the mark of more columns comes first."""
    numbers = [number for column in columns for number in column.marked]
    both = [(_POINT, "point", pointed), (_COMMA, "comma", commas)]
    ways = []
    for style, what, own in sorted(both, key=lambda each: -len(each[2])):
        mark = str(style.thousands)
        groups = any(re.search(rf"\d{re.escape(mark)}\d{{3}}(?!\d)", n) and style.reads(n) for n in numbers)
        options = {"decimal": style.decimal, **({"thousands": mark} if groups else {})}
        names = shown_names([column.name for column in own])
        ways.append(Way(f"a {what} is the decimal mark, as in {names}", options))
    told = [
        f"in column {column.name!r} ({shown(number)} is {_value(str(number), style)})"
        for column, number, style in ((pointed[0], pointed[0].point, _POINT), (commas[0], commas[0].comma, _COMMA))
    ]
    text = (
        f"a point seems to be its decimal mark {told[0]}, but a comma {told[1]}. Correct the file, or say which it is."
    )
    return Problem(text, tuple(ways), choice=True)


def _value(number: str, style: Style) -> str:
    plain = re.sub(rf"[^\d{re.escape(style.decimal)}eE+-]", "", number)
    return plain.replace(style.decimal, ".")


def _unclear_comma(numbers: Iterable[str]) -> str | None:
    """Return a number whose comma may be of thousands or of a fraction; None if one of them tells which."""
    commas = {number for number in numbers if "," in number}
    either = sorted(filter(_EITHER_COMMA.fullmatch, commas))
    return either[0] if either and all(map(_COMMA.reads, commas)) else None


def _unclear_point(cells: Iterable[str]) -> str | None:
    """Return a number whose point may be of thousands, if that is so of all numbers with a point."""
    pointed = [cell for cell in cells if "." in cell and is_number(cell)]
    return pointed[0] if len(pointed) > 1 and all(map(_EITHER_POINT.fullmatch, pointed)) else None


def _either(unclear: str) -> Problem:
    """Return the problem that a mark may be of thousands or of a fraction."""
    mark = "," if "," in unclear else "."
    fraction, whole = unclear.replace(",", "."), unclear.replace(mark, "")
    ways = (Way(f"{unclear} is {fraction}", {"decimal": mark}), Way(f"{unclear} is {whole}", {"thousands": mark}))
    text = f"{unclear!r} may be {fraction} or {whole}, and no other number of the file tells which."
    return Problem(text, ways, choice=True)


def told_style(style: Style, before: pd.DataFrame, after: pd.DataFrame) -> list[str]:
    """Return notes about the marks in numbers, each with an example."""
    changed = [name for name in text_columns(before) if name in after and after[name].dtype.kind == "f"]
    if not changed:
        return []
    cells = before[changed].stack().astype(str)
    notes = []
    if style.decimal == ",":
        marked = cells[cells.str.contains(",", regex=False)]
        notes += [f"a comma is the decimal mark ({shown(marked.iloc[0])})"] if len(marked) else []
    marked = cells[cells.str.contains(style.thousands, regex=False)] if style.thousands else cells[:0]
    return notes + ([f"{shown(style.thousands)} separates thousands ({shown(marked.iloc[0])})"] if len(marked) else [])
