"""The style that all plots share: colours, headlines, and texts that fit."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

import numpy as np
import numpy.typing as npt

from kernelweave._plural import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "COLOURS",
    "GREY",
    "INK",
    "MARKERS",
    "all_shortened",
    "character_width",
    "columns",
    "counted",
    "headline",
    "ink_on",
    "new_axes",
    "plain",
    "shortened",
    "show_dates",
    "strip_spines",
    "wrapped",
]

INK, GREY = "#222222", "#6E6E6E"
# Okabe and Ito's palette for all kinds of colour vision, without its yellow, which is too faint on paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_SHORTEST = 5  # letters; shorter names are not told apart
MARKERS = ("o", "s", "^", "D", "P")  # with seven colours, 35 groups look different


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure; sizes in inches."""
    import matplotlib.pyplot as plt  # only here: pyplot picks a backend and keeps the figure alive
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return plt.subplots(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1))[1]


def headline(ax: Axes, title: str, subtitle: str, labels: Sequence[str] = ()) -> None:
    """Write a bold title and, below it, a lighter sentence wrapped to the width that these tick labels leave."""
    taken = max((len(line) for label in labels for line in label.split("\n")), default=0)
    text = textwrap.fill(subtitle, max(20, int(1 / character_width(ax)) - taken))
    ax.annotate(
        plain(text), (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", fontsize=9, color=GREY
    )
    ax.set_title(
        plain(title), loc="left", fontsize=11, fontweight="bold", color=INK, pad=10 + 13 * len(text.split("\n"))
    )


def character_width(ax: Axes) -> float:
    """Return the usual width of a character of a 9 point text, as a share of the width of the axes."""
    return 0.54 * 9 / (72 * ax.bbox.width / ax.figure.dpi)


def strip_spines(ax: Axes, sides: Sequence[str] = ("top", "right")) -> None:
    """Hide some sides of the frame and draw the others in grey."""
    ax.spines[:].set_color(GREY)
    ax.spines[list(sides)].set_visible(False)


def ink_on(colour: npt.ArrayLike) -> str:
    """Return black or white, whichever contrasts more with a colour given by red, green and blue from 0 to 1."""
    parts = np.asarray(colour, dtype=float)[:3]
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])  # of WCAG, as is the contrast
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#FFFFFF"


def show_dates(ax: Axes) -> None:
    """Label the horizontal axis, which counts days since 1970, with dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=3)  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def plain(name: object) -> str:
    """Return a name that matplotlib shows unchanged: dollar signs are escaped, so that they start no formula."""
    return str(name).replace("$", r"\$")


def wrapped(name: object, width: int) -> str:
    """Return a name in lines of about this width, broken at spaces, commas and opening brackets only."""
    lines = [""]
    for part in re.findall(r".+?(?:[(, ]+|$)", str(name)):
        if lines[-1] and len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def columns(text: str) -> int:
    """Return how many usual letters are as wide as a text: those of Chinese, for example, count twice."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def shortened(name: object, length: int = 18) -> str:
    """Return a name of at most the width of so many letters, with an ellipsis in the middle if it is longer."""
    text = str(name)
    if columns(text) <= length:
        return text
    after = (length - 1) // 2
    return f"{_beginning(text, length - 1 - after)}…{_beginning(text[::-1], after)[::-1]}"


def all_shortened(names: Iterable[object], length: int = 18) -> list[str]:
    """Return names as `shortened` does, so that different ones stay different.

    Of names that would look the same, the beginning and what follows the letters that they have in common is kept.
    """
    texts = [str(name) for name in names]
    found = [shortened(text, length) for text in texts]
    for same in {each for each in found if length > _SHORTEST}:
        alike = sorted({text for text, each in zip(texts, found, strict=True) if each == same})
        if len(alike) == 1:
            continue
        begin = _beginning(same, length // 3)
        letters = zip_longest(alike[0], alike[-1])  # sorted, so that those between share what these share
        common = next(i for i, (a, b) in enumerate(letters) if a != b)
        ends = all_shortened((text[common:] for text in alike), length - columns(begin) - 1)
        apart = dict(zip(alike, ends, strict=True))
        found = [f"{begin}…{apart[text]}" if text in apart else each for text, each in zip(texts, found, strict=True)]
    return found


def _beginning(text: str, width: int) -> str:
    return text[: sum(end <= width for end in accumulate(map(columns, text)))]


def counted(count: int, noun: str) -> str:
    """Return "1 class" or "3 classes", with commas in large numbers."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"
