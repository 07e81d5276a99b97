"""The columns of a table of numbers by name, so that new tables may have them in another order."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelweave._plural import counted
from kernelweave.errors import ColumnsWarning, InvalidInputError
from kernelweave.samples.table import Table, as_narwhals, is_frame, read_table

__all__ = ["NamedColumns", "fitted_places", "in_fitted_order"]


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """How a table of numbers was read: the names of its columns in order, None for a table without names.

    Parameters
    ----------
    names : tuple of str or None
        The names.
    """

    kind: ClassVar[str] = "table"

    names: tuple[str, ...] | None

    def read(self, thing: Any, view: str) -> dict[str, Table]:
        """Return a new table with its columns in the order of `fit`; columns that `fit` did not see are dropped."""
        if self.names is not None and is_frame(thing):
            thing = in_fitted_order(self.names, thing, view)
        return {"": self.aligned(read_table(thing, view), view)}

    def aligned(self, table: Table, view: str) -> Table:
        """Return a table that was read already with its columns in the order of `fit`."""
        if self.names is None or table.columns is None:
            return table
        places = fitted_places(self.names, table.columns, view)
        return table if places is None else Table(table.values[:, places], table.index, self.names, table.kind)


def in_fitted_order(names: Sequence[str], thing: Any, view: str) -> Any:
    """Return a data frame with the columns of `fit` in their order; as it is if it is not in memory."""
    frame = as_narwhals(thing)
    if frame is None:
        return thing
    places = fitted_places(names, tuple(map(str, frame.columns)), view)
    if places is None:
        return thing
    try:
        return frame[:, places.tolist()].to_native()
    except ValueError:  # pandas moves columns of the other byte order one by one only
        return frame.select(*(frame[frame.columns[place]] for place in places)).to_native()


def fitted_places(names: Sequence[str], given: Sequence[str], view: str) -> NDArray[np.intp] | None:
    """Return the positions of the columns of `fit` among those given, None if they are the same in the same order.

    Columns that are absent are an error; others than those of `fit` are dropped with a warning.
    """
    if tuple(given) == tuple(names):
        return None
    place = {name: i for i, name in enumerate(given)}
    absent = [name for name in names if name not in place]
    if absent:
        msg = (
            f"View {view!r} lacks {counted(len(absent), 'column')} that the model was fitted on: {_shown(absent)}. Add "
            'them; kernels="mixed" reads columns that are absent as missing cells.'
        )
        raise InvalidInputError(msg)
    known = set(names)
    extra = [name for name in given if name not in known]
    if extra:
        msg = f"{counted(len(extra), 'column')} of view {view!r} not seen in fit, and not used: {_shown(extra)}."
        warnings.warn(msg, ColumnsWarning, stacklevel=2)
    return np.array([place[name] for name in names], dtype=np.intp)


def _shown(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
