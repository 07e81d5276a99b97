"""The projection on the simplex, for every column of a matrix at once."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Mask, Matrix

__all__ = ["project_simplex"]


def project_simplex(V: Matrix, *, free: Mask | None = None) -> Matrix:
    """Return Π(V), the nearest matrix with columns >= 0 that sum to 1: max(v - θ, 0) in every column v.

    `free`, of the shape of V, tells which entries may be positive (every column needs one); the others are 0.
    """
    v = V if free is None else np.where(free, V, -np.inf)
    # Π(v + a) = Π(v): with the largest entry at 0 the sums below lose no digits to a common offset.
    v = v - v.max(axis=0)
    u = np.sort(v, axis=0)[::-1]
    excess = np.cumsum(u, axis=0, dtype=np.float64) - 1
    rank = np.arange(1, len(v) + 1)[:, None]
    support = np.count_nonzero(u * rank > excess, axis=0)
    theta = np.take_along_axis(excess, support[None] - 1, axis=0) / support
    return np.asarray(np.maximum(v - theta.astype(v.dtype), 0))
