"""The labels' relaxation P: eigenvectors of the graph for clustering, harmonic functions for classification."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from kernelweave.core.linalg import symmetric_part
from kernelweave.kernels._types import Mask, Matrix

__all__ = ["embedding", "harmonic", "laplacian", "reached"]


def laplacian(S: Matrix) -> Matrix:
    """L = D - (S + S')/2: Tr(P'LP) sees only the symmetric part of S."""
    L = -symmetric_part(S)
    L.flat[:: len(L) + 1] -= L.sum(axis=1)
    return L


def embedding(S: Matrix, c: int) -> Matrix:
    """Eq. 17: min Tr(P'LP), P'P = I: the eigenvectors of the c smallest eigenvalues of L, as columns.

    On a graph without edges (the released start, S = I) every P is a minimum: it is the first c unit vectors.
    """
    L = laplacian(S)
    if not L.any():
        return np.eye(len(S), c, dtype=S.dtype)
    _, P = linalg.eigh(L, subset_by_index=(0, c - 1), check_finite=False)
    return np.asarray(P)


def reached(S: Matrix, labelled: Mask) -> Mask:
    """Which samples are connected to a labelled one; the others' classes are undefined."""
    _, part = connected_components(sparse.csr_array(S), directed=False)
    return np.asarray(np.isin(part, part[labelled]))


def harmonic(S: Matrix, Y: Matrix, labelled: Mask) -> Matrix:
    """Eq. 19: P_u = -L_uu^-1 L_ul Y_l, P_l = Y_l; rows of samples that no label reaches are 0."""
    P = np.where(labelled[:, None], Y, 0).astype(S.dtype)
    unknown = reached(S, labelled) & ~labelled
    if unknown.any():
        L = laplacian(S)
        rows = L[unknown]
        P[unknown] = linalg.solve(
            rows[:, unknown], -rows[:, labelled] @ Y[labelled], assume_a="pos", check_finite=False
        )
    return P
