"""The samples that a user says a view lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kernelweave._plural import counted
from kernelweave._types import Array, Mask
from kernelweave.errors import InvalidInputError
from kernelweave.samples.table import counts_rows

__all__ = ["mark_missing"]


def mark_missing(
    present: Mask,
    missing: Mapping[str, ArrayLike],
    names: tuple[str, ...],
    sources: Sequence[str],
    samples: Array | None,
) -> None:
    """Unset in `present`, in place, the samples given as missing: by a mask, positions, or names of samples.

    Each is missing from a view, or from all views of a mixed table, which `sources` names for every view.
    """
    if not isinstance(missing, Mapping):
        msg = f"missing must be a dict of views and the samples that each lacks; got {missing!r}."
        raise InvalidInputError(msg)
    for view, which in missing.items():
        lacking = [v for v, (name, source) in enumerate(zip(names, sources, strict=True)) if view in (name, source)]
        if not lacking:
            msg = f"missing names the view {view!r}, but the views are {', '.join(map(repr, names))}."
            raise InvalidInputError(msg)
        if np.size(which):  # not a list of samples that has none
            for v in lacking:
                present[v, _positions(view, which, present.shape[1], samples)] = False


def _positions(view: str, which: Any, n: int, samples: Array | None) -> NDArray[np.intp]:
    """Return the positions of the samples that are given as missing from a view."""
    given = np.asarray(which)
    if given.dtype == bool and given.shape == (n,):
        return np.flatnonzero(_in_order(view, which, samples))
    by_name = None if samples is None else _named(given, samples)
    by_place = given if given.dtype.kind in "iu" and given.ndim == 1 else None
    if by_place is not None and not ((by_place >= 0) & (by_place < n)).all():
        by_place = None
    if by_name is not None and by_place is not None and set(by_name.tolist()) != set(by_place.tolist()):
        msg = (
            f"missing[{view!r}] holds {given.tolist()[0]}, which may be the position of a sample or its name in the "
            "index: pass a mask of all samples, such as table.index.isin(...)."
        )
        raise InvalidInputError(msg)
    found = by_place if by_name is None else by_name
    if found is None:
        msg = (
            f"missing[{view!r}] must be a mask of {counted(n, 'sample')}, their positions, or their names in the "
            f"index; got {given!r}."
        )
        raise InvalidInputError(msg)
    return np.asarray(found, dtype=np.intp)


def _named(given: Array, samples: Array) -> NDArray[np.intp] | None:
    """Return the positions of named samples, None if one of the names is not theirs."""
    if (given.dtype.kind in "iuf") != (samples.dtype.kind in "iuf"):
        return None  # numpy compares numbers with texts as texts
    where = np.flatnonzero(np.isin(samples, given))
    return where if len(where) == len(np.unique(given)) else None


def _in_order(view: str, which: Any, samples: Array | None) -> Mask:
    """Return a mask in the order of the samples: a series with an index is aligned by it if the samples have one."""
    if samples is None or not hasattr(which, "reindex") or counts_rows(which.index):
        return np.asarray(which, dtype=bool)
    index = which.index
    if not index.is_unique or not index.isin(samples).all():
        msg = f"The index of missing[{view!r}] must hold every sample once, {counted(len(samples), 'sample')}."
        raise InvalidInputError(msg)
    return np.asarray(which.reindex(samples), dtype=bool)
