"""The graph between samples and m landmarks: B (n, m), k entries a row, kept as columns J and values (n, k)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Mask, Matrix, Vector

__all__ = [
    "bipartite_harmonic",
    "bipartite_sums",
    "landmark_embedding",
    "landmarks_reached",
    "nearest_columns",
    "relative_affinity",
]


def nearest_columns(D: Matrix, k: int) -> tuple[NDArray[np.int32], Matrix]:
    """The columns of the k smallest entries of every row, ascending, and these entries; D is overwritten.

    k sweeps of argmin: an eighth of the time of a partial sort for k = 5 of 500, and ties go to the first column.
    """
    here = np.arange(len(D))
    J = np.empty((len(D), k), dtype=np.int32)
    V = np.empty((len(D), k), dtype=D.dtype)
    for q in range(k):
        J[:, q] = D.argmin(axis=1)
        V[:, q] = D[here, J[:, q]]
        D[here, J[:, q]] = np.inf
    return J, V


def relative_affinity(V: Matrix) -> Matrix:
    """b_ij = exp(-d_ij² / d_ik²) / Σ_j, d² ascending along the rows: a sample's own scale is its farthest landmark."""
    last = V[:, -1:]
    B = np.divide(V, -last, out=np.zeros_like(V), where=last > 0)
    np.exp(B, out=B)
    return np.asarray(B / B.sum(axis=1, keepdims=True))


def bipartite_sums(J: NDArray[np.int32], B: Matrix, m: int) -> Matrix:
    """B'B (m, m) of some rows; its row sums are E = B'1, since every row of B sums to one."""
    rows = np.repeat(np.arange(len(J)), J.shape[1])
    S = sparse.csr_array((B.ravel().astype(np.float64), (rows, J.ravel())), shape=(len(J), m))
    return np.asarray((S.T @ S).toarray())


def landmark_embedding(S: Matrix, c: int) -> tuple[Vector, Matrix]:
    """E^-½ S E^-½ = VΣ²V', E = diag(S1): the c largest eigenvalues, and Q = E^-½ V Σ^-1, so that P = BQ.

    P'P = I over the rows that S sums, P the top eigenvectors of B E^-1 B'.
    """
    m = len(S)
    e = S.sum(axis=1)
    s = np.divide(1, np.sqrt(e), out=np.zeros_like(e), where=e > 0)
    values, V = linalg.eigh(S * s * s[:, None], subset_by_index=(m - c, m - 1), check_finite=False)
    values, V = np.clip(values[::-1], 0, 1), V[:, ::-1]
    V = V * np.where((V**3).sum(axis=0) < 0, -1, 1)  # a choice of signs that no order of the landmarks changes
    least = len(S) * np.finfo(np.float64).eps
    return values, np.asarray(s[:, None] * V / np.sqrt(np.maximum(values, least)))


def landmarks_reached(S: Matrix, labelled: Vector) -> Mask:
    """Which landmarks are connected, through samples, to one that a labelled sample is joined to."""
    _, part = connected_components(sparse.csr_array(S), directed=False)
    return np.asarray(np.isin(part, part[labelled > 0]))


def bipartite_harmonic(S_u: Matrix, e: Vector, R: Matrix, *, alpha: float = 1.0) -> Matrix:
    """(E - α B_u'B_u) G = B_l'Y_l, F_u = B_u G: harmonic on the graph of samples and landmarks at α = 1.

    With S_u = B'B of all samples and α < 1 it is local and global consistency, up to a factor:
    (I - α B E^-1 B')^-1 Y = Y + α B (E - α B'B)^-1 B'Y. Landmarks that no label reaches get 0.
    """
    reached = landmarks_reached(S_u, R.sum(axis=1)) & (e > 0)
    G = np.zeros_like(R)
    s = 1 / np.sqrt(e[reached])
    A = -alpha * S_u[np.ix_(reached, reached)] * s * s[:, None]
    A.flat[:: len(A) + 1] += 1 + len(A) * np.finfo(np.float64).eps
    G[reached] = s[:, None] * linalg.solve(A, s[:, None] * R[reached], assume_a="pos", check_finite=False)
    return np.maximum(G, 0)
