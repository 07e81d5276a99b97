"""Numbers as people write them: decimal commas, thousands, percent signs, units, words for missing values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelweave._plural import counted
from kernelweave.samples.file_reading import LimitWord
from kernelweave.tabular.problems import Problem, Way, shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MISSING",
    "NumberColumn",
    "Style",
    "find_style",
    "is_blank",
    "is_number",
    "is_unit",
    "may_be_number",
    "numbers_of",
    "unclear_points",
]

MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]  # what pandas takes for missing  # fmt: skip
_BLANKS = ["?", ".", "-", "--", "---", "–", "—", "*", "na", "n.a.", "n.a", "n/d", "nd", "n.d.", "missing", "unknown",
           "none", "#div/0!", "#value!", "#ref!", "#num!", "#name?"]  # missing beside numbers, else texts  # fmt: skip
_SPACES = " '’\u00a0\u202f"
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NUMBER = rf"[+\-−]?(?:\d[\d.,{_SPACES}]*\d|\d+[.,]?|[.,]\d+)(?:[eE][+-]?\d+)?"
_LIMIT = r"[<>≤≥~≈]=?"  # of detection, or about
_CELL = re.compile(
    rf"(?P<limit>{_LIMIT})?\s*(?P<sign>[+\-−]?)(?P<before>[$€£¥]?)\s*(?P<number>{_NUMBER})\s*(?P<unit>[^\W\d_µ][^\s,;|]{{0,11}}|[%‰°µ][^\s,;|]{{0,7}}|[$€£¥])?"
)
_UNIT = re.compile(
    r"[µumkn]?g|lbs?|oz|[kcmµun]?m[23²³]?|in|ft|mi|[mµud]?l|[mµun]?s|min|hr?s?|hours?|d|days?|weeks?|months?|y|yrs?|years?"
    r"|%|‰|°[CF]?|[kh]?Pa|bar|mmHg|bpm|[kMG]?Hz|[mk]?V|m?A|[kM]?Wh?|k?J|k?cal|[mµ]?g/d?L|[mµun]?mol(/L)?|m?I?U(/m?L)?"
    r"|km/h|m/s|mph|[kMG]?B|USD|EUR|GBP|CHF|[$€£¥]",
    re.IGNORECASE,
)
_UNIT_WORDS = frozenset(("#", "a.u.", "au", "beats", "bp", "cells", "cfu", "copies", "count", "counts", "da", "db",
                         "deg", "degrees", "feet", "fl", "fraction", "ha", "inches", "index", "k", "kb", "kda", "log10",
                         "log2", "lux", "miles", "mm", "n", "nm", "no.", "number", "pg", "ph", "points", "ppb", "ppm",
                         "pts", "ratio", "rpm", "score", "sec", "seconds", "minutes", "tesla", "x"))  # fmt: skip
_DECIMAL_COMMA = re.compile(r"\d+,(\d{1,2}|\d{4,})|0+,\d+|\d{4,},\d+|\d{1,3}([. '’\u00a0\u202f]\d{3})+,\d+|,\d+")
_THOUSANDS_COMMA = re.compile(r"\d{1,3}(,\d{3}){2,}(\.\d*)?|\d{1,3}(,\d{3})+\.\d*")
_THOUSANDS_POINT = re.compile(r"\d{1,3}(\.\d{3}){2,}(,\d*)?")
_EITHER_COMMA = re.compile(r"[1-9]\d{0,2},\d{3}")
_MEASURED = 2  # numbers that a column with limits must have, else they are categories, such as <18 and >65
_EITHER_POINT = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")


@dataclass(frozen=True, slots=True)
class Style:
    """The marks of a file: between whole and fraction, and between thousands (None if there is none)."""

    decimal: str = "."
    thousands: str | None = None


def is_number(text: str) -> bool:
    """Return whether a text is a number as programs write it."""
    text = text.strip()
    return bool(_PLAIN.fullmatch(text)) or text.lower().lstrip("+-") in ("inf", "infinity", "nan")


def is_blank(text: str) -> bool:
    """Return whether a text stands for a missing number."""
    return text.strip() in MISSING or text.strip().lower() in _BLANKS


def is_unit(text: str) -> bool:
    """Return whether a text is a unit, such as cm, [kg/m2], (°C), mg/dL or 10^9/L."""
    plain = re.sub(r"[\s()\[\]{}]", "", text)
    parts = [part for part in re.split(r"[/·*^⁻]", plain) if part]
    units = [part for part in parts if not re.fullmatch(r"-?x?\d+", part)]
    return bool(units) and all(_UNIT.fullmatch(part) or part.lower() in _UNIT_WORDS for part in units)


def may_be_number(text: str) -> bool:
    """Return whether a text is a number in some style, with or without a unit."""
    return is_number(text) or bool(_CELL.fullmatch(text.strip()))


def find_style(texts: Iterable[str], *, points: bool) -> tuple[Style, str | None]:
    """Return the style of numbers that are not plain, and an example of what cannot be told, None if all can.

    `points` says that other columns of the file have fractions after a point.
    """
    seen = {match["number"].lstrip("+-−") for text in texts if (match := _CELL.fullmatch(text.strip()))}
    comma = {number for number in seen if "," in number}
    if any(_DECIMAL_COMMA.fullmatch(number) for number in comma):
        return Style(",", "."), None
    if any(map(_THOUSANDS_POINT.fullmatch, seen)):
        return Style(",", "."), None
    either = sorted(filter(_EITHER_COMMA.fullmatch, comma))
    fractions = points or any("." in number for number in seen)
    if either and not fractions and not any(map(_THOUSANDS_COMMA.fullmatch, comma)):
        return Style(".", ","), either[0]
    return Style(".", "," if comma else None), None


def unclear_points(cells: Iterable[str]) -> str | None:
    """Return a number whose point may be of thousands, if that is so of all numbers with a point."""
    pointed = [cell for cell in cells if "." in cell and is_number(cell)]
    return pointed[0] if len(pointed) > 1 and all(map(_EITHER_POINT.fullmatch, pointed)) else None


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of texts as numbers, with notes, the problem if its units differ, and its unit."""

    values: pd.Series[float]
    notes: list[str] = field(default_factory=list)
    problem: Problem | None = None
    unit: str = ""


def numbers_of(column: pd.Series[str], style: Style, limits: LimitWord = "limit") -> NumberColumn | None:
    """Return a column of texts as numbers; None if it holds texts, or limits and `limits` is "refuse"."""
    import pandas as pd

    name = str(column.name)
    texts = column.dropna().astype(str).str.strip()
    blank = texts.str.lower().isin(_BLANKS)
    cells = texts[~blank].str.extract(_CELL.pattern.join(("^(?:", ")$")), expand=True)
    if cells.empty or cells["number"].isna().any():
        return None
    signs = cells["limit"].dropna()
    if len(signs) and (limits == "refuse" or len(cells) - len(signs) < _MEASURED):
        return None
    units = (cells["before"].fillna("") + cells["unit"].fillna("")).str.strip()
    kinds = units.unique().tolist()
    if len(kinds) > 1:
        return _differing(column, units, kinds, name)
    if kinds[0] and not _UNIT.fullmatch(kinds[0]):
        return None
    values = pd.to_numeric(_plain(cells["sign"].fillna("") + cells["number"], style), errors="coerce")
    if values.isna().any():
        return None
    notes = []
    if blank.any():
        told = f"{counted(int(blank.sum()), 'cell')} of column {name!r} {'is' if blank.sum() == 1 else 'are'}"
        notes.append(f"{told} taken as missing ({shown_names(sorted(set(texts[blank])))})")
    if kinds[0]:
        example = f"{shown(texts[~blank].iloc[0])} is {values.iloc[0]:g}"
        notes.append(f"column {name!r} is read as numbers in {kinds[0]} ({example})")
    values = values.astype("float64")
    if len(signs):
        values, note = _limited(values, signs, texts, limits)
        what = "is a limit" if len(signs) == 1 else "are limits"
        notes.append(f"{counted(len(signs), 'cell')} of column {name!r} {what}{note}")
    return NumberColumn(values.reindex(column.index), notes, unit=kinds[0])


def _limited(values: Any, signs: Any, texts: Any, limits: LimitWord) -> tuple[Any, str]:
    """Return numbers with limits, such as <0.5, read as the option says, and how, for a note."""
    below = signs.index[signs.str.startswith(("<", "≤"))]
    values = values.copy()
    if limits == "missing":
        values[signs.index] = float("nan")
    elif limits == "half":
        values[below] /= 2
    first = signs.index[0]
    read = "missing" if limits == "missing" else f"{values[first]:g}"
    return values, f", read as {read} for {shown(texts[first])} (--limits chooses another way)"


def _plain(numbers: Any, style: Style) -> Any:
    """Return numbers as programs write them; a mark in a place where the style has none makes them unreadable."""
    plain = numbers.str.replace("−", "-", regex=False)
    for mark in {*_SPACES, style.thousands or " "}:
        group = re.escape(mark)
        grouped = plain.str.fullmatch(rf"[+-]?\d{{1,3}}({group}\d{{3}})+({re.escape(style.decimal)}\d*)?")
        plain = plain.where(~grouped, plain.str.replace(mark, "", regex=False))
    if style.decimal == ",":
        plain = plain.where(~plain.str.contains(".", regex=False), "unreadable").str.replace(",", ".", regex=False)
    return plain


def _differing(column: Any, units: Any, kinds: list[str], name: str) -> NumberColumn | None:
    """Return a column with the problem that its units differ; None if what follows the numbers is no unit."""
    if not all(kind == "" or _UNIT.fullmatch(kind) for kind in kinds):
        return None
    first = {kind: int(column.index.get_loc(units.index[units == kind][0])) + 1 for kind in kinds}
    told = " and ".join(f"{kind or 'no unit'} in row {row}" for kind, row in list(first.items())[:2])
    text = f"column {name!r} has numbers in several units: {told}. Write them in one unit, or leave the column out."
    return NumberColumn(column, problem=Problem(text, (Way("leave it out", {"drop": name}),)))
