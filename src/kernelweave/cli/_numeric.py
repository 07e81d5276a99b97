"""From a table as it was read to numbers: every entry that is none is refused by its column and row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["need_column", "numbers", "sample_ids", "text_of"]


def sample_ids(table: pd.DataFrame, column: str | None, source: str) -> list[str]:
    """Return what the samples are called: the entries of a column, all different, or their rows counted from 1."""
    if column is None:
        return [str(i + 1) for i in range(len(table))]
    ids = table[need_column(table, column, source)]
    if ids.isna().any():
        msg = f"{source}: the id in column {column!r} is missing in row {_first(ids.isna())}: give every sample one."
        raise InvalidInputError(msg)
    texts = ids.map(text_of)
    if texts.duplicated().any():
        where = _first(texts.duplicated())
        msg = (
            f"{source}: the id {texts.iloc[where - 1]!r} in column {column!r} stands for more than one sample (row "
            f"{where} again): give every sample its own."
        )
        raise InvalidInputError(msg)
    return texts.tolist()


def text_of(value: object) -> str:
    """Return an entry as text; a whole number that a missing neighbour made a float is whole again."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def need_column(table: pd.DataFrame, column: str, source: str) -> str:
    """Return the name of a column that is there."""
    if column not in table:
        known = ", ".join(map(repr, table.columns[:12])) + (" ..." if len(table.columns) > 12 else "")
        msg = f"{source} has no column {column!r}; it has {known}."
        raise InvalidInputError(msg)
    return column


def numbers(
    table: pd.DataFrame, source: str, *, one_hot: Sequence[str] = (), gaps: bool = False, alike: bool = False
) -> pd.DataFrame:
    """Return the table as finite numbers.

    `gaps` lets a row be missing as a whole, which is a sample without this view; `alike` lets all rows be the same.
    """
    import pandas as pd

    for column in one_hot:
        if column in table and table[column].isna().any():
            where = _first(table[column].isna())
            msg = f"{source}: column {column!r} has no value in row {where}: fill it in, since --one-hot needs it."
            raise InvalidInputError(msg)
    chosen = [column for column in one_hot if column in table]
    table = pd.get_dummies(table, columns=chosen, dtype=float) if chosen else table
    if table.columns.empty:
        msg = f"{source} has no columns of features left."
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
        i, j = np.argwhere(missing)[0]
        msg = (
            f"{source}: column {table.columns[j]!r} has no value in row {i + 1} ({missing.sum()} values are missing in "
            "all): fill them in, or leave the column out with --drop."
        )
        raise InvalidInputError(msg)
    if not alike and len(values) > 1 and (values == values[0]).all():
        msg = f"{source}: all {len(values)} rows are the same, so there is nothing to tell samples apart by."
        raise InvalidInputError(msg)
    return pd.DataFrame(values, columns=table.columns, index=table.index)


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
    """Return the first row that is marked, counted from 1 below the header."""
    return int(np.flatnonzero(mask.to_numpy())[0]) + 1
