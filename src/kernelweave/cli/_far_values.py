"""Numbers of new samples that lie far outside those of the fit: most likely they are in other units, or slips."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.cli._inputs import Frames

__all__ = ["ranges_of", "say_far"]

_FAR = 3  # ranges of the fit that a number must lie outside of it
_LISTED = 3  # columns that a note names


def ranges_of(X: Frames) -> dict[str, tuple[float, float]]:
    """Return the smallest and the largest number of every column of numbers, by name, or by view and name."""
    found: dict[str, tuple[float, float]] = {}
    for view, frame in _views(X):
        numbers = frame.select_dtypes("number", exclude="timedelta")
        for name, low, high in zip(map(str, numbers), numbers.min(), numbers.max(), strict=True):
            if np.isfinite(low) and np.isfinite(high):
                found[_key(view, name)] = float(low), float(high)
    return found


def say_far(X: Frames, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Issue a warning that names the columns with numbers far outside the range that they had in the fit."""
    far = []
    for view, frame in _views(X):
        numbers = frame.select_dtypes("number", exclude="timedelta")
        for name, least, most in zip(map(str, numbers), numbers.min(), numbers.max(), strict=True):
            low, high = ranges.get(_key(view, name), (0.0, 0.0))
            reach = _FAR * (high - low)
            if reach and (least < low - reach or most > high + reach):
                far.append(f"{_key(view, name)!r} ({low:.6g} to {high:.6g})")
    if far:
        more = f" and {len(far) - _LISTED} more" if len(far) > _LISTED else ""
        msg = (
            "Some numbers lie far outside those of the fit, where no answer can be relied on. Are they in the same "
            f"units? The ranges of the fit: {', '.join(far[:_LISTED])}{more}."
        )
        warnings.warn(msg, UserWarning, stacklevel=2)


def _views(X: Frames) -> Iterator[tuple[str | None, pd.DataFrame]]:
    """Yield the name of every view, None for a single table, and its table."""
    yield from X.items() if isinstance(X, dict) else [(None, X)]


def _key(view: str | None, name: str) -> str:
    return name if view is None else f"{view}: {name}"
