"""k-means from several starts, each until no move of a single sample lowers the sum of squares (see the package)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.partitions.kmeans import (
    best_start,
    cluster_means,
    lift,
    nearer,
    own_distances,
    refilled,
    seeded,
    to_centres,
)

__all__ = ["best_partition", "crossed", "descend", "sum_of_squares"]

_STARTS = (3, 8)  # the minimum and maximum number of starts for each run that is continued to convergence
_TOGETHER = 10  # runs in one matrix product
_CROSSINGS = 3  # at most
_EFFORT = 1.5e6  # divided by nc², the cost of an iteration: the number of starts and of crossings, within their limits
_COMPARE_AFTER = 3  # iterations of every start; only the best are continued
_TINY = 1e-12  # of ||X||²: a smaller difference counts as rounding


def best_partition(X: Matrix, c: int, *, n_init: int, rng: np.random.RandomState) -> NDArray[np.int32]:
    """min Σ_i ||x_i - mean of the cluster of i||² as the best of `n_init` runs, each from the best of some starts.

    If iterations are cheap, the partitions found are then crossed, which combines good parts of two of them (Gribel and
    Vidal 2019).
    """
    X = X.astype(np.float64, copy=False)
    tables = lift(X[None])
    generator = np.random.default_rng(rng.randint(np.iinfo(np.int32).max))
    times = int(_EFFORT / (len(X) * c**2))
    fewest, most = _STARTS
    z, cost = np.empty((0, len(X)), dtype=np.intp), np.empty(0)
    for done in range(0, n_init, _TOGETHER):  # some at a time, so that memory does not grow
        runs = min(_TOGETHER, n_init - done)
        table = np.zeros(runs * min(max(times, fewest), most), dtype=np.intp)
        starts = to_centres(tables, seeded(tables, table, c, generator)).argmin(axis=1)
        begun, costs = descend(X, starts, c, max_iter=_COMPARE_AFTER)
        ended, costs = descend(X, begun[np.argsort(costs, kind="stable")[:runs]], c)
        z, cost = np.vstack([z, ended]), np.append(cost, costs)
    for _ in range(min(times, _CROSSINGS)):
        _, different = np.unique(np.round(cost / (cost.min() or 1), 9), return_index=True)
        z, cost = z[different[:n_init]], cost[different[:n_init]]
        if len(z) == 1:
            break
        born = crossed(cluster_means(X, z, c)[0], min(n_init, _TOGETHER), generator)
        crossings, costs = descend(X, to_centres(tables, born).argmin(axis=1), c)
        z, cost = np.vstack([z, crossings]), np.append(cost, costs)
    return np.asarray(z[best_start(cost, _TINY * float(np.vdot(X, X)))], dtype=np.int32)


def crossed(C: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """Return `count` new sets of centres: two of the R given are matched, and one of each pair is drawn at random."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    born = np.empty((count, *C.shape[1:]))
    for child in born:
        first, second = C[rng.choice(len(C), 2, replace=False)]
        _, match = linear_sum_assignment(cdist(first, second, "sqeuclidean"))
        child[:] = np.where(rng.random(len(first))[:, None] < 0.5, first, second[match])
    return born


def descend(X: Matrix, z: Labels, c: int, *, max_iter: int = 1000) -> tuple[Labels, Vector]:
    """Return z at a local minimum and its sum of squares: k-means steps, then moves of single samples.

    Moving a sample from its cluster of size s at distance a into one of size t at distance b lowers the sum of squares
    if a² s/(s - 1) > b² t/(t + 1) (Hartigan 1975). k-means alone requires a > b, and stops at many partitions that such
    moves still improve.
    """
    z, cost, running = z.copy(), np.full(len(z), np.inf), np.arange(len(z))
    tables, tiny = lift(X[None]), _TINY * float(np.vdot(X, X))
    for _ in range(max_iter):
        now = z[running]
        C, sizes = cluster_means(X, now, c)
        D = to_centres(tables, C)
        d = own_distances(D, now)
        if not sizes.all():
            z[running] = refilled(now, d, c, tiny)
            continue
        cost[running] = d.sum(axis=1)
        new = nearer(D, now, d, tiny)
        for r in np.flatnonzero((new == now).all(axis=1)):
            new[r] = _single_moves(D[r], now[r], sizes[r], tiny)
        z[running] = new
        running = running[(new != now).any(axis=1)]
        if not len(running):
            break
    return z, cost


def _single_moves(D: Matrix, z: Labels, sizes: Labels, tiny: float) -> Labels:
    """z (n,) of one start with D (c, n), after the most profitable moves: at most one from or into each cluster."""
    i = np.arange(len(z))
    leaving = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 0)
    price = D * (sizes / (sizes + 1))[:, None]
    price[z, i] = np.inf
    to = price.argmin(axis=0)
    gain = D[z, i] * leaving[z] - price[to, i]
    paying = np.flatnonzero(gain > tiny)
    z, free = z.copy(), np.ones(len(sizes), dtype=bool)
    for j in paying[np.argsort(-gain[paying], kind="stable")]:
        if free[z[j]] and free[to[j]]:  # moves change the means of both clusters, and so the gains of other moves
            free[z[j]] = free[to[j]] = False
            z[j] = to[j]
    return z


def sum_of_squares(X: Matrix, z: Labels) -> float:
    """Σ_i ||x_i - mean of the cluster of i||²."""
    C, _ = cluster_means(X, z[None], int(z.max()) + 1)
    E = X - C[0][z]
    return float(np.vdot(E, E))
