"""The graph S of the samples: its closed form, and its residual that the other steps read."""

from __future__ import annotations

import numpy as np

from kernelweave.core.linalg import symmetric_inverse
from kernelweave.kernels._types import Matrix

__all__ = ["graph_step", "label_distances", "residual", "unconstrained_graph"]


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


def unconstrained_graph(K: Matrix, P: Matrix, *, alpha: float, gamma: float, squared: bool = True) -> Matrix:
    """Eq. 14 for all columns at once: S = (K + γI)^-1 (K - αG/4) = I - γA - (α/4) AG with A = (K + γI)^-1."""
    A = K.copy()
    A.flat[:: len(A) + 1] += gamma
    A = symmetric_inverse(A)
    if squared:
        # G = p1' + 1p' - 2PP' has rank c + 2, so AG costs n²c
        p = np.einsum("ij,ij->i", P, P)
        AG = (A @ P) @ P.T
        AG *= -2
        AG += (A @ p)[:, None]
        AG += np.outer(A.sum(axis=1), p)
    else:
        AG = A @ label_distances(P, squared=False)
    AG *= alpha / 4
    A *= -gamma
    A -= AG
    A.flat[:: len(A) + 1] += 1
    return A


def graph_step(K: Matrix, P: Matrix, *, alpha: float, gamma: float, squared: bool = True) -> Matrix:
    """Eq. 14, then the projection on S >= 0."""
    S = unconstrained_graph(K, P, alpha=alpha, gamma=gamma, squared=squared)
    return np.maximum(S, 0, out=S)


def residual(S: Matrix) -> Matrix:
    """M = (I - S)(I - S)': what S leaves unexpressed; Tr(K - 2KS + S'KS) = <K, M> for symmetric K."""
    E = -S
    E.flat[:: len(E) + 1] += 1
    return np.asarray(E @ E.T)
