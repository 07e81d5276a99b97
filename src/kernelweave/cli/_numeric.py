"""Conversion of a table to numbers; all entries that are not numbers are reported, by column and row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Mask, Matrix
from kernelweave.errors import InvalidInputError
from kernelweave.tabular.problems import Problem, Way, need_column, shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fitted_columns", "match_columns", "numbers"]

_FEW = 20  # categories that are suggested for --one-hot


def fitted_columns(table: pd.DataFrame, source: str, columns: Sequence[str], one_hot: Sequence[str]) -> pd.DataFrame:
    """Return the columns that a model was fitted on; a column in `one_hot` takes the place of its encoded columns."""
    encoded = tuple(f"{column}_" for column in one_hot)
    own = list(table)
    plain = [need_column(own, name, source) for name in columns if name in table or not name.startswith(encoded)]
    return table[[*plain, *(column for column in one_hot if column in table)]]


def match_columns(table: pd.DataFrame, source: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return a table of numbers in the column order of a model; one-hot columns of absent categories are 0."""
    unknown = [name for name in table if name not in columns]
    if unknown:
        msg = f"{source}: the one-hot column {unknown[0]!r} is of a category that the model was not fitted on."
        raise InvalidInputError(msg)
    return table.reindex(columns=list(columns), fill_value=0.0)


def numbers(
    table: pd.DataFrame, *, one_hot: Sequence[str] = (), gaps: bool = False, alike: bool = False, ids: bool = True
) -> tuple[pd.DataFrame, list[Problem]]:
    """Return the table as numbers, and the problems that are in the way.

    With `gaps`, a row may be missing as a whole: the sample has no data in this view. With `alike`, all rows may be
    equal. `ids` tells whether the samples have names already.
    """
    import pandas as pd

    if table.columns.empty:
        return table, [Problem("it has no columns of features left: drop fewer.")]
    chosen = [column for column in one_hot if column in table]
    problems = [_blank_category(table[name]) for name in chosen if table[name].isna().any()]
    texts = {str(name): _text(table[name], ids=ids) for name in table if name not in chosen}
    problems += [problem for problem in texts.values() if problem is not None]
    readable = table.drop(columns=[name for name, problem in texts.items() if problem is not None])
    readable = pd.get_dummies(readable, columns=chosen, dtype=float) if chosen else readable
    values = readable.to_numpy(dtype=np.float64, na_value=np.nan)
    missing = np.isnan(values)
    if gaps:
        missing &= ~missing.all(axis=1, keepdims=True)
    encoded = [j for j, name in enumerate(readable) if name not in table]
    missing[:, encoded] = False
    problems += _holes(missing, values, list(map(str, readable)))
    if not problems and not alike and len(values) > 1 and (values == values[0]).all():
        problems = [Problem(f"all {len(values)} rows are the same: pass samples that differ in some feature.")]
    return pd.DataFrame(values, columns=readable.columns, index=table.index), problems


def _holes(missing: Mask, values: Matrix, names: Sequence[str]) -> list[Problem]:
    """Return the columns in which a value is infinite or missing."""
    problems = []
    for bad, text in ((np.isinf(values), "is infinite"), (missing, "has no value")):
        for j in np.flatnonzero(bad.any(axis=0)).tolist():
            rows = np.flatnonzero(bad[:, j])
            more = "" if len(rows) == 1 else f" and {counted(len(rows) - 1, 'other')}"
            way = Way("leave it out", {"drop": names[j]})
            problems.append(Problem(f"column {names[j]!r} {text} in row {rows[0] + 1}{more}.", (way,)))
    return problems


def _blank_category(column: pd.Series) -> Problem:
    where = int(column.isna().to_numpy().argmax()) + 1
    return Problem(f"column {column.name!r} has no value in row {where}: fill it in, since --one-hot needs it.")


def _text(column: pd.Series, *, ids: bool) -> Problem | None:
    """Return what is in the way of reading a column as numbers, None if nothing is."""
    import pandas as pd

    kind, name = column.dtype, str(column.name)
    if pd.api.types.is_bool_dtype(kind) or (pd.api.types.is_numeric_dtype(kind) and kind.kind != "c"):
        return None
    text = (pd.to_numeric(column.astype(object), errors="coerce").isna() & column.notna()).to_numpy()
    where = int(text.argmax())
    said = f"column {name!r} holds {shown(column.iloc[where])} in row {where + 1}, which is no number."
    category = Way("it is a category", {"one_hot": name})
    naming, leaving = Way("it names the samples", {"id": name}), Way("leave it out", {"drop": name})
    known = column.dropna().astype(str)
    different = known.nunique()
    if different == len(column):
        return Problem(said, (leaving, category, naming) if ids else (naming, category, leaving))
    if different <= max(_FEW, len(column) // 10) and len(known) == len(column) and text.mean() > 0.5:
        return Problem(said, (category, naming, leaving))
    return Problem(said, (leaving, category, naming))
