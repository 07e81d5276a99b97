"""Numbers with few values, such as a year, that are related to no other column: samples are compared by them too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelweave._types import Vector
from kernelweave.explain._lone import LEAST_COLUMNS, MOST_COLUMNS, are_lone
from kernelweave.tabular.problems import shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["unrelated_numbers"]

_FEW = 10  # different numbers, such as years; others are measured, and measurements are often unrelated
_MOST_LONE = 1 / 2  # share of the columns; if most are unrelated, there is no structure that one of them hides
_ROWS = 10_000  # that are looked at
_NAMED = 3  # columns that an option names


def unrelated_numbers(frame: pd.DataFrame, source: str) -> list[str]:
    """Return a sentence that names the columns of few different numbers to which no other column is related."""
    if not LEAST_COLUMNS <= len(frame.columns) <= MOST_COLUMNS:
        return []
    frame = frame.iloc[:: max(1, len(frame) // _ROWS)]
    different = frame.nunique()
    kinds = {name: dtype.kind for name, dtype in frame.dtypes.items()}
    varied = [name for name in frame if different[name] > 1 and (kinds[name] in "biufmM" or _repeats(frame[name]))]
    few = [kinds[name] in "iuf" and different[name] <= _FEW for name in varied]
    if not any(few):
        return []
    values = np.column_stack([_values(frame[name]) for name in varied]).astype(np.float64)
    lone = are_lone(values, np.array([kinds[name] not in "biufmM" for name in varied]), _MOST_LONE)
    names = [str(varied[j]) for j in np.flatnonzero(lone & few)]
    if not names:
        return []
    several = len(names) > 1
    told = f"columns {shown_names(names)} hold" if several else f"column {names[0]!r} holds"
    told += " few different numbers, and no other column of the table is related to "
    drop = " ".join(f'--drop "{name}"' for name in names[:_NAMED]) + " ..." * (len(names) > _NAMED)
    them = "them" if several else "it"
    return [
        f"{source}: {told}{them}: clusters may follow {them}, or be less clear. "
        f"If {'they do' if several else 'it does'} not belong to what is compared, pass {drop}."
    ]


def _repeats(column: pd.Series) -> bool:
    """Return whether texts are categories, not names of the samples."""
    return bool(2 * column.nunique() <= column.notna().sum())


def _values(column: pd.Series) -> Vector:
    """Return a column as numbers; categories are codes, and what is missing is NaN."""
    if column.dtype.kind in "biuf":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if column.dtype.kind in "mM":  # of dates and durations the order is enough
        return np.asarray(column.rank(), dtype=np.float64)
    codes = column.astype(str).factorize(sort=True)[0].astype(np.float64)
    return np.where(column.isna(), np.nan, codes)
