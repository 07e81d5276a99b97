"""Results as data frames of pandas, which is an optional package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelweave.errors import MissingPackageError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["frame", "need_pandas", "plain_lists"]


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
