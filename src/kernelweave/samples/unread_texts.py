"""Texts that most likely hold measurements, dates or times, written in a way that is not read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Unread", "told_texts", "unread_texts"]

_N = r"[+\-−]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?"
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[aApP]\.?[mM]\.?)?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = (
    r"(?:\d{1,2}[/-]\d{1,2}[/-](?:\d{2}|\d{4})|\d{1,2}\.\d{1,2}\.\d{4}|\d{2}\.\d{2}\.\d{2}|\d{4}([/.-])\d{1,2}\1\d{1,2}"
    rf"|\d{{1,2}}[- .]*{_MONTH}[- .,]*\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})(?:(?:[T ]|, ?){_CLOCK}\S*)?"
)
_FEW = 10  # numbers before a sign or a unit that are categories, such as the grades 1+, 2+ and 3+


@dataclass(frozen=True, slots=True)
class Unread:
    """What the texts of a column seem to be: the kind, an example, another text if there is one, and what to do."""

    kind: str
    example: str
    other: str | None
    advice: str


@dataclass(frozen=True, slots=True)
class _Form:
    """A way to write measurements: `fits` tells whether all texts that have the form are what it says."""

    kind: str
    pattern: re.Pattern[str]
    advice: str
    fits: Callable[[Sequence[str]], bool] = lambda texts: True


def _as_dates(texts: Sequence[str]) -> bool:
    """Return whether no day, month or year of dates in digits is too large, as it would be in other codes."""
    for text in texts:
        parts = re.split(r"[/.\-T ,]+", text)[:3]
        if all(part.isdecimal() for part in parts):
            small = sorted(map(int, parts))
            if not 1 <= max(1, small[0]) <= 12 or small[1] > 31:
                return False
    return True


def _as_ranges(texts: Sequence[str]) -> bool:
    """Return whether every range goes up, as ids such as 2-1 do not."""
    ends = [[float(end.replace(",", ".")) for end in re.findall(r"\d+(?:[.,]\d+)?", text)] for text in texts]
    return all(low < high for low, high in ends)


def _many(texts: Sequence[str]) -> bool:
    """Return whether many of the numbers differ, so that they are measured."""
    return len({match[0] for text in texts if (match := re.match(_N, text))}) > _FEW


def _one_word(texts: Sequence[str]) -> bool:
    """Return whether many numbers differ, and all have the same word behind them."""
    return _many(texts) and len({re.sub(_N, "", text, count=1).strip() for text in texts}) == 1


_ALONE = "Write the numbers alone"
_APART = "Write the two numbers in two columns"
_FORMS = (
    _Form("numbers with an uncertainty", re.compile(rf"{_N}\s*(±|\+/[-−]|\+-)\s*{_N}.*"),
          "Write the numbers and the uncertainties in two columns"),
    _Form("numbers with others in parentheses", re.compile(rf"{_N}\s*%?\s*([(\[][^()\[\]]*\d[^()\[\]]*[)\]])"), _APART),
    _Form("dates", re.compile(_DATE, re.IGNORECASE), "Write all of them as 2020-12-31", _as_dates),
    _Form("times or ratios", re.compile(rf"{_CLOCK}|\d{{1,4}}:\d{{1,4}}"), "Write each as a number, such as 8.5"),
    _Form("ranges", re.compile(r"(?:0|[1-9]\d*)(?:[.,]\d+)?\s*(?:-|–|—|to|bis)\s*[1-9]\d*(?:[.,]\d+)?"),
          "Write the middle of each as a number", _as_ranges),
    _Form("pairs of numbers", re.compile(rf"{_N}\s*/\s*{_N}"), _APART, _many),
    _Form("numbers with a sign behind them", re.compile(rf"{_N}\s*[+*†‡#^'′″!?°]{{0,3}}"),
          f"{_ALONE}, and the signs in another column", _many),
    _Form("numbers with a unit", re.compile(r"[+\-−]?(?:\d+[.,]\d+\s*|\d+\s+)[^\W\d_]\S{0,15}"),
          f"{_ALONE}, and the unit into the name, such as weight [kg]", _one_word),
)  # fmt: skip


def told_texts(texts: Sequence[str]) -> str | None:
    """Return how texts that seem to be measured are written, and what to do; None if they do not seem so."""
    if (unread := unread_texts(texts)) is not None:
        advice = unread.advice[0].lower() + unread.advice[1:]
        return f"it seems to hold {unread.kind} ({unread.example!r}), which are not read: {advice}"
    numbers = {text for text in texts if re.fullmatch(_N, text)}
    n = sum(text in numbers for text in texts)
    if 2 * n <= len(texts) or len(numbers) <= _FEW:
        return None
    other = next((text for text in texts if text not in numbers), None)
    if other is None:
        return None
    return f"{n} of its {len(texts)} texts are numbers, but {other!r} is not: make such cells numbers, or missing"


def unread_texts(texts: Sequence[str]) -> Unread | None:
    """Return what most of the texts of a column seem to be, None if nothing is known of them.

    The column is known to hold neither numbers nor dates as a whole.
    """
    texts = list(dict.fromkeys(texts))
    if 2 * sum(any(map(str.isdecimal, text)) for text in texts) <= len(texts):
        return None
    for form in _FORMS:
        hit = [text for text in texts if form.pattern.fullmatch(text)]
        if 2 * len(hit) > len(texts) and len(hit) > 1 and form.fits(hit):
            fits = set(hit)
            example = next((text for text in hit if not re.fullmatch(_N, text)), None)
            other = next((text for text in texts if text not in fits), None)
            if example is not None:
                return Unread(form.kind, example, other, form.advice)
    return None
