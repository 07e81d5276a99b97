"""Whether the numbers of a column with words were measured, or are categories like the words."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Array

__all__ = ["VARIED", "most_words"]

_SLIPS = 0.1  # share of words among numbers up to which they are errors, not categories
_MIXED = 0.5  # the same, of a column whose numbers are measured: they have fractions, and many of them differ
VARIED = 10  # different numbers of such a column
_APART = 0.8  # share of the numbers beside few words that differ, if they are measured however many words there are
_KINDS = 3  # different words that are few
_FRACTIONS, _WHOLES = 2, 5  # with no more different numbers than this (fractions, whole numbers), they are categories


@np.errstate(invalid="ignore")  # infinity is no whole number
def most_words(numbers: Array, n_kinds: int) -> float:
    """Return the share of a column that may be words, of so many kinds, if these numbers of it are measured.

    Whole numbers that are next to each other, such as those of chromosomes beside an X, count the rows.
    """
    different, whole = len(np.unique(numbers)), bool((numbers % 1 == 0).all())
    if different <= (_WHOLES if whole else _FRACTIONS):
        return _SLIPS
    spread = not whole or bool(np.ptp(numbers) >= 2 * len(numbers))
    if n_kinds <= _KINDS and spread and different >= _APART * len(numbers):
        return 1.0
    return _MIXED if not whole and different > VARIED else _SLIPS
