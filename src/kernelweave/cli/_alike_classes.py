"""Classes whose names are nearly the same text, such as setosa and Setosa: most likely one class."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from kernelweave._plural import counted

__all__ = ["say_alike"]

_LEAST = 5  # letters of a word in which a slip is looked for
_MEANT = re.compile(r"[+\-<>=]|\d[\W_]+\d")
_MOST = 200  # classes that are compared


def say_alike(labels: Sequence[str | None]) -> None:
    """Issue a warning for every two classes whose names differ in case, marks, or a slip of the pen only."""
    counts = Counter(label for label in labels if label is not None)
    for one, other in combinations(sorted(counts)[:_MOST], 2):
        if _folded(one) == _folded(other) or _slipped(one.casefold(), other.casefold()):
            pair = " and ".join(f"{name!r} ({counted(counts[name], 'label')})" for name in (one, other))
            msg = f"The classes {pair} are nearly the same text. If they are one class, write them alike."
            warnings.warn(msg, UserWarning, stacklevel=2)


def _folded(name: str) -> str:
    """Return a name without case, spaces and marks; marks that mean something, as in ER+, 1.0 and 1-2, are kept."""
    return name if _MEANT.search(name) or not re.search(r"\w", name) else re.sub(r"[\W_]+", "", name).casefold()


def _slipped(one: str, other: str) -> bool:
    """Return whether two words differ by a letter that lacks, or two that are swapped, after the first letter."""
    short, long = sorted((one, other), key=len)
    if not (short.isalpha() and long.isalpha()) or len(short) < _LEAST or short[0] != long[0]:
        return False  # normal and abnormal, type1 and type2 are different
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) == len(long):
        return short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]
    return short[at:] == long[at + 1 :]
