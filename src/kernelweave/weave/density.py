"""How dense samples of few columns lie, by which the number of their clusters is told."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from scipy import sparse

from kernelweave._types import Labels
from kernelweave.core.partitions.valleys import Relief, relief
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import Scaling
from kernelweave.samples.views import Views

__all__ = ["density_of"]

_COLUMNS = range(2, 10)  # in one, neighbours often lie on one side; in many, their distances say little about density
_NUMBERS = frozenset({"table", "numbers"})  # kinds of views with distances between rows


def density_of(
    samples: Views | KernelStack, scalings: Mapping[str, Scaling], order: Labels | None = None
) -> Relief | None:
    """Return the density at every sample, or None if the samples do not allow to measure it.

    The scaled views are put side by side: two to nine columns together, without gaps and categories. Z-scores are not
    cut off, since samples would lie dense where they are. `order` is that of the samples in the graph, if another.
    """
    if isinstance(samples, KernelStack) or not samples.complete or not _NUMBERS.issuperset(samples.kinds):
        return None
    if sum(samples.widths) not in _COLUMNS:
        return None
    ordered = samples if order is None else samples.select(order)
    whole = ordered.map({name: partial(one.transform, clipped=False) for name, one in scalings.items()})
    tables = [X.toarray() if sparse.issparse(X) else X for X in whole.tables]
    return relief(np.hstack(tables).astype(np.float64))
