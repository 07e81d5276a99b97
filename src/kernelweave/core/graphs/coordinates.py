"""Coordinates of the samples from the bottom of a sparse graph's spectrum, and memberships in clusters."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from kernelweave._types import Graph, Labels, Matrix, Vector
from kernelweave.core.graphs.propagation import laplacian

__all__ = [
    "bottom_eigenpairs",
    "cluster_means",
    "commute_rows",
    "fuzzy",
    "memberships",
    "nearness",
    "soft_rows",
    "unit_rows",
    "votes",
]

_DENSE_BELOW = 200  # LAPACK is faster than a factorisation and ARPACK for smaller graphs
_SHIFT = 1e-4  # of the mean degree: far from 0 for the factor's sake, near it for ARPACK's


def bottom_eigenpairs(S: sparse.csr_array, m: int) -> tuple[Vector, Matrix]:
    """L = D - S: its m smallest eigenvalues, ascending, and their eigenvectors as columns, signs fixed.

    ARPACK on (L + σI)^-1: without the inverse it can skip eigenpairs. In double precision whatever that of S.
    """
    L = laplacian(S.astype(np.float64))
    n = L.shape[0]
    if n < _DENSE_BELOW or m >= n // 2:
        values, V = linalg.eigh(L.toarray(), subset_by_index=(0, m - 1), check_finite=False)
    else:
        sigma = _SHIFT * (float(L.diagonal().mean()) or 1.0)
        shifted = sparse.csc_array(L + sigma * sparse.eye_array(n))
        factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        inverse = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
        v0 = np.random.default_rng(0).standard_normal(n)  # fixed: the embedding is repeatable
        values, V = eigsh(L, k=m, sigma=-sigma, OPinv=inverse, v0=v0)
        order = np.argsort(values, kind="stable")
        values, V = values[order], V[:, order]
    return np.asarray(np.maximum(values, 0)), _signed(V)


def unit_rows(P: Matrix) -> Matrix:
    """P_i / ||P_i||; a row of zeros stays."""
    norms = np.linalg.norm(P, axis=1, keepdims=True)
    return np.asarray(np.divide(P, norms, out=np.zeros_like(P), where=norms > 0))


def soft_rows(P: Matrix) -> Matrix:
    """P_i / ||P_i||^½: half way between rows as they are and rows of unit length."""
    norms = np.sqrt(np.linalg.norm(P, axis=1, keepdims=True))
    return np.asarray(np.divide(P, norms, out=np.zeros_like(P), where=norms > 0))


def commute_rows(values: Vector, P: Matrix) -> Matrix:
    """u_j / sqrt(λ_j + 1e-3 λ_m) for j = 2..m: squared distances are commute times, up to the cut at m eigenpairs."""
    scale = values[1:] + 1e-3 * values[-1]
    if len(scale) == 0 or scale[-1] <= 0:  # one eigenpair, or a graph in at least m pieces
        return P
    return np.asarray(P[:, 1:] / np.sqrt(scale))


def _signed(V: Matrix) -> Matrix:
    """Eigenvectors with Σv³ >= 0, a choice that does not depend on the order of the samples."""
    return np.asarray(V * np.where((V**3).sum(axis=0) < 0, -1, 1))


def memberships(S: Graph, P: Matrix, labels: Labels, c: int) -> Matrix:
    """M = (votes + fuzzy)/2: what a sample's neighbours say, and what its own coordinates say; rows sum to 1."""
    return np.asarray((votes(S, labels, c) + fuzzy(P, labels, c)) / 2, dtype=P.dtype)


def votes(S: Graph, labels: Labels, c: int) -> Matrix:
    """V = D^-1 W Y, W = S without loops: the share of its neighbours' weight that every cluster has.

    A sample without neighbours belongs to its own cluster alone.
    """
    Y = np.eye(c, dtype=S.dtype)[labels]
    loops = S.diagonal()
    V = np.maximum(S @ Y - loops[:, None] * Y, 0)
    d = V.sum(axis=1)
    alone = d <= np.finfo(V.dtype).eps * loops
    return np.asarray(np.where(alone[:, None], Y, V / np.where(alone, 1, d)[:, None]))


def fuzzy(P: Matrix, labels: Labels, c: int) -> Matrix:
    """F_ic ∝ 1/||p_i - m_c||², m_c the mean of cluster c: the membership of fuzzy c-means; 0 for an empty cluster."""
    return nearness(P, *cluster_means(P, labels, c))


def cluster_means(P: Matrix, labels: Labels, c: int) -> tuple[Matrix, Labels]:
    """m_c, the mean of every cluster, and its size."""
    counts = np.bincount(labels, minlength=c)
    return np.eye(c)[labels].T @ P / np.maximum(counts, 1)[:, None], counts


def nearness(P: Matrix, means: Matrix, counts: Labels) -> Matrix:
    """F_ic ∝ 1/||p_i - m_c||², 0 for an empty cluster."""
    P = P.astype(np.float64, copy=False)
    D = np.column_stack([((P - m) ** 2).sum(axis=1) for m in means])
    size = float(np.einsum("ij,ij->i", means, means).max())
    least = np.finfo(np.float64).eps * (size or 1.0)  # of a sample at a mean
    F = (counts > 0) / np.maximum(D, least)
    return np.asarray(F / F.sum(axis=1, keepdims=True))
