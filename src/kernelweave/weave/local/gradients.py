"""Labels over a large sparse graph: harmonic scores and local and global consistency by conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.core.graphs.propagation import reached

__all__ = ["LabelScores", "conjugate_gradients", "harmonic_scores", "lgc_scores"]

_TOL = 1e-5
_MAX_ITER = 2000
_LGC_SHARE = 0.99  # of a sample's score that its neighbours give it


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Scores (n, c) of every sample for every class, and whether the solver came to rest, after how many steps."""

    scores: Matrix
    converged: bool
    n_iter: int


def harmonic_scores(S: sparse.csr_array, Y: Matrix, labelled: Mask) -> LabelScores:
    """L_uu P_u = -L_ul Y_l, P_l = Y_l; rows of samples that no label reaches are 0."""
    W = _without_loops(S)
    unknown = reached(S, labelled) & ~labelled
    P = np.where(labelled[:, None], Y, 0).astype(np.float64)
    if not unknown.any():
        return LabelScores(P, converged=True, n_iter=0)
    rows = W[unknown]
    d = np.asarray(rows.sum(axis=1)).ravel()
    A = rows[:, unknown]
    P[unknown], converged, n_iter = conjugate_gradients(
        lambda V: d[:, None] * V - A @ V, rows[:, labelled] @ P[labelled], d
    )
    return LabelScores(np.maximum(P, 0), converged, n_iter)


def lgc_scores(S: sparse.csr_array, Y: Matrix, labelled: Mask) -> LabelScores:
    """(I - a D^-1/2 S D^-1/2) P = Y with a = .99 (Zhou et al., 2004); known labels are put back in the end."""
    W = _without_loops(S)
    d = np.asarray(W.sum(axis=1)).ravel()
    s = np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    scale = sparse.diags_array(s)
    A = sparse.csr_array(scale @ W @ scale)
    B = np.where(labelled[:, None], Y, 0).astype(np.float64)
    P, converged, n_iter = conjugate_gradients(lambda V: V - _LGC_SHARE * (A @ V), B, np.ones(len(d)))
    P[labelled] = B[labelled]
    return LabelScores(np.maximum(P, 0), converged, n_iter)


def conjugate_gradients(
    multiply: Callable[[Matrix], Matrix], B: Matrix, diagonal: Vector, *, tol: float = _TOL, max_iter: int = _MAX_ITER
) -> tuple[Matrix, bool, int]:
    """A^-1 B, A positive definite, all columns at once, preconditioned by A's diagonal; if it converged; the steps."""
    inverse = (1 / diagonal)[:, None]
    X = np.zeros_like(B)
    R = B.copy()
    Z = inverse * R
    V = Z.copy()
    rz = _dots(R, Z)
    goal = tol**2 * np.maximum(rz, np.finfo(B.dtype).tiny)
    for step in range(max_iter):
        if (rz <= goal).all():
            return X, True, step
        AV = multiply(V)
        curvature = _dots(V, AV)
        a = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)  # 0: this column has come to rest
        X += a * V
        AV *= a
        R -= AV
        np.multiply(inverse, R, out=Z)
        new = _dots(R, Z)
        V *= np.divide(new, rz, out=np.zeros_like(rz), where=rz > 0)
        V += Z
        rz = new
    return X, bool((rz <= goal).all()), max_iter


def _dots(A: Matrix, B: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _without_loops(S: sparse.csr_array) -> sparse.csr_array:
    W = sparse.csr_array(S, dtype=np.float64, copy=True)
    W.setdiag(0)
    W.eliminate_zeros()
    return W
