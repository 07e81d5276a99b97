"""The columns of one table that the parameter `views` names for each view."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelweave._plural import counted
from kernelweave._types import Array, Mask
from kernelweave.errors import InvalidInputError
from kernelweave.samples.table import counts_rows

__all__ = ["ColumnsLike", "view_columns", "view_parts"]

ColumnsLike: TypeAlias = slice | ArrayLike  # columns of one table: a slice, positions, names or a mask


def view_parts(
    columns: object,
    n_columns: int,
    names: Array | None,
    take: Callable[[NDArray[np.intp]], Any],
    *,
    texts: Sequence[str] | None,
) -> dict[str, Any]:
    """Return the columns of each view in one table by the parameter `views`; `take` returns some columns.

    `names` and `texts` are those of `view_columns`.
    """
    if not isinstance(columns, Mapping) or not columns:
        msg = f"views must be a dict of names and columns, such as {{'words': slice(0, 100)}}; got {columns!r}."
        raise InvalidInputError(msg)
    parts = {str(name): take(view_columns(name, spec, n_columns, names, texts=texts)) for name, spec in columns.items()}
    if len(parts) < len(columns):
        msg = f"The names of views must differ; got {', '.join(map(repr, columns))}."
        raise InvalidInputError(msg)
    return parts


def view_columns(
    view: str, spec: Any, n_columns: int, names: Array | None, *, texts: Sequence[str] | None
) -> NDArray[np.intp]:
    """Return the positions of a view's columns, from a slice, positions, names or a mask.

    `names` are those of the columns of X, None unless all are texts; `texts` are their names as texts, whatever they
    are, None if X has none.
    """
    if isinstance(spec, slice):
        where = np.arange(n_columns)[spec] if _whole(spec) else np.empty(0, dtype=np.intp)
        return _some(view, spec, where)
    wanted = _listed(view, spec)
    if wanted.size == 0:
        return _some(view, spec, np.empty(0, dtype=np.intp))
    if wanted.dtype == bool:
        if wanted.shape != (n_columns,):
            msg = f"views[{view!r}] is a mask of shape {wanted.shape}, but X has {counted(n_columns, 'column')}."
            raise InvalidInputError(msg)
        return _some(view, spec, np.flatnonzero(_mask_in_order(view, spec, wanted, texts)))
    if wanted.dtype.kind in "iu":
        wrong = wanted[(wanted < -n_columns) | (wanted >= n_columns)]
        if len(wrong):
            msg = f"views[{view!r}] asks for column {wrong[0]}, but X has {counted(n_columns, 'column')}."
            raise InvalidInputError(msg)
        return _some(view, spec, _once(view, np.where(wanted < 0, wanted + n_columns, wanted), names))
    return _some(view, spec, _once(view, _named_columns(view, spec, wanted, names), names))


def _listed(view: str, spec: Any) -> Array:
    """Return columns, or a mask of them, as an array of one dimension."""
    try:
        wanted = np.atleast_1d(np.asarray(spec))
    except ValueError:  # lists of several lengths
        wanted = np.empty((0, 0))
    if wanted.ndim != 1 or (wanted.dtype == object and not all(isinstance(one, Hashable) for one in wanted)):
        msg = f"views[{view!r}] must be a slice, one column, a list of columns or a mask; got {spec!r}."
        raise InvalidInputError(msg)
    return wanted


def _mask_in_order(view: str, spec: Any, mask: Mask, texts: Sequence[str] | None) -> Mask:
    """Return a mask in the order of the columns: a Series of pandas is aligned by its index, unless it only counts."""
    index = getattr(spec, "index", None) if hasattr(spec, "reindex") else None
    if index is None or counts_rows(index):
        return mask
    names = list(map(str, range(len(mask)) if texts is None else texts))
    place = {str(name): i for i, name in enumerate(index)}
    if len(place) == len(index) and place.keys() == set(names):
        return mask[[place[name] for name in names]]
    if texts is None:  # an array made of the table whose columns the index names
        return mask
    msg = (
        f"views[{view!r}] is a mask whose index does not hold every column of X once: make it of X.columns, or pass "
        "its values, in the order of the columns."
    )
    raise InvalidInputError(msg)


def _named_columns(view: str, spec: Any, wanted: Array, names: Array | None) -> NDArray[np.intp]:
    if names is None:
        msg = (
            f"views[{view!r}] names columns, but X has no texts as names of columns: pass a data frame that has, or "
            f"give positions; got {spec!r}."
        )
        raise InvalidInputError(msg)
    place = {name: i for i, name in enumerate(names)}
    unknown = [name for name in wanted.tolist() if name not in place]
    if unknown:
        msg = f"views[{view!r}] asks for the column {unknown[0]!r}, which X does not have."
        raise InvalidInputError(msg)
    return np.array([place[name] for name in wanted.tolist()], dtype=np.intp)


def _once(view: str, where: NDArray[np.intp], names: Array | None) -> NDArray[np.intp]:
    """Refuse columns that a view would count twice."""
    found, counts = np.unique(where, return_counts=True)
    if len(found) < len(where):
        twice = found[counts > 1][0]
        column = int(twice) if names is None else names[twice]
        msg = f"views[{view!r}] takes the column {column!r} more than once: name every column of a view once."
        raise InvalidInputError(msg)
    return where


def _whole(spec: slice) -> bool:
    return all(part is None or isinstance(part, int | np.integer) for part in (spec.start, spec.stop, spec.step))


def _some(view: str, spec: Any, where: NDArray[np.intp]) -> NDArray[np.intp]:
    if len(where) == 0:
        msg = f"views[{view!r}] = {spec!r} takes no column of X."
        raise InvalidInputError(msg)
    return where
