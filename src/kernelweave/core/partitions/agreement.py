"""The consensus of several partitions of the same samples.

R partitions z (R, n) with any number of clusters each and weights w (R,). Samples that every partition puts together
have the same tuple of labels: u distinct tuples, m (u,) samples each. T (u, u) is their co-association, and M (n, c) a
soft membership. Nothing here has the size of all pairs of samples.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Labels, Matrix, Vector

__all__ = [
    "Merged",
    "Partitions",
    "co_association",
    "cut_tree",
    "mean_agreement",
    "merge",
    "modularity",
    "rand_index",
    "trusted",
]

Partitions = NDArray[np.int32]  # z (R, n): a row per partition

_MOST_TUPLES = 3000  # that are merged; others join the cluster that they agree with most
_NEGLIGIBLE = 1e-3  # of the largest weight: partitions with less are left out
_LEAST_AGREEMENT = 1e-3
_POWER, _POWER_OF_FEW = 8.0, 16.0  # of the agreement; with few columns there are more graphs to choose from
_SMALL = 20  # a cluster smaller than the mean size divided by this needs a reason


class Merged(NamedTuple):
    """Labels (n,) and memberships (n, c).

    M_ik is the mean co-association of sample i with the other members of cluster k; each row is scaled to sum to one.
    """

    labels: NDArray[np.int32]
    membership: Matrix


def rand_index(a: Labels, b: Labels) -> float:
    """Return the adjusted Rand index of two partitions, 1 if both have one cluster or only clusters of one sample."""
    width = int(b.max()) + 1
    table = np.bincount(a.astype(np.int64) * width + b, minlength=(int(a.max()) + 1) * width).astype(float)
    table = table.reshape(-1, width)
    both, first, second = (float((x * (x - 1)).sum() / 2) for x in (table, table.sum(axis=1), table.sum(axis=0)))
    pairs = len(a) * (len(a) - 1) / 2
    expected, most = first * second / max(pairs, 1), (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def mean_agreement(z: Partitions) -> float:
    """Return the mean adjusted Rand index of all pairs of partitions, 1 for a single one."""
    pairs = [rand_index(a, b) for a, b in combinations(z, 2)]
    return float(np.mean(pairs)) if pairs else 1.0


def trusted(agreement: float, *, few_columns: bool = False) -> float:
    """Return the weight of a graph from the mean adjusted Rand index of its partitions: a power of it."""
    return float(max(agreement, _LEAST_AGREEMENT) ** (_POWER_OF_FEW if few_columns else _POWER))


def co_association(z: Partitions, w: Vector) -> Matrix:
    """T_ij = Σ_r w_r [z_ri = z_rj] / Σ_r w_r, the share of the partitions that put i and j together."""
    parts = [
        np.eye(labels.max() + 1, dtype=np.float32)[labels] * np.float32(np.sqrt(wr))
        for labels, wr in zip(z, w, strict=True)
    ]
    onehot = np.hstack(parts)
    return np.asarray(onehot @ onehot.T / np.float32(w.sum()))


def merge(z: Partitions, w: Vector, n_clusters: int, copies: Labels | None = None) -> Merged:
    """Merge weighted partitions into one of `n_clusters` clusters, by average linkage on the distances 1 - T.

    There may be fewer clusters, if there are fewer groups of samples that the partitions tell apart. Clusters are
    numbered in the order of their first samples; where samples of the partitions stand for several, or for one in
    another place, `copies` has their positions in that order.
    """
    kept = w > _NEGLIGIBLE * w.max()
    z, w = z[kept], w[kept]
    tuples, place, m = np.unique(z, axis=1, return_inverse=True, return_counts=True)
    place = place.ravel()
    used = np.arange(len(m)) if len(m) <= _MOST_TUPLES else _spread(m)
    T = co_association(tuples[:, used], w)
    parts = cut_tree(1 - T, m[used], n_clusters, max(2.0, len(place) / (_SMALL * n_clusters)))
    c = int(parts.max()) + 1
    if len(used) < len(m):
        near = _share_of_clusters(tuples, tuples[:, used], w, np.eye(c)[parts] * m[used, None])
        every = near.argmax(axis=1)
        every[used] = parts
        parts = every
    _, first = np.unique(parts[place], return_index=True)
    parts = np.argsort(np.argsort(first))[parts]  # numbered in the order of their first samples
    M = _memberships(tuples, w, np.eye(c)[parts] * m[:, None], parts)
    if copies is not None:  # numbered again: sums over the clusters were taken in an order that is not the user's
        first = np.full(c, len(copies))
        found, at = np.unique(parts[place[copies]], return_index=True)
        first[found] = at
        order = np.argsort(first, kind="stable")
        parts, M = np.argsort(order)[parts], M[:, order]
    return Merged(parts[place].astype(np.int32), M[place])


def _spread(m: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return at most 3000 of the tuples: those of samples at equal steps, in the order of the tuples."""
    ends = np.cumsum(m)
    steps = (np.arange(_MOST_TUPLES) + 0.5) * ends[-1] / _MOST_TUPLES
    return np.unique(np.searchsorted(ends, steps))


def _share_of_clusters(z: Partitions, others: Partitions, w: Vector, Y: Matrix) -> Matrix:
    """Return (T Y)_ik / Σ_j Y_jk for tuples z and weighted members Y of clusters among `others`, part of z."""
    out = np.zeros((z.shape[1], Y.shape[1]))
    for labels, those, wr in zip(z, others, w, strict=True):
        counts = np.zeros((int(labels.max()) + 1, Y.shape[1]))
        np.add.at(counts, those, Y)
        out += wr * counts[labels]
    return np.asarray(out / w.sum() / np.maximum(Y.sum(axis=0), 1))


def _memberships(z: Partitions, w: Vector, Y: Matrix, parts: Labels) -> Matrix:
    """Return the mean co-association of one sample of each tuple with the other members of every cluster."""
    sizes = Y.sum(axis=0)
    M = _share_of_clusters(z, z, w, Y)
    rows = np.arange(len(parts))
    own = sizes[parts]
    M[rows, parts] = np.where(own > 1, (M[rows, parts] * own - 1) / np.maximum(own - 1, 1), 1)  # without itself
    M = np.clip(M, 0, 1)
    total = M.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(M, total, out=np.eye(M.shape[1])[parts], where=total > 0))


def cut_tree(D: Matrix, m: NDArray[np.intp], n_clusters: int, least: float) -> NDArray[np.intp]:
    """Return the clusters of average linkage with m_i samples at leaf i, where only those of `least` samples count.

    The tree is cut where `n_clusters` clusters have at least `least` samples; smaller ones join the cluster nearest to
    them. Where no cut gives that many, it is cut at `n_clusters` clusters of any size.
    """
    merges = _average_linkage(D, m.astype(np.float64))
    for smallest in (least, 1.0):
        parts = _cut(merges, m, n_clusters, smallest)
        if parts is None:
            continue
        Y = np.eye(int(parts.max()) + 1)[parts] * m[:, None]
        sizes = Y.sum(axis=0)
        small = sizes < smallest
        if small.any():
            of_clusters = Y.T @ (D @ Y / sizes) / sizes[:, None]  # the mean of D between clusters
            of_clusters[:, small] = np.inf
            parts = np.where(small[parts], of_clusters.argmin(axis=1)[parts], parts)
        return np.asarray(np.unique(parts, return_inverse=True)[1])
    return np.arange(len(m))


def _average_linkage(D: Matrix, size: Vector) -> list[tuple[int, int]]:
    """Return the merges of average linkage, as pairs of leaves that stand for clusters, in the order of height.

    The chain of nearest neighbours (Murtagh, 1983): average linkage is reducible, so that reciprocal neighbours can be
    merged at once, in O(u²) altogether.
    """
    D = D.astype(np.float64)
    np.fill_diagonal(D, np.inf)
    size, height, alive = size.copy(), np.zeros(len(D)), np.ones(len(D), dtype=bool)
    found: list[tuple[float, int, int]] = []
    chain: list[int] = []
    for _ in range(len(D) - 1):
        if not chain:
            chain.append(int(alive.argmax()))
        while True:
            i = chain[-1]
            j = int(D[i].argmin())
            if len(chain) > 1 and D[i, chain[-2]] <= D[i, j]:
                j = chain[-2]
                break
            chain.append(j)
        del chain[-2:]
        i, j = min(i, j), max(i, j)
        height[i] = max(D[i, j], height[i], height[j])  # never below its parts, which rounding could bring about
        found.append((float(height[i]), i, j))
        row = (size[i] * D[i] + size[j] * D[j]) / (size[i] + size[j])
        D[i], D[:, i] = row, row
        D[i, i] = np.inf
        D[j], D[:, j] = np.inf, np.inf
        size[i] += size[j]
        alive[j] = False
    order = sorted(range(len(found)), key=lambda k: found[k][0])  # stable: a merge never precedes its parts
    return [found[k][1:] for k in order]


def _cut(merges: list[tuple[int, int]], m: NDArray[np.intp], n_clusters: int, least: float) -> NDArray[np.intp] | None:
    """Return the clusters after the last merge that leaves `n_clusters` of at least `least` samples, None if none."""
    size, large = m.astype(np.float64), int(np.count_nonzero(m >= least))
    last = 0 if large == n_clusters else -1
    for step, (i, j) in enumerate(merges, start=1):
        large += int(size[i] + size[j] >= least) - int(size[i] >= least) - int(size[j] >= least)
        size[i] += size[j]
        if large == n_clusters:
            last = step
    if last < 0:
        return None
    root = np.arange(len(m))
    for i, j in merges[:last]:
        root[root == root[j]] = root[i]
    return np.asarray(np.unique(root, return_inverse=True)[1])


def modularity(S: sparse.csr_array, labels: Labels) -> float:
    """Σ_c (S_cc - d_c²/s)/s, s = ΣS, S_cc the weight within cluster c, d_c its degrees (Newman and Girvan, 2004)."""
    total = float(S.sum())
    if total == 0:
        return 0.0
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    within = float(S.data[labels[rows] == labels[S.indices]].sum(dtype=np.float64))
    degrees = np.bincount(labels, weights=S.sum(axis=1))
    return float(within / total - ((degrees / total) ** 2).sum())
