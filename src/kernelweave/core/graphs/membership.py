"""How far every sample belongs to every cluster: the votes of its neighbours, and where it lies in the embedding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Matrix
from kernelweave.core.graphs.propagation import Graph

__all__ = ["cluster_means", "fuzzy", "memberships", "nearness", "votes"]


def memberships(S: Graph, P: Matrix, labels: NDArray[Any], c: int) -> Matrix:
    """M = (votes + fuzzy)/2: what a sample's neighbours say, and what its own coordinates say; rows sum to 1."""
    return np.asarray((votes(S, labels, c) + fuzzy(P, labels, c)) / 2, dtype=P.dtype)


def votes(S: Graph, labels: NDArray[Any], c: int) -> Matrix:
    """V = D^-1 W Y, W = S without loops: the share of its neighbours' weight that every cluster has.

    A sample without neighbours has nobody to differ from: all of it goes to its own cluster.
    """
    Y = np.eye(c, dtype=S.dtype)[labels]
    loops = S.diagonal()
    V = np.maximum(S @ Y - loops[:, None] * Y, 0)
    d = V.sum(axis=1)
    alone = d <= np.finfo(V.dtype).eps * loops
    return np.asarray(np.where(alone[:, None], Y, V / np.where(alone, 1, d)[:, None]))


def fuzzy(P: Matrix, labels: NDArray[Any], c: int) -> Matrix:
    """F_ic ∝ 1/||p_i - m_c||², m_c the mean of cluster c: the membership of fuzzy c-means; 0 for an empty cluster."""
    return nearness(P, *cluster_means(P, labels, c))


def cluster_means(P: Matrix, labels: NDArray[Any], c: int) -> tuple[Matrix, NDArray[Any]]:
    """m_c, the mean of every cluster, and its size."""
    counts = np.bincount(labels, minlength=c)
    return np.eye(c)[labels].T @ P / np.maximum(counts, 1)[:, None], counts


def nearness(P: Matrix, means: Matrix, counts: NDArray[Any]) -> Matrix:
    """F_ic ∝ 1/||p_i - m_c||², 0 for an empty cluster."""
    P = P.astype(np.float64, copy=False)
    D = np.column_stack([((P - m) ** 2).sum(axis=1) for m in means])
    size = float(np.einsum("ij,ij->i", means, means).max())
    least = np.finfo(np.float64).eps * (size or 1.0)  # of a sample at a mean
    F = (counts > 0) / np.maximum(D, least)
    return np.asarray(F / F.sum(axis=1, keepdims=True))
