"""The consensus of several partitions of the same samples.

R partitions z (R, n) with any number of clusters each; T (n, n) is their co-association, M (n, c) a soft membership.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from kernelweave._types import Labels, Matrix

__all__ = ["Partitions", "co_association", "membership", "merge"]

Partitions = NDArray[np.int32]  # z (R, n): a row per partition


def co_association(z: Partitions) -> Matrix:
    """T_ij = #{r : z_ri = z_rj} / R, the share of partitions that put samples i and j together."""
    R, n = z.shape
    T = np.zeros((n, n), dtype=np.float32)
    for labels in z:
        onehot = np.eye(labels.max() + 1, dtype=np.float32)[labels]
        T += onehot @ onehot.T
    T /= R
    return T


def merge(T: Matrix, n_clusters: int) -> NDArray[np.int32]:
    """Return labels (n,): the clusters of average linkage on the distances 1 - T, cut at `n_clusters`.

    There may be fewer clusters, if there are fewer groups of samples that the partitions tell apart.
    """
    distances = 1 - squareform(T, checks=False)
    tree = linkage(distances, "average")
    return np.asarray(fcluster(tree, n_clusters, criterion="maxclust") - 1, dtype=np.int32)


def membership(T: Matrix, labels: NDArray[np.int32]) -> Matrix:
    """M_ik ∝ the mean of T_ij over the other members j of cluster k, (n, c); rows sum to one."""
    counts = np.bincount(labels)
    onehot = np.eye(len(counts), dtype=T.dtype)[labels]
    M = (T @ onehot - onehot * T.diagonal()[:, None]) / np.maximum(counts - onehot, 1)
    alone = counts[labels] == 1
    M[alone, labels[alone]] = 1  # a cluster of one has no other member to agree with
    total = M.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(M, total, out=np.full_like(M, 1 / len(counts)), where=total > 0))


def modularity(S: sparse.csr_array, labels: Labels) -> float:
    """Σ_c (S_cc - d_c²/s)/s, s = ΣS, S_cc the weight within cluster c, d_c its degrees (Newman and Girvan, 2004)."""
    total = float(S.sum())
    if total == 0:
        return 0.0
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    within = float(S.data[labels[rows] == labels[S.indices]].sum(dtype=np.float64))
    degrees = np.bincount(labels, weights=S.sum(axis=1))
    return float(within / total - ((degrees / total) ** 2).sum())
