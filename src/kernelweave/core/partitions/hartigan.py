"""k-means from several starts side by side, each until no sample by itself would lower the sum of squares.

n samples X (n, d), R starts, c clusters: labels z (R, n), centres C (R, c, d), squared distances D (R, c, n).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from kernelweave._types import Matrix, Vector
from kernelweave.core.partitions.kernel_centres import Labels, refilled

__all__ = ["best_partition", "crossed", "seeds", "settled", "sum_of_squares"]

_STARTS = (3, 8)  # the fewest and the most for each run that is carried to its end
_TOGETHER = 10  # runs side by side
_CROSSINGS = 3  # at most
_EFFORT = 1.5e6  # either number times nc², which a pass costs: both are small where that is large
_PASSES = 3  # after which starts are compared
_TINY = 1e-12  # of ||X||²: what counts as lower


def best_partition(X: Matrix, c: int, *, runs: int, rng: np.random.Generator) -> Labels:
    """min Σ_i ||x_i - mean of the cluster of i||² as the best of several runs, each from the best of some starts.

    Where that is cheap the partitions found are crossed, which finds what is better in parts of both (Gribel and
    Vidal 2019).
    """
    times = int(_EFFORT / (len(X) * c**2))
    groups = [min(_TOGETHER, runs - done) for done in range(0, runs, _TOGETHER)]  # memory does not grow with the runs
    z, cost = _joined(*(_settled_runs(X, c, count, times, rng) for count in groups))
    for _ in range(min(times, _CROSSINGS)):
        _, different = np.unique(np.round(cost / (cost.min() or 1), 9), return_index=True)
        z, cost = z[different[:runs]], cost[different[:runs]]
        if len(z) == 1:
            break
        born = crossed(_means(X, z, c)[0], min(runs, _TOGETHER), rng)
        z, cost = _joined((z, cost), settled(X, _distances(_lifted(X), born).argmin(axis=1), c))
    return np.asarray(z[cost.argmin()])


def _settled_runs(X: Matrix, c: int, runs: int, times: int, rng: np.random.Generator) -> tuple[Labels, Vector]:
    """Return partitions at rest and their sums of squares, from the best of several times as many starts."""
    fewest, most = _STARTS
    starts = seeds(X, c, runs * min(max(times, fewest), most), rng)
    z, cost = settled(X, _distances(_lifted(X), starts).argmin(axis=1), c, max_iter=_PASSES)
    return settled(X, z[np.argsort(cost, kind="stable")[:runs]], c)


def _joined(*found: tuple[Labels, Vector]) -> tuple[Labels, Vector]:
    return np.vstack([z for z, _ in found]), np.concatenate([cost for _, cost in found])


def crossed(C: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """Return centres of which each is from one or the other of two of the R given, by chance, after matching them."""
    born = np.empty((count, *C.shape[1:]))
    for child in born:
        first, second = C[rng.choice(len(C), 2, replace=False)]
        _, match = linear_sum_assignment(_distances(_lifted(second), first[None])[0])
        child[:] = np.where(rng.random(len(first))[:, None] < 0.5, first, second[match])
    return born


def seeds(X: Matrix, c: int, starts: int, rng: np.random.Generator) -> Matrix:
    """C by greedy k-means++: samples drawn by their D to those before, of several draws the one that lowers ΣD most."""
    lifted, draws, each = _lifted(X), 2 + int(np.log(c)), np.arange(starts)
    chosen = np.empty((starts, c), dtype=np.intp)
    chosen[:, 0] = rng.integers(len(X), size=starts)
    least = np.maximum(_distances(lifted, X[chosen[:, :1]])[:, 0], 0)
    for k in range(1, c):
        heap = least.cumsum(axis=1)
        heights = rng.random((starts, draws)) * heap[:, -1:]
        found = [np.searchsorted(h, at, side="right") for h, at in zip(heap, heights, strict=True)]
        drawn = np.minimum(found, len(X) - 1)
        left = np.clip(_distances(lifted, X[drawn]), 0, least[:, None])
        best = left.sum(axis=2).argmin(axis=1)
        chosen[:, k], least = drawn[each, best], left[each, best]
    return X[chosen]


def settled(X: Matrix, z: Labels, c: int, *, max_iter: int = 1000) -> tuple[Labels, Vector]:
    """z at rest and its sum of squares: all samples go to the nearest mean; where none would, single ones move.

    To move x from its cluster of p at distance a into one of q at distance b pays if a² p/(p - 1) > b² q/(q + 1)
    (Hartigan 1975). k-means alone, which asks whether a > b, rests in many partitions that such moves still better.
    """
    z, cost, running = z.copy(), np.full(len(z), np.inf), np.arange(len(z))
    lifted, tiny = _lifted(X), _TINY * float(np.vdot(X, X))
    for _ in range(max_iter):
        now = z[running]
        C, sizes = _means(X, now, c)
        D = _distances(lifted, C)
        own = np.take_along_axis(D, now[:, None], axis=1)[:, 0]
        if not sizes.all():
            z[running] = refilled(now.T, own.T, c).T
            continue
        cost[running] = own.sum(axis=1)
        farther = own - D.min(axis=1) > tiny
        r, i = np.nonzero(farther)
        new = now.copy()
        new[r, i] = D[r, :, i].argmin(axis=1)
        for each in np.flatnonzero(~farther.any(axis=1)):
            new[each] = _single_moves(D[each], now[each], sizes[each], tiny)
        z[running] = new
        running = running[(new != now).any(axis=1)]
        if not len(running):
            break
    return z, cost


def _single_moves(D: Matrix, z: Labels, sizes: Labels, tiny: float) -> Labels:
    """z after the moves that pay most, one at most from or into each cluster: each pays what it would by itself."""
    i = np.arange(len(z))
    leaving = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 0)
    price = D * (sizes / (sizes + 1))[:, None]
    price[z, i] = np.inf
    to = price.argmin(axis=0)
    gain = D[z, i] * leaving[z] - price[to, i]
    paying = np.flatnonzero(gain > tiny)
    z, free = z.copy(), np.ones(len(sizes), dtype=bool)
    for j in paying[np.argsort(-gain[paying], kind="stable")]:
        if free[z[j]] and free[to[j]]:
            free[z[j]] = free[to[j]] = False
            z[j] = to[j]
    return z


def _means(X: Matrix, z: Labels, c: int) -> tuple[Matrix, Labels]:
    """C and the clusters' sizes; the mean of an empty one is the origin."""
    R, n = z.shape
    where = (z + c * np.arange(R)[:, None]).T.ravel()
    member = sparse.csc_array((np.ones(n * R), where, np.arange(0, n * R + 1, R)), shape=(R * c, n))
    sizes = np.bincount(where, minlength=R * c)
    C = (member @ X) / np.maximum(sizes, 1)[:, None]
    return C.reshape(R, c, -1), sizes.reshape(R, c)


def _lifted(X: Matrix) -> Matrix:
    """The rows (x_i, ||x_i||², 1), whose products with (-2C, 1, ||C||²) are squared distances."""
    return np.column_stack([X, np.einsum("id,id->i", X, X), np.ones(len(X))])


def _distances(lifted: Matrix, C: Matrix) -> Matrix:
    """D_rki = ||x_i - C_rk||² up to rounding, in one product."""
    R, c, d = C.shape
    flat = C.reshape(R * c, d)
    centres = np.column_stack([-2 * flat, np.ones(R * c), np.einsum("kd,kd->k", flat, flat)])
    return np.asarray(centres @ lifted.T).reshape(R, c, -1)


def sum_of_squares(X: Matrix, z: Labels) -> float:
    """Σ_i ||x_i - mean of the cluster of i||²."""
    C, _ = _means(X, z[None], int(z.max()) + 1)
    E = X - C[0][z]
    return float(np.vdot(E, E))
