"""Long tables, with one row for every measurement: id, variable, value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._plural import counted
from kernelweave.runtime import check_memory
from kernelweave.tabular.number_text import is_only_unit
from kernelweave.tabular.packages import pandas
from kernelweave.tabular.problems import Problem, TableError, Way, need_column, shown, shown_names
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.row_labels import is_unnamed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Widened", "widened"]

_VARIABLE = re.compile(
    r"(variable|feature|gene|symbol|probe|protein|metabolite|taxon|otu|marker|key|parameter|measure|measurement|analyte"
    r"|attribute|test|item|question|metric|indicator|characteristic|assay)s?([ _.\-]?(name|id|symbol|code))?",
)
_VALUE = re.compile(
    r"values?|counts?|expression|level|result|amount|abundance|intensity|measurement|score|answer|response"
    r"|concentration|tpm|fpkm|rpkm|reads|(value|result)[ _.\-].*|.*[ _.\-](value|result)",
)
_FILLED = 0.5  # share of the pairs of id and variable that a table with these names must have
_COMPLETE = 0.9  # and one with other names, which is only hinted at
_LEAST = 3  # variables of such a table
_MOST = 8  # columns of one with columns that follow from the id or the variable
_SLIPS = 0.1  # share of rows whose pair of id and variable occurs before, up to which they are slips


@dataclass(frozen=True, slots=True)
class Widened:
    """A table with a row for every id, the column of the ids, and notes."""

    frame: pd.DataFrame
    id: str
    notes: list[str]


def widened(frame: pd.DataFrame, path: Path, options: ReadOptions) -> Widened | list[str]:
    """Return a long table with a row for every id; of another table only notes, with a hint if it looks like one."""
    if options.long is not None:
        for name in options.long:
            need_column(list(map(str, frame)), name, str(path))
        return _spread(frame, options.long, path)
    names = [str(name) for name in frame if not is_unnamed(str(name))]
    if options.wide or options.labels is not None or options.id not in (None, names[0]):
        return []
    if len(names) != 3:
        return _hint_beside_others(frame, names)
    found = _as_long(frame, names)
    return [] if found is None else _judged(frame, found, path)


def _hint_beside_others(frame: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Return a hint if a table is long, but for columns that follow from the id or the variable, such as units."""
    values = [name for name in names if frame[name].dtype.kind in "iuf"]
    keys = [name for name in names if name not in values and frame[name].nunique() > 1]
    if len(values) != 1 or not len(values) + 2 <= len(names) <= _MOST or frame[keys].isna().any(axis=None):
        return []
    for id, variable in permutations(keys, 2):
        found = _as_long(frame, [id, variable, values[0]])
        if found is None or found.again or found.share < _COMPLETE or found.n_variables < _LEAST:
            continue
        others = [name for name in keys if name not in (id, variable)]
        if frame[id].nunique() >= found.n_variables and all(
            _holds_units(frame[name]) or any((frame.groupby(key)[name].nunique() == 1).all() for key in (id, variable))
            for name in others
        ):
            return [_hint(found)]
    return []


@dataclass(frozen=True, slots=True)
class _Found:
    """Id, variable and value of what may be a long table, and the evidence for it.

    `share` is that of the pairs of id and variable which are there, `certain` tells whether the names say so, and
    `again` are the rows whose pair occurs before.
    """

    long: tuple[str, str, str]
    share: float
    certain: bool
    again: list[int]
    n_variables: int


def _as_long(frame: pd.DataFrame, names: list[str]) -> _Found | None:
    """Return the evidence for a long table; None if it cannot be one."""
    id, variable, value = names
    if frame[value].dtype.kind not in "iuf" or frame[variable].dtype.kind in "biufcmM" or frame[id].dtype.kind == "f":
        return None
    if frame[[id, variable]].isna().any(axis=None):
        return None
    again = np.flatnonzero(frame.duplicated([id, variable])).tolist()
    n, m = frame[id].nunique(), frame[variable].nunique()
    if n < 2 or m < 2 or len(frame) == n:
        return None
    certain = _VARIABLE.fullmatch(variable.strip().lower()) and _VALUE.fullmatch(value.strip().lower())
    return _Found((id, variable, value), (len(frame) - len(again)) / (n * m), bool(certain), again, m)


def _judged(frame: pd.DataFrame, found: _Found, path: Path) -> Widened | list[str]:
    """Return a table that is certainly long with a row for every id; otherwise a hint, if it may be long.

    If pairs occur again, it is long only if they are few: then they are errors, not samples.
    """
    slips = len(found.again) <= _SLIPS * len(frame)
    if found.certain and found.share >= _FILLED and slips:
        return _spread(frame, found.long, path)
    enough = _FILLED if found.certain else _COMPLETE
    if found.share < enough or found.n_variables < _LEAST or not (found.certain or slips):
        return []
    hint = _hint(found)
    if not found.again:
        return [hint]
    pair = _pair(frame, found.long, found.again[0])
    return [f"{hint}. It has {pair} again in row {found.again[0] + 1}: keep one row then, or give their mean"]


def _hint(found: _Found) -> str:
    options = " ".join(map(shown, found.long))
    return f"it looks like a long table: if every row is one measurement, pass --long {options} (long= in Python)"


def _pair(frame: pd.DataFrame, long: tuple[str, str, str], row: int) -> str:
    return " and ".join(shown(frame[name].iloc[row]) for name in long[:2])


def _spread(frame: pd.DataFrame, long: tuple[str, str, str], path: Path) -> Widened:
    """Return a table with a column for every variable, in the order in which they occur."""
    pd = pandas()
    id, variable, value = long
    twice = frame.duplicated([id, variable]).to_numpy()
    if twice.any():
        row = int(twice.argmax())
        text = f"as a long table it has {_pair(frame, long, row)} again in row {row + 1}: "
        text += "keep one row, or give their mean."
        raise TableError(str(path), [Problem(text, (Way("every row is a sample", {"wide": True}),))])
    others = [str(name) for name in frame if name not in long]
    _refuse_units(frame, variable, others, path)
    rows, ids = pd.factorize(frame[id])
    columns, names = pd.factorize(frame[variable].astype(str))
    check_memory(8 * len(ids) * len(names), what=f"Spreading {path}", advice="select variables first")
    numeric = frame[value].dtype.kind in "biuf"
    cells = np.full((len(ids), len(names)), np.nan, dtype=np.float64 if numeric else object)
    known = (rows >= 0) & frame[variable].notna().to_numpy()
    cells[rows[known], columns[known]] = frame[value].to_numpy()[known]
    wide = pd.DataFrame(cells, columns=names)
    wide.insert(0, id, np.asarray(ids))
    lacking = int(np.count_nonzero(pd.isna(cells)))
    note = (
        f"it is a long table: {counted(len(frame), 'row')} are {counted(len(ids), 'sample')} ({id!r}) with "
        f"{counted(len(names), 'variable')} ({variable!r}) and their values ({value!r})"
    )
    gaps = [f"{counted(lacking, 'value')} of samples and variables {'is' if lacking == 1 else 'are'} missing in it"]
    without = [f"its other columns are left out: {shown_names(others)}"] if others else []
    return Widened(wide, id, [note, *without, *(gaps if lacking else [])])


def _holds_units(column: pd.Series) -> bool:
    """Return whether all texts of a column are units."""
    return column.dtype.kind not in "biufcmM" and all(is_only_unit(str(text)) for text in column.dropna().unique())


def _refuse_units(frame: pd.DataFrame, variable: str, others: Sequence[str], path: Path) -> None:
    """Raise an error if another column holds units, of which a variable has several."""
    for name in others:
        if not _holds_units(frame[name]):
            continue
        several = frame.groupby(variable, sort=False)[name].unique().map(lambda units: [u for u in units if u == u])
        mixed = several[several.map(len) > 1]
        if len(mixed):
            text = f"{shown(mixed.index[0])} has several units in the column {name!r} ({shown_names(mixed.iloc[0])})"
            raise TableError(str(path), [Problem(f"{text}: write the values of a variable in one unit.")])
