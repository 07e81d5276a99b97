"""Labels spread over a graph: harmonic functions, local and global consistency, class masses.

Both kinds of spreading solve (I - a D^-½ W D^-½) Z = B: directly for dense graphs and for sparse ones of moderate
size, by conjugate gradients for larger ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from kernelweave._types import Graph, Mask, Matrix, Vector
from kernelweave.core.algebra.matrices import symmetric_part

__all__ = [
    "LGC_SHARE",
    "LabelScores",
    "class_mass_factors",
    "class_mass_normalised",
    "conjugate_gradients",
    "consistent",
    "consistent_scores",
    "harmonic",
    "harmonic_scores",
    "laplacian",
    "reached",
]

LGC_SHARE = 0.99  # of a sample's score that comes from its neighbours, as Zhou et al. (2004) have it
_FACTORISED_UP_TO = 10_000  # unknown samples of a sparse graph; conjugate gradients are faster above
_TOL = 1e-5
_MAX_ITER = 2000


class LabelScores(NamedTuple):
    """Scores (n, c) of every sample for every class, whether the solver converged, and its iterations (0: direct)."""

    scores: Matrix
    converged: bool = True
    n_iter: int = 0


def laplacian(S: Graph) -> Graph:
    """L = D - (S + S')/2: Tr(P'LP) sees only the symmetric part of S; a sparse S gives a sparse L."""
    if sparse.issparse(S):
        W = sparse.csc_array((S + S.T) / 2)
        return sparse.csc_array(sparse.diags_array(W.sum(axis=0)) - W)
    L = -symmetric_part(S)
    L.flat[:: len(L) + 1] -= L.sum(axis=1)
    return L


def reached(S: Graph, labelled: Mask) -> Mask:
    """Which samples are connected to a labelled one; the others' classes are undefined."""
    _, part = connected_components(sparse.csr_array(S), directed=False)
    return np.asarray(np.isin(part, part[labelled]))


def harmonic(S: Graph, Y: Matrix, labelled: Mask) -> Matrix:
    """Eq. 19: P_u = -L_uu^-1 L_ul Y_l, P_l = Y_l; rows of samples that no label reaches are 0."""
    return harmonic_scores(S, Y, labelled).scores


def harmonic_scores(S: Graph, Y: Matrix, labelled: Mask) -> LabelScores:
    """Eq. 19, and whether the solver converged."""
    P = np.where(labelled[:, None], Y, 0).astype(S.dtype)
    unknown = reached(S, labelled) & ~labelled
    if not unknown.any():
        return LabelScores(P)
    rows = without_loops(S)[unknown]
    known = np.column_stack([Y[labelled], np.ones(np.count_nonzero(labelled), dtype=P.dtype)])
    s = 1 / np.sqrt(np.asarray(rows.sum(axis=1)).ravel())
    Z, converged, n_iter = _solve(rows[:, unknown], s, (rows[:, labelled] @ known) * s[:, None], 1.0)
    # 1 is harmonic: dividing by the solver's answer for it cancels the error where groups are nearly cut off
    P[unknown] = np.divide(Z[:, :-1], Z[:, -1:], out=np.zeros_like(Z[:, :-1]), where=Z[:, -1:] > 0)
    return LabelScores(P, converged, n_iter)


def consistent(W: Graph, Y: Matrix, share: float = LGC_SHARE) -> LabelScores:
    """F = (I - a D^-½ W D^-½)^-1 Y for W >= 0 (Zhou et al., 2004); a sample without similarities keeps its label."""
    d = np.asarray(W.sum(axis=1)).ravel()
    s = np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    return LabelScores(*_solve(W, s, Y, share))


def consistent_scores(S: Graph, Y: Matrix, labelled: Mask) -> LabelScores:
    """Scores of local and global consistency on the graph without loops, at least 0; known labels are kept."""
    known = np.where(labelled[:, None], Y, 0).astype(S.dtype)
    F, converged, n_iter = consistent(without_loops(S), known)
    F = np.maximum(F, 0)
    F[labelled] = known[labelled]
    return LabelScores(F, converged, n_iter)


def without_loops(S: Graph) -> Graph:
    """(S + S')/2 with a zero diagonal, which cancels in L: adding it to the degrees would only lose digits."""
    if sparse.issparse(S):
        W = sparse.csr_array((S + S.T) / 2)
        return W - sparse.diags_array(W.diagonal(), format="csr")
    W = symmetric_part(S)
    np.fill_diagonal(W, 0)
    return W


def _solve(W: Graph, s: Vector, B: Matrix, share: float) -> tuple[Matrix, bool, int]:
    """(I - a diag(s) W diag(s))^-1 B, whether it converged, and the iterations (0: direct)."""
    if not sparse.issparse(W):
        return _dense_solve(-share * W * s * s[:, None], B), True, 0
    scale = sparse.diags_array(s.astype(np.float64))
    A = sparse.csr_array(scale @ W @ scale)
    if len(s) > _FACTORISED_UP_TO:
        Z, converged, n_iter = conjugate_gradients(
            lambda V: V - share * (A @ V), B.astype(np.float64), 1 - share * A.diagonal()
        )
        return Z.astype(B.dtype), converged, n_iter
    return _factorised_solve(sparse.csc_array(sparse.eye_array(len(s)) - share * A), B), True, 0


def _dense_solve(A: Matrix, B: Matrix) -> Matrix:
    """(I + A)^-1 B by Cholesky; A is overwritten."""
    A.flat[:: len(A) + 1] += 1
    try:
        R = linalg.cho_factor(A, check_finite=False)
    except linalg.LinAlgError:  # a group hangs by edges below rounding: add the least ridge above it
        A.flat[:: len(A) + 1] += len(A) * np.finfo(A.dtype).eps
        R = linalg.cho_factor(A, check_finite=False)
    return np.asarray(linalg.cho_solve(R, B, check_finite=False))


def _factorised_solve(A: sparse.csc_array, B: Matrix) -> Matrix:
    """A^-1 B by a sparse factor, in double precision."""
    try:
        factor = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular: as in the dense case
        n = A.shape[0]
        factor = splu(sparse.csc_array(A + n * np.finfo(np.float64).eps * sparse.eye_array(n)))
    return np.asarray(factor.solve(B.astype(np.float64)), dtype=B.dtype)


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
        a = np.divide(rz, curvature, out=np.zeros_like(rz), where=curvature > 0)  # 0: this column has converged
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


def class_mass_normalised(F: Matrix, labelled: Mask, shares: Vector | None = None) -> Matrix:
    """Zhu et al. (2003), eq. 9: F_ic q_c / m_c for the unlabelled i, m_c the share of class c in their scores.

    q are the classes' expected shares; by default those of the labelled rows of F, which do not change.
    """
    q = F[labelled].sum(axis=0) if shares is None else np.asarray(shares, dtype=F.dtype)
    F_u = F[~labelled]
    m = F_u.sum(axis=0)
    normalised = F.copy()
    # a class without mass among the unlabelled samples has nothing to scale
    normalised[~labelled] = np.divide(F_u, m, out=np.zeros_like(F_u), where=m > 0) * (q * (m.sum() / q.sum()))
    return normalised


def class_mass_factors(F: Matrix, labelled: Mask) -> Vector:
    """q_c / m_c up to a common factor, by which `class_mass_normalised` multiplies; 1 for a class without mass."""
    q, m = F[labelled].sum(axis=0), F[~labelled].sum(axis=0)
    return np.asarray(np.divide(q * (m.sum() / q.sum()), m, out=np.ones_like(m), where=m > 0))
