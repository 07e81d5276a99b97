"""Codes for missing values, such as 999: taken as missing when asked, and a hint where a column seems to have one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Array, Matrix
from kernelweave.tabular.number_text import MISSING, is_number
from kernelweave.tabular.problems import shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["code_hints", "codes_of", "whole_labels", "without_codes", "without_words"]

_WHOLE = re.compile(r"[+-]?\d+([.,]0{1,2})?")
_FRACTION = r"[.,]0{1,2}$"
_USUAL = frozenset(sign * int(digit * width) for digit in "789" for width in range(1, 6) for sign in (1, -1))
_USUAL_TIMES, _TIMES = 2, 3  # how often a code must occur, and any other number
_LISTED = 12  # columns with a code that a note names
_FAR = 10  # ranges of the other values that a number must be away to be taken for a code
_STEPS = 2  # largest steps between the other values that a usual code must be away
_VARIED = 5  # different values that the others must have then
_BLOCK = 2**22  # cells that are compared at a time
_ZEROS = 0.5  # share of a column that may be zeros for missing cells; more are ordinary, as in counts
_MEASURED = 10  # different values that a column with such zeros must have beside them
_ZERO_STEPS = 4  # largest steps between the lower half of the others that zero must be away
_INTENSITIES = 1000  # from which on numbers are so large that they are not measured close to zero
_SOME = 0.05  # share of the columns with zeros that must look like this: a few of many do so by chance
_ROWS, _NAMED = 10_000, 3  # rows that are looked at, and columns that are named one by one


def codes_of(codes: Sequence[str]) -> list[tuple[str | None, str]]:
    """Return the column, None for all, and the code of entries such as 999 and age=999."""
    parted = [code.rpartition("=") for code in codes]
    return [(column or None, value.strip()) for column, _, value in parted]


def without_codes(
    frame: pd.DataFrame, codes: Sequence[str], kept: Collection[str | None], labels: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table whose cells with a code are missing, but for the columns in `kept`, and notes that count them.

    Labels are counted by themselves if the code is one for all columns, since it may be a class there.
    """
    notes = []
    for column, code in codes_of(codes):
        counts, changed = {}, {}
        for name in [name for name in frame if (column or str(name)) == str(name) and name not in kept]:
            hit = _equal(frame[name], code)
            if hit.any():
                counts[str(name)] = int(hit.sum())
                changed[str(name)] = frame[name].mask(hit)
        frame = frame.assign(**changed)
        n, listed = sum(counts.values()), shown_names(list(counts), _LISTED)
        told = f"{counted(n, 'cell')} {'is' if n == 1 else 'are'} taken as missing" if n else "no cell has it"
        told += f" (column {listed})" if n else ""
        if column is None and (of := counts.get(str(labels), 0)):
            told += (
                f"; {of} of them {'is a label' if of == 1 else 'are labels'} of {shown(labels)}, taken as unlabelled"
            )
            told += f". If it is a class there, name the columns that have the code, as in --missing NAME={code}"
        notes.append(f"missing values have the code {shown(code)}: {told}")
    return frame, notes


def without_words(frame: pd.DataFrame, labels: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Return a table whose labels that are words such as NA are missing, and a note, since None may be a class."""
    if labels is None or labels not in frame:
        return frame, []
    words = frame[labels].isin(MISSING)
    counts = frame[labels][words].value_counts()
    if counts.empty:
        return frame, []
    n, one = int(counts.sum()), len(counts) == 1
    told = f"{counted(n, 'label')} of {shown(labels)} {'is' if n == 1 else 'are'} taken as unlabelled"
    note = f"{told} ({shown_names(sorted(counts.index))}). If {'it' if one else 'one'} is a class, give it another name"
    return frame.assign(**{labels: frame[labels].mask(words)}), [note]


def whole_labels(frame: pd.DataFrame, labels: str | None) -> pd.DataFrame:
    """Return a table whose labels, if all are whole numbers, lack the .0 with which pandas writes them beside gaps."""
    texts = None if labels is None or labels not in frame else frame[labels].dropna()
    if texts is None or texts.empty or not all(isinstance(text, str) and _WHOLE.fullmatch(text) for text in texts):
        return frame
    return frame.assign(**{str(labels): frame[labels].str.replace(_FRACTION, "", regex=True)})


def _equal(column: pd.Series, code: str) -> pd.Series[bool]:
    if column.dtype.kind in "biuf":
        return column == float(code) if is_number(code) else column.isna() & False
    texts = column.astype(str).str.strip()
    hit = texts == code
    if _WHOLE.fullmatch(code):  # labels are shown without the .0
        hit |= texts.str.replace(_FRACTION, "", regex=True) == re.sub(_FRACTION, "", code)
    return hit & column.notna()


def code_hints(frame: pd.DataFrame, kept: Collection[str | None]) -> list[str]:
    """Return a sentence for every number that repeats far outside the other values of a column."""
    numeric = frame.select_dtypes("number", exclude="timedelta")
    numeric = numeric[[name for name in numeric if name not in kept]]
    found: dict[float, list[tuple[str, int, float, float]]] = defaultdict(list)
    step = max(1, _BLOCK // max(1, len(frame)))
    for start in range(0, numeric.shape[1], step):
        part = numeric.iloc[:, start : start + step]
        values = part.to_numpy(dtype=np.float64, na_value=np.nan)
        for sign in (1, -1):
            for j, code, times, low, high in _extremes(sign * values):
                ends = sorted((sign * low, sign * high))
                found[sign * code].append((str(part.columns[j]), times, ends[0], ends[1]))
    known = {name for name, *_ in found.get(0, ())}
    return [*(_sentence(code, columns) for code, columns in found.items()), *_zero_hints(numeric, known)]


def _zero_hints(numeric: pd.DataFrame, known: Collection[str]) -> list[str]:
    """Return a sentence about zeros that are most likely missing cells, as in tables of intensities.

    They are so if a column has no other number near zero. In `known` columns that is said already.
    """
    rows = numeric.iloc[:: max(1, len(numeric) // _ROWS)]
    step = max(1, _BLOCK // max(1, len(rows)))
    judged: dict[str, bool] = {}
    for start in range(0, numeric.shape[1], step):
        part = rows.iloc[:, start : start + step]
        values = part.to_numpy(dtype=np.float64, na_value=np.nan)
        with np.errstate(invalid="ignore"):
            least, zeros = np.where(np.isfinite(values), values, 0).min(axis=0), (values == 0).sum(axis=0)
        most = _ZEROS * np.isfinite(values).sum(axis=0)
        for j in np.flatnonzero((least == 0) & (zeros >= _USUAL_TIMES)).tolist():
            others = np.unique(values[np.isfinite(values[:, j]) & (values[:, j] > 0), j])
            if len(others) >= _MEASURED:
                judged[str(part.columns[j])] = bool(zeros[j] <= most[j]) and _far_from_zero(others)
    found = [name for name, far in judged.items() if far and name not in known]
    if not found or len(found) <= _SOME * len(judged):
        return []
    cells = int((numeric[found] == 0).sum().sum())
    several = len(found) > 1
    told = f"{f'columns {shown_names(found)} hold' if several else f'column {found[0]!r} holds'} 0 in "
    told += (
        f"{counted(cells, 'cell')}, and no other number near 0. If it stands for missing, as in tables of intensities"
    )
    if len(found) > _NAMED:
        return [f'{told}, pass --missing "NAME=0" for each, or --missing 0 if it does so everywhere']
    codes = [f"{name}=0" for name in found]
    flags = " ".join(f'--missing "{code}"' for code in codes)
    return [f"{told}, pass {flags} (missing={codes!r} in Python)"]


def _far_from_zero(values: Array) -> bool:
    """Return whether sorted numbers, all different, are far above zero: large, or farther than from each other."""
    steps = np.diff(values[: (len(values) + 1) // 2])
    return bool(values[0] >= _INTENSITIES or values[0] > _ZERO_STEPS * steps.max())


def _extremes(values: Matrix) -> list[tuple[int, float, int, float, float]]:
    """Return the columns whose largest value seems to be a code: it, how often it occurs, and the ends of the rest."""
    if not values.size:
        return []
    finite = np.where(np.isfinite(values), values, -np.inf)
    top = finite.max(axis=0)
    times = (finite == top).sum(axis=0)
    second = np.where(finite < top, finite, -np.inf).max(axis=0)
    low = np.where(np.isfinite(values), values, np.inf).min(axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        gap, spread = top - second, second - low
    known = np.isfinite(values).sum(axis=0)
    crosses = (top > 0) & (second <= 0)  # the only sign of its kind, as -9 among ages
    far = (gap >= spread) | crosses
    usual = np.isin(np.abs(top), [abs(code) for code in _USUAL]) & (times >= _USUAL_TIMES) & far
    any_number = (times >= _TIMES) & (gap > _FAR * spread)
    may_be = (usual | any_number) & np.isfinite(spread) & (spread > 0) & (2 * times <= known)
    return [
        (j, float(top[j]), int(times[j]), float(low[j]), float(second[j]))
        for j in np.flatnonzero(may_be).tolist()
        if (usual[j] and (crosses[j] or _stands_off(values[:, j])))
        or (any_number[j] and _n_different(values[:, j]) > _VARIED)
    ]


def _stands_off(values: Array) -> bool:
    """Return whether the largest value is farther from the others than they are from each other: not 8 in 4, 6, 8."""
    steps = np.diff(np.unique(values[np.isfinite(values)]))
    return bool(steps[-1] > _STEPS * steps[:-1].max())


def _n_different(values: Array) -> int:
    return len(np.unique(values[np.isfinite(values)]))


def _sentence(code: float, columns: Sequence[tuple[str, int, float, float]]) -> str:
    name, times, low, high = columns[0]
    if len(columns) == 1:
        where = f"column {name!r} holds {code:g} in {counted(times, 'row')}, far from its other values"
        option = f"{name}={code:g}"
    else:
        names = shown_names([name for name, *_ in columns])
        where = f"{len(columns)} columns ({names}) hold {code:g} far from their other values"
        option = f"{code:g}"
    ends = f" ({low:g} to {high:g})" if len(columns) == 1 else ""
    return f'{where}{ends}. If it stands for missing, pass --missing "{option}" (missing=["{option}"] in Python)'
