"""k-means: the steps that all its forms share, and k-means of several tables of the same samples at once.

See the package for the letters. Of several tables, E tables X (E, n, p) have R starts each; a run is one start of one
table. All runs share each step, since a step of one small table is mostly overhead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from kernelweave._types import Labels, Matrix, Vector

__all__ = [
    "LiftedTables",
    "best_start",
    "cluster_means",
    "lift",
    "nearer",
    "nearest",
    "own_distances",
    "partitions",
    "random_labels",
    "reassigned",
    "refilled",
    "rounding",
    "seeded",
    "table_partitions",
    "to_centres",
]

_UNITS = 64  # in the last place: the error of a distance, a difference of three terms of which two are long sums
_CLUSTERS_PER_SET, _MOST_SETS = 3, 3  # for every three clusters a set of starts is seeded, up to three
_SETS_UP_TO = 1500  # samples of all sets together; where there are more samples, one set is seeded
_COMPARE_AFTER = 3  # iterations
_MAX_ITER = 300
_TOL = 1e-5  # of its sum of squares: a run that gains less in an iteration has converged
_TOGETHER = 1e7  # distances between samples and centres that k-means of several tables may hold at once
_TINY = 1e-12  # of ||X||²: a smaller difference counts as rounding


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


def cluster_means(X: Matrix, z: Labels, c: int) -> tuple[Matrix, Labels]:
    """C, and the sizes (R, c) of the clusters; the mean of an empty one is the origin."""
    R, n = z.shape
    where = (z + c * np.arange(R)[:, None]).T.ravel()
    member = sparse.csc_array((np.ones(n * R), where, np.arange(0, n * R + 1, R)), shape=(R * c, n))
    sizes = np.bincount(where, minlength=R * c)
    C = (member @ X) / np.maximum(sizes, 1)[:, None]
    return C.reshape(R, c, -1), sizes.reshape(R, c)


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


def partitions(
    tables: Sequence[Matrix],
    order: Sequence[NDArray[np.intp]],
    n_clusters: int,
    *,
    n_init: int,
    rng: np.random.RandomState,
) -> NDArray[np.int32]:
    """Return k-means partitions of the rows of each table, put in this order first, since k-means draws by position.

    An order by coordinates does not depend on the input order of the samples.
    """
    n = len(tables[0])
    found = np.empty((len(tables), n), dtype=np.int32)
    X = np.zeros((len(tables), n, max(P.shape[1] for P in tables)))
    for i, P in enumerate(tables):
        X[i, :, : P.shape[1]] = P[order[i]]  # columns of zeros change no distance
    draws = np.random.default_rng(rng.randint(np.iinfo(np.int32).max))
    step = max(1, int(_TOGETHER / (n * n_clusters * n_init)))
    z = np.concatenate(
        [table_partitions(X[i : i + step], n_clusters, starts=n_init, rng=draws) for i in range(0, len(X), step)]
    )
    np.put_along_axis(found, np.stack(order), z.astype(np.int32), axis=1)
    return found


def table_partitions(X: Matrix, c: int, *, starts: int, rng: np.random.Generator) -> Labels:
    """z (E, n): of every table the partition with the least sum of squares Σ_i ||x_i - mean of the cluster of i||².

    With many clusters and few samples, two or three times as many starts as are wanted are seeded, and compared after a
    few iterations.
    """
    E, n, _ = X.shape
    sets = min(max(c // _CLUSTERS_PER_SET, 1), _MOST_SETS, max(_SETS_UP_TO // n, 1))
    tables = lift(X)
    table = np.repeat(np.arange(E), sets * starts)
    C = seeded(tables, table, c, rng)
    if sets > 1:
        _, cost, C = _descended(tables, table, C, _COMPARE_AFTER)
        best = np.argsort(cost.reshape(E, -1), axis=1, kind="stable")[:, :starts]
        C = C[(best + sets * starts * np.arange(E)[:, None]).ravel()]
    z, cost, _ = _descended(tables, np.repeat(np.arange(E), starts), C, _MAX_ITER)
    return np.asarray(z.reshape(E, starts, n)[np.arange(E), cost.reshape(E, starts).argmin(axis=1)])


class LiftedTables(NamedTuple):
    """The tables X (E, n, p), and their columns (||x||², 1, x): products with (1, ||C||², -2C) are squared distances.

    The widths are the numbers of columns of the tables, without those of zeros at the end.
    """

    X: Matrix
    lifted: Matrix
    widths: Labels


def lift(X: Matrix) -> LiftedTables:
    """Return tables X (E, n, p) with the columns by which squared distances are products."""
    E, n, p = X.shape
    lifted = np.empty((E, p + 2, n))
    lifted[:, 0], lifted[:, 1], lifted[:, 2:] = np.einsum("eip,eip->ei", X, X), 1, X.transpose(0, 2, 1)
    return LiftedTables(X, lifted, p - (X != 0).any(axis=1)[:, ::-1].argmax(axis=1))


def seeded(tables: LiftedTables, table: NDArray[np.intp], c: int, rng: np.random.Generator) -> Matrix:
    """C (runs, c, p) by greedy k-means++: of several samples drawn with probability ∝ D, that which lowers ΣD most."""
    X = tables.X
    n, runs, draws = X.shape[1], np.arange(len(table)), 2 + int(np.log(c))
    C = np.empty((len(runs), c, X.shape[2]))
    C[:, 0] = X[table, rng.integers(n, size=len(runs))]
    least = np.maximum(to_centres(tables, C[:, :1], table)[:, 0], 0)
    for k in range(1, c):
        sums = least.cumsum(axis=1)
        sums /= np.where(sums[:, -1:] > 0, sums[:, -1:], 1)
        sums += runs[:, None]  # ascending over all runs
        found = np.searchsorted(sums.ravel(), (rng.random((len(runs), draws)) + runs[:, None]).ravel(), side="right")
        drawn = np.clip(found.reshape(-1, draws) - n * runs[:, None], 0, n - 1)
        tried = X[table[:, None], drawn]
        left = to_centres(tables, tried, table)
        np.maximum(left, 0, out=left)
        np.minimum(left, least[:, None], out=left)
        best = left.sum(axis=2).argmin(axis=1)
        C[:, k], least = tried[runs, best], left[runs, best]
    return C


def to_centres(tables: LiftedTables, C: Matrix, table: NDArray[np.intp] | None = None) -> Matrix:
    """D (runs, k, n), the squared distances of all samples to the centres C (runs, k, p) of each run, up to rounding.

    Runs of the same table must be next to each other; without `table`, there is one for all runs.
    """
    runs, k, p = C.shape
    centres = np.empty((runs, k, p + 2))
    centres[..., 0], centres[..., 1], centres[..., 2:] = 1, np.einsum("rkp,rkp->rk", C, C), -2 * C
    D = np.empty((runs, k, tables.X.shape[1]))
    ends = np.array([runs]) if table is None else np.cumsum(np.bincount(table, minlength=len(tables.X)))
    for lifted, width, first, last in zip(tables.lifted, tables.widths, [0, *ends], ends, strict=False):
        if first < last:
            of_table = centres[first:last].reshape(-1, p + 2)[:, : width + 2]
            np.matmul(of_table, lifted[: width + 2], out=D[first:last].reshape(-1, D.shape[2]))
    return D


def _descended(
    tables: LiftedTables, table: NDArray[np.intp], C: Matrix, max_iter: int
) -> tuple[Labels, Vector, Matrix]:
    """Return z (runs, n) after k-means steps from the centres C, its sums of squares, and its centres."""
    c, X = C.shape[1], tables.X
    tiny = _TINY * tables.lifted[:, 0].sum(axis=1)[table]
    D = to_centres(tables, C, table)
    least: Matrix = D[:, 0].copy()
    z: Labels = np.zeros(least.shape, dtype=np.intp)
    for k in range(1, c):  # one centre after the other, which is much faster than numpy's argmin
        np.putmask(z, D[:, k] < least, k)
        np.minimum(least, D[:, k], out=least)
    z = refilled(z, least, c, tiny)
    sums, sizes = _all_sums(X, table, z, c)
    cost, running = np.full(len(z), np.inf), np.arange(len(z))
    for _ in range(max_iter):
        where = (running[:, None] * c + np.arange(c)).ravel()
        means = (sums[where] / sizes[where, None]).reshape(len(running), c, -1)
        D = to_centres(tables, means, table[running])
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
    members = (z[:, None] == np.arange(c)[:, None]).astype(np.float64)  # (runs, c, n)
    sums = np.concatenate([of_run @ X[e] for of_run, e in zip(members, table, strict=True)])
    return sums, np.asarray(members.sum(axis=2).ravel(), dtype=np.intp)


def _sums(rows: Matrix, cluster: Labels, count: int) -> tuple[Matrix, Labels]:
    """Return the sum (count, p) of the rows of every cluster, and their number."""
    p = rows.shape[1]
    place = (cluster[:, None] * p + np.arange(p)).ravel()
    sums = np.bincount(place, weights=rows.ravel(), minlength=count * p)
    return np.asarray(sums, dtype=np.float64).reshape(count, p), np.bincount(cluster, minlength=count)
