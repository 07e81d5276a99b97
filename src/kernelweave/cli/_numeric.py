"""Conversion of a table to numbers; an entry that is not a number is reported by its column and row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Mask
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fitted_columns", "match_columns", "need_column", "numbers", "sample_ids", "text_of"]


def sample_ids(column: pd.Series, source: str) -> list[str]:
    """Return the names of the samples: the entries of a column, which must be unique."""
    name = column.name
    texts = column.map(text_of)
    missing = column.isna() | (texts == "")
    if missing.any():
        msg = f"{source}: the id in column {name!r} is missing in row {_first(missing)}: give every sample one."
        raise InvalidInputError(msg)
    if texts.duplicated().any():
        where = _first(texts.duplicated())
        msg = (
            f"{source}: the id {texts.iloc[where - 1]!r} in column {name!r} is not unique (row {where} repeats it): "
            "give every sample its own."
        )
        raise InvalidInputError(msg)
    return list(texts)


def text_of(value: object) -> str:
    """Return an entry as text; a float that is a whole number (pandas casts integers next to NaN) has no ".0"."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def need_column(columns: Sequence[str], column: str, source: str) -> str:
    """Return the name of a column; raise if the table has no such column."""
    if column not in columns:
        known = ", ".join(map(repr, columns[:12])) + (" ..." if len(columns) > 12 else "")
        msg = f"{source} has no column {column!r}; it has {known}."
        raise InvalidInputError(msg)
    return column


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
    table: pd.DataFrame, source: str, *, one_hot: Sequence[str] = (), gaps: bool = False, alike: bool = False
) -> pd.DataFrame:
    """Return the table as finite numbers.

    With `gaps`, a row may be missing as a whole: the sample has no data in this view. With `alike`, all rows may be
    equal.
    """
    import pandas as pd

    table = _encoded(table, source, one_hot)
    if table.columns.empty:
        msg = f"{source} has no columns of features left: drop fewer."
        raise InvalidInputError(msg)
    for column in table:
        _need_numbers(table[column], str(column), source)
    values = table.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        i, j = np.argwhere(np.isinf(values))[0]
        name = table.columns[j]
        msg = f"{source}: column {name!r} is infinite in row {i + 1}: correct it, or leave the column out with --drop."
        raise InvalidInputError(msg)
    missing = np.isnan(values)
    if gaps:
        missing &= ~missing.all(axis=1, keepdims=True)
    if missing.any():
        _refuse_missing(missing, table, source)
    if not alike and len(values) > 1 and (values == values[0]).all():
        msg = f"{source}: all {len(values)} rows are the same: pass samples that differ in some feature."
        raise InvalidInputError(msg)
    return pd.DataFrame(values, columns=table.columns, index=table.index)


def _encoded(table: pd.DataFrame, source: str, one_hot: Sequence[str]) -> pd.DataFrame:
    """Return the table with those of its columns that are in `one_hot` encoded as 0 and 1."""
    import pandas as pd

    chosen = [column for column in one_hot if column in table]
    for column in chosen:
        if table[column].isna().any():
            where = _first(table[column].isna())
            msg = f"{source}: column {column!r} has no value in row {where}: fill it in, since --one-hot needs it."
            raise InvalidInputError(msg)
    return pd.get_dummies(table, columns=chosen, dtype=float) if chosen else table


def _refuse_missing(missing: Mask, table: pd.DataFrame, source: str) -> None:
    i, j = np.argwhere(missing)[0]
    total = int(missing.sum())
    msg = (
        f"{source}: column {table.columns[j]!r} has no value in row {i + 1} "
        f"({counted(total, 'value')} {'is' if total == 1 else 'are'} missing in total): fill in what is missing, or "
        "leave the column out with --drop."
    )
    raise InvalidInputError(msg)


def _need_numbers(column: pd.Series, name: str, source: str) -> None:
    import pandas as pd

    kind = column.dtype
    if pd.api.types.is_bool_dtype(kind) or (pd.api.types.is_numeric_dtype(kind) and kind.kind != "c"):
        return
    text = pd.to_numeric(column.astype(object), errors="coerce").isna() & column.notna()
    where = _first(text) if text.any() else 1
    msg = (
        f"{source}: column {name!r} holds {str(column.iloc[where - 1])[:40]!r} in row {where}, which is no number. If "
        f"it names the samples, pass --id {name}; if it is a category, --one-hot {name}; else leave it out: "
        f"--drop {name}."
    )
    raise InvalidInputError(msg)


def _first(mask: pd.Series) -> int:
    """Return the number of the first row that is True, counted from 1 below the header."""
    return int(np.flatnonzero(mask.to_numpy())[0]) + 1
