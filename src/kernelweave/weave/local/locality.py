"""An order of many samples in which neighbours are close in memory, so that what reads them is faster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Matrix, Samples, Vector

__all__ = ["near_order"]

_LEAF = 1000  # samples that are not divided further: their rows fit in the processor's cache
_SEEN = 500  # samples from which a direction is computed
_STEPS = 5  # of the power method; the direction need not be accurate


def near_order(X: Samples) -> NDArray[np.intp]:
    """Return the rows of X in an order in which most neighbours are near each other.

    The samples are divided at the median of the direction in which they differ most, and each half again, down to a
    thousand samples.
    """
    parts, waiting = [], [np.arange(X.shape[0])]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= _LEAF:
            parts.append(rows)
            continue
        part = X[rows]
        half = len(rows) // 2
        order = np.argpartition(np.asarray(part @ _direction(part)), half)
        waiting += [rows[order[half:]], rows[order[:half]]]
    return np.concatenate(parts)


def _direction(X: Samples) -> Vector:
    """Return about the direction in which the samples differ most, by the power method on some of them."""
    some = X[:: max(1, X.shape[0] // _SEEN)]
    mean = np.asarray(some.mean(axis=0)).ravel()
    v: Matrix = np.ones(X.shape[1], dtype=X.dtype)
    for _ in range(_STEPS):
        scores = some @ v - mean @ v
        v = some.T @ scores - mean * scores.sum()
        v = v / (np.linalg.norm(v) or 1)
    return np.asarray(v)
