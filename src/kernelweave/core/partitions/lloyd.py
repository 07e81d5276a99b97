"""k-means of several tables of the same samples at once (see the package): E tables X (E, n, p), R starts for each.

A run is one start of one table. All runs share each step, since a step of one small table is mostly overhead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.partitions.assignment import own_distances, refilled

__all__ = ["table_partitions"]

_CLUSTERS_PER_SET, _MOST_SETS = 3, 3  # for every three clusters a set of starts is seeded, up to three
_SETS_UP_TO = 1500  # samples of all sets together; where there are more samples, one set is seeded
_COMPARE_AFTER = 3  # iterations
_MAX_ITER = 300
_TOL = 1e-5  # of its sum of squares: a run that gains less in an iteration has converged
_TINY = 1e-12  # of ||X||²: a smaller difference counts as rounding


def table_partitions(X: Matrix, c: int, *, starts: int, rng: np.random.Generator) -> Labels:
    """z (E, n): of every table the partition with the least sum of squares Σ_i ||x_i - mean of the cluster of i||².

    With many clusters and few samples, two or three times as many starts as are wanted are seeded, and compared after a
    few iterations.
    """
    E, n, _ = X.shape
    sets = min(max(c // _CLUSTERS_PER_SET, 1), _MOST_SETS, max(_SETS_UP_TO // n, 1))
    lifted, table = _lifted(X), np.repeat(np.arange(E), sets * starts)
    C = _seeded(lifted, table, c, rng)
    if sets > 1:
        _, cost, C = _descended(lifted, table, C, _COMPARE_AFTER)
        best = np.argsort(cost.reshape(E, -1), axis=1, kind="stable")[:, :starts]
        C = C[(best + sets * starts * np.arange(E)[:, None]).ravel()]
    z, cost, _ = _descended(lifted, np.repeat(np.arange(E), starts), C, _MAX_ITER)
    return np.asarray(z.reshape(E, starts, n)[np.arange(E), cost.reshape(E, starts).argmin(axis=1)])


def _lifted(X: Matrix) -> Matrix:
    """The rows (x, ||x||², 1), whose products with (-2C, 1, ||C||²) are squared distances."""
    return np.concatenate([X, np.einsum("eip,eip->ei", X, X)[..., None], np.ones((*X.shape[:2], 1))], axis=2)


def _seeded(lifted: Matrix, table: NDArray[np.intp], c: int, rng: np.random.Generator) -> Matrix:
    """C (runs, c, p) by greedy k-means++: of several samples drawn with probability ∝ D, that which lowers ΣD most."""
    n, X = lifted.shape[1], lifted[..., :-2]
    runs, draws = np.arange(len(table)), 2 + int(np.log(c))
    C = np.empty((len(runs), c, X.shape[2]))
    C[:, 0] = X[table, rng.integers(n, size=len(runs))]
    least = np.maximum(_to_centres(lifted, table, C[:, :1])[:, 0], 0)
    for k in range(1, c):
        sums = least.cumsum(axis=1)
        share = sums / np.where(sums[:, -1:] > 0, sums[:, -1:], 1) + runs[:, None]  # ascending over all runs
        found = np.searchsorted(share.ravel(), (rng.random((len(runs), draws)) + runs[:, None]).ravel(), side="right")
        drawn = np.clip(found.reshape(-1, draws) - n * runs[:, None], 0, n - 1)
        tried = X[table[:, None], drawn]
        left = np.clip(_to_centres(lifted, table, tried), 0, least[:, None])
        best = left.sum(axis=2).argmin(axis=1)
        C[:, k], least = tried[runs, best], left[runs, best]
    return C


def _to_centres(lifted: Matrix, table: NDArray[np.intp], C: Matrix) -> Matrix:
    """D (runs, k, n), the squared distances of all samples to the centres C (runs, k, p) of each run, up to rounding.

    Runs of the same table must be next to each other.
    """
    runs, k, p = C.shape
    centres = np.concatenate([-2 * C, np.ones((runs, k, 1)), np.einsum("rkp,rkp->rk", C, C)[..., None]], axis=2)
    D = np.empty((runs, k, lifted.shape[1]))
    for e in np.unique(table):
        first, last = np.searchsorted(table, [e, e + 1])
        np.matmul(centres[first:last].reshape(-1, p + 2), lifted[e].T, out=D[first:last].reshape(-1, D.shape[2]))
    return D


def _descended(lifted: Matrix, table: NDArray[np.intp], C: Matrix, max_iter: int) -> tuple[Labels, Vector, Matrix]:
    """Return z (runs, n) after k-means steps from the centres C, its sums of squares, and its centres."""
    c, X = C.shape[1], lifted[..., :-2]
    tiny = _TINY * lifted[..., -2].sum(axis=1)[table]
    D = _to_centres(lifted, table, C)
    z: Labels = D.argmin(axis=1)
    z = refilled(z, own_distances(D, z), c, tiny)
    sums, sizes = _all_sums(X, table, z, c)
    cost, running = np.full(len(z), np.inf), np.arange(len(z))
    for _ in range(max_iter):
        where = (running[:, None] * c + np.arange(c)).ravel()
        means = (sums[where] / sizes[where, None]).reshape(len(running), c, -1)
        D = _to_centres(lifted, table[running], means)
        d = own_distances(D, z[running])
        total = d.sum(axis=1)
        going = cost[running] - total > _TOL * total
        cost[running] = total
        r, i = np.nonzero((d - D.min(axis=1) > tiny[running, None]) & going[:, None])
        new, run = D[r, :, i].argmin(axis=1), running[r]
        for to, sign in ((new, 1), (z[run, i], -1)):
            grown, more = _sums(X[table[run], i], run * c + to, len(sizes))
            sums += sign * grown
            sizes += sign * more
        z[run, i] = new
        if not sizes.all():
            z[running] = refilled(z[running], own_distances(D, z[running]), c, tiny[running])
            sums, sizes = _all_sums(X, table, z, c)
        running = np.unique(run)
        if not len(running):
            break
    return z, cost, (sums / sizes[:, None]).reshape(C.shape)


def _all_sums(X: Matrix, table: NDArray[np.intp], z: Labels, c: int) -> tuple[Matrix, Labels]:
    """Return the sum (runs · c, p) and the size of every cluster of every run."""
    r, i = np.divmod(np.arange(z.size), z.shape[1])
    return _sums(X[table[r], i], r * c + z.ravel(), len(z) * c)


def _sums(rows: Matrix, cluster: Labels, count: int) -> tuple[Matrix, Labels]:
    """Return the sum (count, p) of the rows of every cluster, and their number."""
    p = rows.shape[1]
    place = (cluster[:, None] * p + np.arange(p)).ravel()
    sums = np.bincount(place, weights=rows.ravel(), minlength=count * p)
    return np.asarray(sums, dtype=np.float64).reshape(count, p), np.bincount(cluster, minlength=count)
