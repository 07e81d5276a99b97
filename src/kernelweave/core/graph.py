"""The graph S of the samples: its closed form, and its residual that the other steps read."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kernelweave.core.linalg import outer_square, shifted, symmetric_inverse
from kernelweave.kernels._types import Matrix

__all__ = [
    "graph_from_inverse",
    "graph_step",
    "label_distances",
    "residual",
    "ridge_inverse",
    "unconstrained_graph",
]

_TILE = 128


def label_distances(P: Matrix, *, squared: bool) -> Matrix:
    """G, g_ij = ||P_i - P_j||² (the paper), or its root (the released program)."""
    p = np.einsum("ij,ij->i", P, P)
    G = P @ P.T
    G *= -2
    G += p[:, None]
    G += p
    np.maximum(G, 0, out=G)
    np.fill_diagonal(G, 0)
    return G if squared else np.sqrt(G, out=G)


def ridge_inverse(K: Matrix, *, gamma: float) -> Matrix:
    """A = (K + γI)^-1."""
    return symmetric_inverse(shifted(K, gamma), overwrite=True)


def graph_from_inverse(A: Matrix, P: Matrix, *, alpha: float, gamma: float, squared: bool = True) -> Matrix:
    """Eq. 14 for all columns at once: S = (K + γI)^-1 (K - αG/4) = I - γA - (α/4) AG with A = (K + γI)^-1."""
    if squared:
        # G = p1' + 1p' - 2PP' has rank c + 2, so -(α/4) AG costs n²c
        p = np.einsum("ij,ij->i", P, P)
        left = np.column_stack([A @ P, A @ p, A.sum(axis=1)]) * (alpha / 4)
        left[:, : P.shape[1]] *= -2
        S = left @ -np.column_stack([P, np.ones_like(p), p]).T
    else:
        S = A @ label_distances(P, squared=False)
        S *= -alpha / 4
    for rows in _tiles(len(A)):  # in tiles, so that γA needs no matrix of its own
        S[rows] -= gamma * A[rows]
    S.flat[:: len(S) + 1] += 1
    return np.asarray(S)


def unconstrained_graph(K: Matrix, P: Matrix, *, alpha: float, gamma: float, squared: bool = True) -> Matrix:
    """Eq. 14."""
    return graph_from_inverse(ridge_inverse(K, gamma=gamma), P, alpha=alpha, gamma=gamma, squared=squared)


def graph_step(K: Matrix, P: Matrix, *, alpha: float, gamma: float, squared: bool = True) -> Matrix:
    """Eq. 14, then the projection on S >= 0."""
    S = unconstrained_graph(K, P, alpha=alpha, gamma=gamma, squared=squared)
    return np.maximum(S, 0, out=S)


def residual(S: Matrix) -> Matrix:
    """M = (I - S)(I - S)': what S leaves unexpressed; Tr(K - 2KS + S'KS) = <K, M> for symmetric K."""
    E = -S
    E.flat[:: len(E) + 1] += 1
    return outer_square(E)


def _tiles(n: int) -> Iterator[slice]:
    return (slice(i, i + _TILE) for i in range(0, n, _TILE))
