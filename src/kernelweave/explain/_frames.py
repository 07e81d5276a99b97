"""Data frames: results as those of pandas, which is an optional package, and columns of any kind of table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave.errors import MissingPackageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame", "need_pandas", "plain_lists", "some_columns"]


def need_pandas() -> Any:
    """Return the module pandas, or name the extra to install."""
    try:
        import pandas as pd
    except ImportError as error:
        msg = 'A data frame needs the package pandas, which is not installed: run pip install "kernelweave[cli]".'
        raise MissingPackageError(msg) from error
    return pd


def frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a data frame; the columns are those of the rows if there are any."""
    pd = need_pandas()
    return pd.DataFrame(list(rows), columns=list(rows[0]) if rows else list(columns))


def plain_lists(values: NDArray[np.float64]) -> list[Any]:
    """Return an array as lists, None for NaN, which JSON does not have."""
    cells = values.astype(object)
    cells[np.isnan(values)] = None
    found: list[Any] = cells.tolist()
    return found


def some_columns(table: Any, at: NDArray[np.intp]) -> Any:
    """Return some columns of a table of any type."""
    if hasattr(table, "iloc"):
        try:
            return table.iloc[:, at]
        except ValueError:  # pandas moves columns of the other byte order one by one only
            return need_pandas().concat([table.iloc[:, j] for j in at], axis=1)
    if sparse.issparse(table):
        return sparse.csr_array(table)[:, at]
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    return nw.to_native(frame[:, at.tolist()]) if isinstance(frame, nw.DataFrame) else table[:, at]
