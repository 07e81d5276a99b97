"""Numbers and units as people write them: decimal commas, thousands, percent signs, words for missing values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from kernelweave._plural import counted
from kernelweave.samples.file_reading import LimitWord
from kernelweave.tabular.cell_notes import CellNote
from kernelweave.tabular.problems import Problem, Way, shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MISSING",
    "NumberColumn",
    "Style",
    "are_codes",
    "has_word",
    "is_blank",
    "is_number",
    "is_only_unit",
    "is_unit",
    "may_be_number",
    "named_units",
    "number_in",
    "numbers_of",
    "seems_number",
    "text_columns",
    "unit_in",
]

MISSING = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
           "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]  # what pandas takes for missing  # fmt: skip
_BLANKS = ["?", ".", "-", "--", "---", "–", "—", "*", "na", "n.a.", "n.a", "n/d", "nd", "n.d.", "missing", "unknown",
           "none", "nan", "null", "n/a", "#n/a", "not available", "not applicable", "no data", "#div/0!", "#value!",
           "#ref!", "#num!", "#name?"]  # missing beside numbers, else texts  # fmt: skip
_DIGIT = re.compile(r"\d")
_INFINITE = ("inf", "infinity", "nan")  # words that programs read as numbers
_SPACES = " '’\u00a0\u202f"
_PLAIN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SIGN = r"+\-−–‒‐‑－"  # dashes that stand for a minus before a number, as text programs write it
_NUMBER = rf"[{_SIGN}]?(?:\d[\d.,{_SPACES}]*\d|\d+[.,]?|[.,]\d+)(?:[eE][+-]?\d+)?"
_PARENTHESES = re.compile(rf"\(\s*([$€£¥]?\s*\d[\d.,{_SPACES}]*)\s*\)")
_TEN = r"(\d)\s*[x×*·]\s*10\s*(?:\^|\*\*)\s*\(?"
_OTHERWISE = (  # numbers as others write them, and as programs do
    (re.compile(r"^'\s*(.*?)\s*'?$"), r"\1"),  # '1.5', or '1.5 as spreadsheets write texts
    (re.compile(rf"{_TEN}[-−](\d{{1,3}})\)?$"), r"\1e-\2"),  # 5.06x10^-5
    (re.compile(rf"{_TEN}\+?(\d{{1,3}})\)?$"), r"\1e\2"),  # 5.06*10**5
    (re.compile(r"^(\s*[+-]?\d*[.,]\d*)[dD]([+-]\d{1,3})$"), r"\1e\2"),  # 1.5D-05; a code such as 12D03 is none
)
_LIMIT = r"[<>≤≥~≈]=?"  # of detection, or about
_MONEY = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|CZK|HUF|BRL"
_CELL = re.compile(
    rf"(?P<limit>{_LIMIT})?\s*(?P<sign>[{_SIGN}]?)(?P<before>[$€£¥]|(?:{_MONEY})(?![^\W\d_])|)\s*(?P<number>{_NUMBER})\s*(?P<unit>[^\W\d_µ][^\s,;|]{{0,11}}|[%‰°µ][^\s,;|]{{0,7}}|[$€£¥])?"
)
_UNIT = re.compile(
    r"[µumkn]?g|lbs?|oz|[kcmµun]?m[23²³]?|in|ft|mi|[mµud]?l|[mµun]?s|min|hr?s?|hours?|d|days?|weeks?|months?|y|yrs?|years?"
    r"|%|‰|°[CF]?|[kh]?Pa|bar|mmHg|bpm|[kMG]?Hz|[mk]?V|m?A|[kM]?Wh?|k?J|k?cal|[mµ]?g/d?L|[mµun]?mol(/L)?|m?I?U(/m?L)?"
    r"|km/h|m/s|mph|[kMG]?B|[$€£¥]"
    rf"|{_MONEY}",
    re.IGNORECASE,
)
_UNIT_WORDS = frozenset(("#", "a.u.", "au", "beats", "bp", "cells", "cfu", "copies", "count", "counts", "da", "db",
                         "deg", "degrees", "feet", "fl", "fraction", "ha", "inches", "index", "k", "kb", "kda", "log10",
                         "log2", "lux", "miles", "mm", "n", "nm", "no.", "number", "pg", "ph", "points", "ppb", "ppm",
                         "pts", "ratio", "rpm", "score", "sec", "seconds", "minutes", "tesla", "x"))  # fmt: skip
_MEASURED = 2  # numbers that a column with limits must have, else they are categories, such as <18 and >65
_CODES = frozenset("abcdef")  # letters of codes such as 5A, which are not units
_VERSION = re.compile(r"version|firmware|release|build")
_READABLE = 0.9  # share of the numbers with marks that the style must fit, so that the others are slips
_FEW = 3  # different slips that an option can name
_UNITS_OF_ONE = frozenset("smhdglLKVJW%‰°$€£¥")  # units of one character that are not codes, as X is among chromosomes
_BRACKETS = re.compile(r".*\S\s*[\[(](?P<unit>[^\[\]()]+)[\])]\s*")


@dataclass(frozen=True, slots=True)
class Style:
    """The marks of a file: between whole and fraction, and between thousands (None if there is none)."""

    decimal: str = "."
    thousands: str | None = None

    def reads(self, number: str) -> bool:
        """Return whether a number without sign and unit is written in this style."""
        return _in_style(self).fullmatch(number) is not None


@lru_cache
def _in_style(style: Style) -> re.Pattern[str]:
    """Return what numbers of a style look like; no thousands begin with 0."""
    fraction, exponent = rf"{re.escape(style.decimal)}\d", r"(?:[eE][+-]?\d+)?"
    marks = dict.fromkeys([*_SPACES, *([style.thousands] if style.thousands else [])])
    # regular expressions of Arrow have no backreferences
    groups = "|".join(rf"(?:{re.escape(mark)}\d{{3}})+" for mark in marks)
    if style.thousands == ",":
        groups += r"|(?:,\d{2})+,\d{3}"  # as in India: 12,34,567
    return re.compile(
        rf"[1-9]\d{{0,2}}(?:{groups})(?:{fraction}*)?|\d+(?:{fraction}*)?{exponent}|{fraction}+{exponent}"
    )


def is_number(text: str) -> bool:
    """Return whether a text is a number as programs write it."""
    text = text.strip()
    return bool(_PLAIN.fullmatch(text)) or text.lower().lstrip("+-") in _INFINITE


def is_blank(text: str) -> bool:
    """Return whether a text stands for a missing number."""
    return text.strip() in MISSING or text.strip().lower() in _BLANKS


def is_unit(text: str) -> bool:
    """Return whether a text is a unit, such as cm, [kg/m2], (°C), mg/dL or 10^9/L."""
    plain = re.sub(r"[\s()\[\]{}]", "", text)
    parts = [part for part in re.split(r"[/·*^⁻]", plain) if part]
    units = [part for part in parts if not re.fullmatch(r"-?x?\d+", part)]
    return bool(units) and all(_UNIT.fullmatch(part) or part.lower() in _UNIT_WORDS for part in units)


def seems_number(cell: object) -> bool:
    """Return whether a cell is a number or missing, or a text with a digit or for infinity; others are words."""
    if not isinstance(cell, str):
        return True
    return _DIGIT.search(cell) is not None or cell.strip().lower().lstrip("+-") in _INFINITE


def has_word(column: pd.Series[str]) -> bool:
    """Return whether a cell that is not blank has no digit; such a column is not one of numbers or dates."""
    return any(isinstance(text, str) and not _DIGIT.search(text) and not is_blank(text) for text in column.tolist())


def may_be_number(text: str) -> bool:
    """Return whether a text is a number in some style, with or without a unit or parentheses."""
    return is_number(text) or bool(_CELL.fullmatch(_tidied(text)))


def _rewritten(text: str) -> str:
    """Return a text with a number as programs write it, without quotes, and any other text as it is."""
    for written, number in _OTHERWISE:
        text = written.sub(number, text)
    return text


def _tidied(text: str) -> str:
    """Return a number with the exponent that programs write, without quotes and the parentheses of accountants."""
    text = _rewritten(text.strip())
    inner = _PARENTHESES.fullmatch(text)
    return text if inner is None else inner.group(1)


def number_in(text: str) -> str | None:
    """Return the number in a cell without its sign and unit; None for other texts and for unknown units."""
    cell = _CELL.fullmatch(_tidied(text))
    if cell is None or (cell["unit"] and not _UNIT.fullmatch(cell["unit"])):
        return None
    return re.sub(f"^[{_SIGN}]+", "", cell["number"])


def unit_in(text: str) -> str | None:
    """Return the unit of a number in the style of English or German, "" if it has none; None for other texts."""
    if is_number(text):
        return ""
    number, cell = number_in(text), _CELL.fullmatch(_tidied(text))
    if number is None or cell is None or not any(style.reads(number) for style in (Style(".", ","), Style(",", "."))):
        return None
    return f"{cell['before']}{cell['unit'] or ''}"


def are_codes(name: str, numbers: Collection[str]) -> bool:
    """Return whether what looks like numbers are IP addresses, such as 192.168.101.200, or versions by their name."""
    if not all(number.count(".") > 1 for number in numbers):
        return False
    groups = [number.split(".") for number in numbers]
    addresses = all(len(parts) == 4 and all(part.isdigit() and int(part) < 256 for part in parts) for parts in groups)
    return len(numbers) > 0 and (addresses or _VERSION.search(name.lower()) is not None)


def text_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that are neither numbers, booleans, dates nor categories."""
    typed = [dtype.kind in "biufcmM" or hasattr(dtype, "categories") for dtype in frame.dtypes]
    return [name for name, known in zip(frame, typed, strict=True) if not known]


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """A column of texts as numbers, with notes, the problem if its units differ, and its unit."""

    values: pd.Series[float]
    notes: list[CellNote] = field(default_factory=list)
    problem: Problem | None = None
    unit: str = ""


def numbers_of(column: pd.Series[str], style: Style, limits: LimitWord = "limit") -> NumberColumn | None:
    """Return a column of texts as numbers; None if it holds texts, or limits and `limits` is "refuse"."""
    import pandas as pd

    name = str(column.name)
    texts = column.dropna().astype(str).str.strip()
    given = texts
    if any(_rewritten(text) != text for text in texts.unique()):
        texts = texts.map(_rewritten)
    otherwise = texts != given
    texts, negative = _with_minus(texts)
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
        return None if _are_letters(texts[~blank], kinds) else _differing(column, units, kinds, name)
    if kinds[0] and not _UNIT.fullmatch(kinds[0]):
        return None
    if are_codes(name, cells["number"].unique()):
        return None
    plain = _plain(cells["sign"].fillna("") + cells["number"], style)
    values = pd.to_numeric(plain, errors="coerce")
    if values.isna().any():
        return _slips(column, texts[values.index], values.isna(), style)
    notes = [CellNote(f"column {name!r}: {negative}", name, 0, negative, (name, negative))] if negative else []
    if blank.any():
        n, words = int(blank.sum()), shown_names(sorted(set(texts[blank])))
        told = f"taken as missing ({words})"
        text = f"{counted(n, 'cell')} of column {name!r} {'is' if n == 1 else 'are'} {told}"
        notes.append(CellNote(text, name, n, told, told))
    if kinds[0]:
        notes.append(_told_unit(name, kinds[0], texts[~blank].iloc[0], values.iloc[0]))
    if otherwise.any():
        what = f"read as numbers ({shown(given[otherwise].iloc[0])} is {values[otherwise.idxmax()]:g})"
        notes.append(CellNote(f"column {name!r} is {what}", name, 0, what, "written otherwise"))
    values = plain.astype("float64")  # those of `to_numeric` may differ in the last digit
    if len(signs):
        values, note = _limited(values, signs, texts, limits)
        what = "is a limit" if len(signs) == 1 else "are limits"
        text = f"{counted(len(signs), 'cell')} of column {name!r} {what}{note}"
        notes.append(CellNote(text, name, len(signs), f"limits{note}", "limits"))
    return NumberColumn(values.reindex(column.index), notes, unit=kinds[0])


def _told_unit(name: str, unit: str, first: str, value: float) -> CellNote:
    """Return the note that a column has a unit; a letter right behind the numbers may be that of codes."""
    told = f"read as numbers in {unit} ({shown(first)} is {value:g})"
    if not _ends_in_letter(first) or _BRACKETS.fullmatch(name):
        return CellNote(f"column {name!r} is {told}", name, 0, told, ("unit", unit))
    told += ". If these are codes, leave them out with --drop"
    return CellNote(f'column {name!r} is {told} "{name}"', name, 0, told, ("unit", unit))


def _ends_in_letter(text: str) -> bool:
    """Return whether a number has one letter right behind it that is rarely a unit, as in the code 972.8A."""
    return re.search(r"\d[^\W\d_]$", text) is not None and text[-1] not in _UNITS_OF_ONE


def _with_minus(texts: pd.Series[str]) -> tuple[pd.Series[str], str]:
    """Return texts whose numbers in parentheses have a minus instead, and a note; as they are if others have a minus.

    Accountants write negative numbers this way. If all numbers are in parentheses, they may be standard errors.
    """
    inner = texts.str.extract(f"^{_PARENTHESES.pattern}$", expand=False)
    hit = inner.notna()
    if not hit.any() or texts[~hit].str.match(f"[{_SIGN[1:]}]").any() or (~hit).sum() < _MEASURED:
        return texts, ""
    first = texts[hit].iloc[0]
    many = f"{counted(int(hit.sum()), 'number')} in parentheses {'is' if hit.sum() == 1 else 'are'} read as negative"
    return texts.mask(hit, "-" + inner), f"{many} ({shown(first)} is {'-' + inner[hit].iloc[0]})"


def _slips(column: pd.Series, texts: pd.Series[str], bad: pd.Series[bool], style: Style) -> NumberColumn | None:
    """Return a column with the problem that few of its numbers are written in another style; None if many are."""
    marked = texts.str.contains(r"[.,]")
    if style == Style() or bad.sum() > (1 - _READABLE) * marked.sum():
        return None
    name, where = str(column.name), bad.idxmax()
    marks = f"{shown(style.decimal)} is the decimal mark" + f" and {shown(style.thousands)} separates thousands" * bool(
        style.thousands
    )
    row = int(column.index.get_loc(where)) + 1
    text = f"column {name!r} holds {shown(texts[where])} in row {row}, which is not a number if {marks}. Correct it."
    slips = sorted(set(texts[bad]))
    missing = Way("take it as missing", {"missing": tuple(f"{name}={slip}" for slip in slips)})
    ways = (*([missing] if len(slips) <= _FEW else []), Way("leave it out", {"drop": name}))
    return NumberColumn(column, problem=Problem(text, ways))


def _limited(
    values: pd.Series[float], signs: pd.Series[str], texts: pd.Series[str], limits: LimitWord
) -> tuple[pd.Series[float], str]:
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


def _plain(numbers: pd.Series[str], style: Style) -> pd.Series[str]:
    """Return numbers as programs write them; one that is written in another style becomes unreadable."""
    readable = numbers.str.fullmatch(rf"[{_SIGN}]?(?:{_in_style(style).pattern})")
    minus = dict.fromkeys("−–‒‐‑－", "-")
    plain = {**dict.fromkeys([*_SPACES, style.thousands or " "], ""), style.decimal: ".", **minus}
    return numbers.str.translate(str.maketrans(plain)).where(readable, "unreadable")


def _are_letters(texts: pd.Series[str], kinds: Collection[str]) -> bool:
    """Return whether numbers have the first letters of the alphabet right behind them, as codes such as 5A and 5B have.

    Others are units, such as those of 30s and 2h, or of 5V and 3A.
    """
    letters = {kind.lower() for kind in kinds if kind}
    if len(letters) < 2 or not {"a", "b"} <= letters <= _CODES:
        return False
    return bool(texts.str.fullmatch(r"\d+[^\W\d_]?").all())


def _differing(column: pd.Series, units: pd.Series[str], kinds: list[str], name: str) -> NumberColumn | None:
    """Return a column with the problem that its units differ; None if what follows the numbers is not a unit."""
    if not all(kind == "" or _UNIT.fullmatch(kind) for kind in kinds):
        return None
    first = {kind: int(column.index.get_loc(units.index[units == kind][0])) + 1 for kind in kinds}
    told = " and ".join(f"{kind or 'no unit'} in row {row}" for kind, row in list(first.items())[:2])
    text = f"column {name!r} has numbers in several units: {told}. Write them in one unit, or leave the column out."
    return NumberColumn(column, problem=Problem(text, (Way("leave it out", {"drop": name}),)))


def named_units(frame: pd.DataFrame, said: Mapping[str, str]) -> dict[str, str]:
    """Return the units of the columns of a table by name: those that the file says, and those in the names.

    A letter in the name of a column of words, such as that of an answer to a question, is no unit.
    """
    found = {}
    for name in map(str, frame):
        bracket = _BRACKETS.fullmatch(name)
        if name in said:
            found[name] = said[name]
        elif bracket is not None and is_unit(bracket["unit"]) and not has_word(frame[name]):
            found[name] = bracket["unit"].strip()
    return found


def is_only_unit(text: str) -> bool:
    """Return whether a text is a unit, and no code or category that looks like one."""
    return is_unit(text) and (len(text) > 1 or text in _UNITS_OF_ONE)
