"""The graph between n samples and m landmarks: affinities B (n, m), sparse, with k entries per row.

e = B'1 are the column sums of B, and BB = B'B (m, m).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Labels, Mask, Matrix, Vector

__all__ = [
    "bipartite_harmonic",
    "bipartite_sums",
    "class_sums",
    "landmark_embedding",
    "landmarks_reached",
    "nearest_columns",
    "relative_affinity",
]


def nearest_columns(D: Matrix, k: int) -> tuple[NDArray[np.int32], Matrix]:
    """J, the columns of the k smallest entries of every row, ascending, and these entries; D is overwritten.

    argmin is called k times: for k = 5 of 500 that takes an eighth of the time of a partial sort, and ties go to the
    first column.
    """
    here = np.arange(len(D))
    J = np.empty((len(D), k), dtype=np.int32)
    least = np.empty((len(D), k), dtype=D.dtype)
    for rank in range(k):
        J[:, rank] = D.argmin(axis=1)
        least[:, rank] = D[here, J[:, rank]]
        D[here, J[:, rank]] = np.inf
    return J, least


def relative_affinity(D: Matrix) -> Matrix:
    """B_ij ∝ exp(-D_ij / D_ik), rows sum to one; D (n, k) ascends along the rows, and its last column is the scale."""
    last = D[:, -1:]
    B = np.divide(D, -last, out=np.zeros_like(D), where=last > 0)
    np.exp(B, out=B)
    return np.asarray(B / B.sum(axis=1, keepdims=True))


def bipartite_sums(parts: Iterable[sparse.csr_array]) -> Matrix:
    """BB = B'B, B given in parts of its rows; its row sums are e = B'1, since every row of B sums to one."""
    return _in_pairs([(B.T @ B).toarray() for B in parts])


def class_sums(parts: Iterable[tuple[sparse.csr_array, Labels]], n_classes: int, shares: tuple[float, float]) -> Matrix:
    """[BB_u | BB_l | BY], BY = B_l'Y_l, of parts of B and their codes, -1 where unlabelled.

    `shares` are the numbers of rows that a labelled one, and another one, stands for.
    """
    found, (share_l, share_u) = [], shares
    for B, codes in parts:
        B_u, B_l, Y_l = B[codes < 0], B[codes >= 0], np.eye(n_classes)[codes[codes >= 0]]
        BB_u, BB_l = (B_u.T @ B_u).toarray(), (B_l.T @ B_l).toarray()
        found.append(np.hstack([share_u * BB_u, share_l * BB_l, share_l * (B_l.T @ Y_l)]))
    return _in_pairs(found)


def _in_pairs(parts: list[Matrix]) -> Matrix:
    """Add neighbours in pairs until one sum is left, which rounds less than one after the other."""
    while len(parts) > 1:
        pairs = [parts[i] + parts[i + 1] for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(pairs) * 2 :]
    return np.asarray(parts[0])


def landmark_embedding(BB: Matrix, q: int) -> tuple[Vector, Matrix]:
    """diag(e)^-½ BB diag(e)^-½ = V diag(λ) V': the q largest λ, and Q = diag(e)^-½ V diag(λ)^-½, so that P = BQ.

    P holds the eigenvectors of the q largest eigenvalues of B diag(e)^-1 B', with P'P = I over the rows summed in BB.
    """
    m = len(BB)
    e = BB.sum(axis=1)
    root = np.divide(1, np.sqrt(e), out=np.zeros_like(e), where=e > 0)
    values, V = linalg.eigh(BB * root * root[:, None], subset_by_index=(m - q, m - 1), check_finite=False)
    values, V = np.clip(values[::-1], 0, 1), V[:, ::-1]
    V = V * np.where((V**3).sum(axis=0) < 0, -1, 1)  # signs that do not depend on the order of the landmarks
    least = m * np.finfo(np.float64).eps
    return values, np.asarray(root[:, None] * V / np.sqrt(np.maximum(values, least)))


def landmarks_reached(BB: Matrix, labelled: Vector) -> Mask:
    """Return which landmarks are connected, through samples, to a landmark that a labelled sample is joined to."""
    _, part = connected_components(sparse.csr_array(BB), directed=False)
    return np.asarray(np.isin(part, part[labelled > 0]))


def bipartite_harmonic(BB_u: Matrix, e: Vector, BY: Matrix, *, alpha: float = 1.0) -> Matrix:
    """(diag(e) - α BB_u) U = BY, BY = B_l'Y_l, F_u = B_u U: harmonic on the graph of samples and landmarks at α = 1.

    With BB of all samples in place of BB_u, and α < 1, it is local and global consistency, up to a factor:
    (I - α B diag(e)^-1 B')^-1 Y = Y + α B (diag(e) - α BB)^-1 B'Y. Landmarks that no label reaches get 0.
    """
    reached = landmarks_reached(BB_u, BY.sum(axis=1)) & (e > 0)
    U = np.zeros_like(BY)
    root = 1 / np.sqrt(e[reached])
    system = -alpha * BB_u[np.ix_(reached, reached)] * root * root[:, None]
    system.flat[:: len(system) + 1] += 1 + len(system) * np.finfo(np.float64).eps
    U[reached] = root[:, None] * linalg.solve(system, root[:, None] * BY[reached], assume_a="pos", check_finite=False)
    return np.maximum(U, 0)
