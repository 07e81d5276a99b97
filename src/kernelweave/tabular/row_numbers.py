"""Columns of numbers that seem to number the samples, such as 1, 2, 3 ...: a hint, since nothing else tells."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["number_hints"]

_LEAST = 10  # rows; fewer whole numbers may follow each other by chance


def number_hints(frame: pd.DataFrame, kept: Collection[str | None], *, named: bool) -> list[str]:
    """Return a sentence for every column that holds each whole number of a range once; `named` rows have ids."""
    n = len(frame)
    if n < _LEAST:
        return []
    numeric = frame.select_dtypes("number", exclude="timedelta")
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused elsewhere
        fits = (numeric.max() - numeric.min() == n - 1).to_numpy(dtype=bool, na_value=False)
    hints = []
    for name in [name for name in numeric.columns[fits] if name not in kept]:
        values = numeric[name].to_numpy(dtype=np.float64, na_value=np.nan)
        if len(np.unique(values)) == n and (values % 1 == 0).all():  # a missing cell is not a whole number
            option = f'--drop "{name}" (drop=["{name}"]' if named else f'--id "{name}" (id="{name}"'
            hints.append(
                f"column {name!r} holds the numbers {int(values.min())} to {int(values.max())}, each once. If it "
                f"only numbers the samples, it is not a feature: pass {option} in Python)"
            )
    return hints
