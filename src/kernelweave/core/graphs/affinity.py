"""A sparse graph from a kernel: ridge affinities or self-tuned similarities, the k largest of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.core.paper.graph_step import ridge_inverse

__all__ = ["join_pieces", "modularity", "ridge_affinity", "self_tuned_affinity", "top_graph"]

_BLOCK = 256  # rows that are looked at together, so that no temporary is of the size of Z
_TIE = 1e-7  # relative difference below which the column decides: entries of Z are accurate to about 1e-12


def ridge_affinity(K: Matrix, *, gamma: float) -> Matrix:
    """Z = I - g(K + gI)^-1, g = γ tr(K)/n: Eq. 14 without the labels' term."""
    g = gamma * float(K.diagonal().mean())
    Z = ridge_inverse(K, gamma=g)
    Z *= -g
    Z.flat[:: len(Z) + 1] += 1
    return Z


def self_tuned_affinity(K: Matrix, *, neighbour: int) -> Matrix:
    """exp(-d_ij² / (σ_i σ_j)), d² = K_ii + K_jj - 2K_ij, σ_i the distance to a near neighbour."""
    k = K.diagonal()
    D = -2 * K
    D += k[:, None]
    D += k
    np.maximum(D, 0, out=D)
    np.fill_diagonal(D, 0)
    t = min(neighbour, len(D) - 1)
    scales = [np.partition(D[i : i + _BLOCK], t, axis=1)[:, t] for i in range(0, len(D), _BLOCK)]
    inverse = 1 / np.sqrt(np.maximum(np.concatenate(scales), np.finfo(D.dtype).tiny))
    with np.errstate(over="ignore"):  # of a sample with many copies all others are infinitely far away
        D *= -inverse[:, None]
        D *= inverse
    return np.asarray(np.exp(D, out=D))


def top_graph(Z: Matrix, k: int) -> sparse.csr_array:
    """S = (A + A')/2, A the k largest positive entries off the diagonal of every row of Z."""
    n = len(Z)
    k = min(k, n - 1)
    preference = _column_preference(Z)
    rows, cols, values = [], [], []
    for start in range(0, n, _BLOCK):
        block = Z[start : start + _BLOCK].copy()
        here = np.arange(len(block))
        block[here, start + here] = -np.inf
        top = np.argpartition(block * preference, n - k, axis=1)[:, n - k :]
        value = np.take_along_axis(block, top, axis=1)
        keep = value > 0
        rows.append(np.repeat(start + here, k).reshape(top.shape)[keep])
        cols.append(top[keep])
        values.append(value[keep])
    index = sparse.get_index_dtype(maxval=n * k)  # scikit-learn takes short indices only
    i, j = np.concatenate(rows).astype(index), np.concatenate(cols).astype(index)
    A = sparse.csr_array((np.concatenate(values), (i, j)), shape=(n, n))
    S = sparse.csr_array((A + A.T) / 2)
    S.sort_indices()
    return S


def _column_preference(Z: Matrix) -> Vector:
    """Factors within 1e-7 of 1 that rank the columns of Z by their norm, and equal ones by position.

    Copies of a sample have equal columns up to rounding. Every row must prefer the same copy: if rounding chose in each
    row, the graph would depend on the machine and on the order of the samples.
    """
    size = np.einsum("ij,ij->j", Z, Z)
    rank = np.round(size / (size.max() or 1), 9).argsort(kind="stable").argsort()
    return np.asarray(1 - _TIE * rank / len(Z), dtype=Z.dtype)


def join_pieces(S: sparse.csr_array, Z: Matrix) -> sparse.csr_array:
    """S with every piece but the largest tied to its best sample outside by Z, at the median weight, until one is left.

    In pieces, a graph has as many null vectors, and which of them the eigen solver returns is arbitrary.
    """
    n_pieces, piece = connected_components(S, directed=False)
    while n_pieces > 1:
        weight = np.median(S.data) if S.nnz else 1.0
        largest = np.bincount(piece).argmax()
        ties = np.array([_best_tie(Z, piece == q) for q in range(n_pieces) if q != largest])
        E = sparse.csr_array((np.full(len(ties), weight, dtype=S.dtype), (ties[:, 0], ties[:, 1])), shape=S.shape)
        S = sparse.csr_array(S.maximum(E.maximum(E.T)))
        n_pieces, piece = connected_components(S, directed=False)
    S.sort_indices()
    return S


def _best_tie(Z: Matrix, inside: Mask) -> tuple[int, int]:
    members, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    best = (-np.inf, 0, 0)
    for i in members:  # row by row: a piece may be half of the samples
        j = others[Z[i, others].argmax()]
        best = max(best, (float(Z[i, j]), -int(i), -int(j)))
    return -best[1], -best[2]


def modularity(S: sparse.csr_array, labels: NDArray[np.integer[Any]]) -> float:
    """Σ_c (S_cc - d_c²/s)/s, s = ΣS, S_cc the weight within cluster c, d_c its degrees (Newman and Girvan, 2004)."""
    total = float(S.sum())
    if total == 0:
        return 0.0
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    within = float(S.data[labels[rows] == labels[S.indices]].sum(dtype=np.float64))
    degrees = np.bincount(labels, weights=S.sum(axis=1))
    return float(within / total - ((degrees / total) ** 2).sum())
