"""The graph S of the samples: its closed form, and its residual, which the other steps use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import get_blas_funcs

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import average_with_transpose, outer_square

__all__ = [
    "graph_from_inverse",
    "identity_minus",
    "label_distances",
    "positive_graph",
    "residual",
    "unexpressed",
]

_TILE = 128


def label_distances(P: Matrix, *, squared: bool) -> Matrix:
    """G, g_ij = ||P_i - P_j||² (the paper), or its root (the released program)."""
    norms = np.einsum("ij,ij->i", P, P)
    G = P @ P.T
    G *= -2
    G += norms[:, None]
    G += norms
    np.maximum(G, 0, out=G)
    np.fill_diagonal(G, 0)
    return G if squared else np.sqrt(G, out=G)


def unexpressed(A: Matrix, P: Matrix, *, alpha: float, gamma: float, overwrite: bool = False) -> Matrix:
    """E = I - S of Eq. 14: E = γA + (α/4) AG with A = (K + γI)^-1; with `overwrite`, A (C-ordered) becomes E."""
    # G = v1' + 1v' - 2PP', v_i = ||P_i||², has rank c + 2, so AG costs n²c and one pass over A
    norms = np.einsum("ij,ij->i", P, P)
    ones = np.ones_like(norms)
    right = np.column_stack([P, ones, norms])
    left = (A @ np.column_stack([P, norms, ones])) * (alpha / 4)
    left[:, : P.shape[1]] *= -2
    (gemm,) = get_blas_funcs(("gemm",), (A,))
    # the transpose of a C-ordered matrix is the Fortran view that BLAS adds to in place
    E = gemm(1.0, right, left, trans_b=True, beta=gamma, c=A.T, overwrite_c=overwrite)
    return np.asarray(E.T)


def graph_from_inverse(A: Matrix, P: Matrix, *, alpha: float, gamma: float, squared: bool = True) -> Matrix:
    """Eq. 14 for all columns at once: S = (K + γI)^-1 (K - αG/4) = I - γA - (α/4) AG with A = (K + γI)^-1."""
    if squared:
        return identity_minus(unexpressed(A, P, alpha=alpha, gamma=gamma))
    S = A @ label_distances(P, squared=False)
    S *= -alpha / 4
    for rows in _tiles(len(A)):  # in tiles, so that γA needs no matrix of its own
        S[rows] -= gamma * A[rows]
    S.flat[:: len(S) + 1] += 1
    return np.asarray(S)


def identity_minus(E: Matrix) -> Matrix:
    """E becomes I - E, in place."""
    np.negative(E, out=E)
    E.flat[:: len(E) + 1] += 1
    return E


def positive_graph(S: Matrix) -> Matrix:
    """max(S, 0), averaged with its transpose, as a new matrix."""
    S = np.maximum(S, 0)
    average_with_transpose(S)
    return S


def residual(S: Matrix) -> Matrix:
    """M = EE' = (I - S)(I - S)'; Tr(K - 2KS + S'KS) = <K, M> for symmetric K."""
    return outer_square(identity_minus(S.copy()))


def _tiles(n: int) -> Iterator[slice]:
    return (slice(i, i + _TILE) for i in range(0, n, _TILE))
