"""Steps that every k-means shares: assign samples to centres, fill empty clusters, choose the best start."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Labels, Matrix, Vector

__all__ = ["best_start", "nearer", "nearest", "own_distances", "random_labels", "reassigned", "refilled", "rounding"]

_UNITS = 64  # in the last place: the error of a distance, a difference of three terms of which two are long sums


def rounding(size: float, dtype: DTypeLike) -> float:
    """Return the largest difference that counts as rounding between results computed from numbers of this size."""
    return _UNITS * float(np.finfo(dtype).eps) * size


def own_distances(D: Matrix, z: Labels) -> Matrix:
    """d_ri = D_rki with k = z_ri."""
    runs, c, n = D.shape
    return np.asarray(D.ravel()[(np.arange(runs)[:, None] * c + z) * n + np.arange(n)])  # faster than take_along_axis


def nearest(D: Matrix, slack: float) -> Labels:
    """z_ri = argmin_k D_rki, the first of those within `slack` of the least; no cluster is empty."""
    z = (D.min(axis=1, keepdims=True) + slack >= D).argmax(axis=1)  # the first of them
    return refilled(z, own_distances(D, z), D.shape[1], slack)


def nearer(D: Matrix, z: Labels, d: Matrix, slack: float | Vector) -> Labels:
    """z_ri = argmin_k D_rki where the minimum is less than d_ri by more than `slack`; otherwise z_ri does not change.

    A slack (one, or one per start) of the size of rounding keeps samples between two centres from alternating.
    """
    slack = np.broadcast_to(slack, len(D))
    least = D.min(axis=1)
    r, i = np.nonzero(d - least > slack[:, None])
    z = z.copy()
    z[r, i] = (D[r, :, i] <= (least[r, i] + slack[r])[:, None]).argmax(axis=1)
    return z


def reassigned(D: Matrix, z: Labels, slack: float | Vector) -> Labels:
    """z after every sample moved to a nearer centre, if there is one, and empty clusters were filled."""
    z = nearer(D, z, own_distances(D, z), slack)
    return refilled(z, own_distances(D, z), D.shape[1], slack)


def refilled(z: Labels, d: Matrix, c: int, slack: float | Vector) -> Labels:
    """z with no cluster empty: each gets the first sample within `slack` of the largest d in clusters of two or more.

    That sample becomes its own centre, at distance 0, so that no objective of k-means increases.
    """
    z = z.copy()
    for labels, distances, error in zip(z, d, np.broadcast_to(slack, len(z)), strict=True):
        sizes = np.bincount(labels, minlength=c)
        for empty in np.flatnonzero(sizes == 0):
            far = np.where(sizes[labels] > 1, distances, -np.inf)
            i = (far >= far.max() - error).argmax()
            sizes[labels[i]] -= 1
            sizes[empty] = 1
            labels[i] = empty
    return z


def random_labels(n: int, c: int, starts: int, rng: np.random.Generator) -> Labels:
    """Return a random label for every start and sample; no cluster is empty."""
    return refilled(rng.integers(c, size=(starts, n)), rng.random((starts, n)), c, 0.0)


def best_start(costs: Vector, slack: float) -> int:
    """Return the first start whose cost exceeds the least one by no more than `slack`.

    Starts often end in the same partition, and the last digits of their costs depend on the machine.
    """
    return int((costs <= costs.min() + slack).argmax())
