"""What several partitions of the same samples agree on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from kernelweave._types import Matrix

__all__ = ["Partitions", "co_association", "membership", "merge"]

Partitions = NDArray[np.int32]  # (m, n): a row per partition


def co_association(partitions: Partitions) -> Matrix:
    """Return for every two samples the share of partitions that put them together."""
    n = partitions.shape[1]
    C = np.zeros((n, n), dtype=np.float32)
    for labels in partitions:
        onehot = np.eye(labels.max() + 1, dtype=np.float32)[labels]
        C += onehot @ onehot.T
    C /= len(partitions)
    return C


def merge(C: Matrix, n_clusters: int) -> NDArray[np.int32]:
    """Return the clusters of average linkage on 1 - C, cut at `n_clusters`.

    Where linkage finds fewer, since samples agree in full, there are fewer: what cannot be told apart stays together.
    """
    distances = 1 - squareform(C, checks=False)
    tree = linkage(distances, "average")
    return np.asarray(fcluster(tree, n_clusters, criterion="maxclust") - 1, dtype=np.int32)


def membership(C: Matrix, labels: NDArray[np.int32]) -> Matrix:
    """Return for every sample and cluster the mean co-association with its other members, scaled to sum to one."""
    counts = np.bincount(labels)
    onehot = np.eye(len(counts), dtype=C.dtype)[labels]
    M = (C @ onehot - onehot * C.diagonal()[:, None]) / np.maximum(counts - onehot, 1)
    alone = counts[labels] == 1
    M[alone, labels[alone]] = 1  # nobody to agree with: a cluster of one is as sure as it is apart from the others
    total = M.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(M, total, out=np.full_like(M, 1 / len(counts)), where=total > 0))
