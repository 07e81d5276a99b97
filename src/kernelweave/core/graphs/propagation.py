"""Labels spread over a graph: its Laplacian, harmonic functions, class masses."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.core.algebra.matrices import symmetric_part

Graph: TypeAlias = Any  # (n, n): a numpy array, or a scipy sparse array

__all__ = ["class_mass_factors", "class_mass_normalised", "harmonic", "laplacian", "reached"]


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
    P = np.where(labelled[:, None], Y, 0).astype(S.dtype)
    unknown = reached(S, labelled) & ~labelled
    if unknown.any():
        rows = _without_loops(S)[unknown]
        known = np.column_stack([Y[labelled], np.ones(np.count_nonzero(labelled), dtype=P.dtype)])
        Z = _scaled_solve(rows[:, unknown], rows.sum(axis=1), rows[:, labelled] @ known)
        # 1 is harmonic: dividing by what the solver makes of it undoes its error where groups are nearly cut off
        P[unknown] = np.divide(Z[:, :-1], Z[:, -1:], out=np.zeros_like(Z[:, :-1]), where=Z[:, -1:] > 0)
    return P


def _without_loops(S: Graph) -> Graph:
    """(S + S')/2 with a zero diagonal, which cancels in L: adding it to the degrees would only lose digits."""
    if sparse.issparse(S):
        W = sparse.csr_array((S + S.T) / 2)
        return W - sparse.diags_array(W.diagonal(), format="csr")
    W = symmetric_part(S)
    np.fill_diagonal(W, 0)
    return W


def _scaled_solve(W: Graph, d: Vector, B: Matrix) -> Matrix:
    """(D - W)^-1 B through the Cholesky factor of I - D^-1/2 W D^-1/2, up to a factor of each row."""
    s = 1 / np.sqrt(d)
    if sparse.issparse(W):
        return _sparse_scaled_solve(W, s, B * s[:, None]) * s[:, None]
    A = -W * s * s[:, None]
    A.flat[:: len(A) + 1] = 1
    B = B * s[:, None]
    try:
        R = linalg.cho_factor(A, check_finite=False)
    except linalg.LinAlgError:  # a group hangs by edges below rounding: the least ridge that rounding cannot undo
        A.flat[:: len(A) + 1] += len(A) * np.finfo(A.dtype).eps
        R = linalg.cho_factor(A, check_finite=False)
    return np.asarray(linalg.cho_solve(R, B, check_finite=False) * s[:, None])


def _sparse_scaled_solve(W: Graph, s: Vector, B: Matrix) -> Matrix:
    """(I - diag(s) W diag(s))^-1 B by a sparse factor, in double precision."""
    scale = sparse.diags_array(s.astype(np.float64))
    A = sparse.csc_array(sparse.eye_array(len(s)) - scale @ W @ scale)
    try:
        factor = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular: as in the dense case
        A += len(s) * np.finfo(np.float64).eps * sparse.eye_array(len(s))
        factor = splu(A)
    return np.asarray(factor.solve(B.astype(np.float64)), dtype=B.dtype)


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
