"""Samples of few columns, whose density tells the number of their clusters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from scipy import sparse

from kernelweave._types import Labels, Matrix
from kernelweave.samples.scaling import Scaling
from kernelweave.samples.views import Views

__all__ = ["few_columns_of"]

_COLUMNS = range(1, 10)  # in many, the distances to neighbours say little about density
_NUMBERS = frozenset({"table", "numbers"})  # kinds of views with distances between rows


def few_columns_of(
    samples: Views | None, scalings: Mapping[str, Scaling], order: Labels | None = None
) -> Matrix | None:
    """Return one table of the samples, or None if it could not show their density.

    The scaled views are put side by side: one to nine columns together, without gaps and categories. Z-scores are not
    cut off, since samples would lie dense where they are. `order` is that of the samples in the graph, if another.
    """
    if samples is None or not samples.complete or not _NUMBERS.issuperset(samples.kinds):
        return None
    if sum(samples.widths) not in _COLUMNS:
        return None
    ordered = samples if order is None else samples.select(order)
    whole = ordered.map({name: partial(one.transform, clipped=False) for name, one in scalings.items()})
    tables = [X.toarray() if sparse.issparse(X) else X for X in whole.tables]
    return np.hstack(tables).astype(np.float64)
