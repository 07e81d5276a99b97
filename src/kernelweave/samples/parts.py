"""One chunk of samples: how it is read and checked, with errors that name it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kernelweave._types import Samples, Table
from kernelweave.errors import DataUnavailableError, InvalidInputError
from kernelweave.samples.numbers import as_samples

__all__ = ["Part", "as_rows", "read"]


@dataclass(frozen=True, slots=True)
class Part:
    """The name of a chunk, and the function and arguments that return its rows; it can be sent to a worker."""

    name: str
    load: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    checked: bool = False  # whether its rows are known to be finite floats of one width


def read(part: Part, width: int | None) -> Samples:
    """Return the rows of a chunk as finite floats, dense or CSR; an error names the chunk."""
    if part.checked:
        return part.load(*part.arguments)
    try:
        rows = part.load(*part.arguments)
    except InvalidInputError:
        raise
    except Exception as error:  # the errors of pyarrow and zarr have no common base
        msg = f"{part.name} could not be read ({type(error).__name__}: {error}). Repair it or leave it out."
        raise DataUnavailableError(msg) from error
    return as_rows(rows, part.name, width)


def as_rows(rows: Table, name: str, width: int | None) -> Samples:
    """Return the rows as finite floats, checked to have `width` columns."""
    try:
        found = as_samples(rows.to_numpy() if hasattr(rows, "to_numpy") else rows)
    except InvalidInputError as error:
        msg = f"{name}: {error}"
        raise InvalidInputError(msg) from error
    if found.shape[0] == 0:
        msg = f"{name} is empty: its shape is {found.shape}. Leave out chunks without rows."
        raise InvalidInputError(msg)
    if width is not None and found.shape[1] != width:
        msg = f"{name} has {found.shape[1]} columns, but those before it have {width}: all must have the same."
        raise InvalidInputError(msg)
    values = found.data if sparse.issparse(found) else found
    if not np.isfinite(values).all():
        msg = f"{name} holds {_where_not_finite(found)}. Impute or drop them first."
        raise InvalidInputError(msg)
    return found


def _where_not_finite(rows: Any) -> str:
    table = sparse.coo_array(rows) if sparse.issparse(rows) else None
    if table is None:
        bad = np.argwhere(~np.isfinite(rows))
    else:
        bad = np.argwhere(~np.isfinite(table.data))
        bad = np.column_stack([table.coords[0][bad[:, 0]], table.coords[1][bad[:, 0]]])
    return f"{len(bad)} NaN or infinite value(s), the first in its row {bad[0][0]}, column {bad[0][1]}"
