"""The labels' relaxation P: eigenvectors of the graph for clustering, harmonic functions for classification."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackError, eigsh, splu

from kernelweave.core.linalg import SymmetricOperator, average_with_transpose, eigenvectors, symmetric_part
from kernelweave.kernels._types import Mask, Matrix, Vector

Graph: TypeAlias = Any  # (n, n): a numpy array, or a scipy sparse array

_ARPACK_FROM = 400  # samples; LAPACK is faster below
_ARPACK_RESTARTS = 60  # where eigenvalues crowd it may take thousands, and LAPACK is done long before
_TOL = 1e-12
_ROWS = 32

__all__ = ["class_mass_factors", "class_mass_normalised", "embedding", "harmonic", "laplacian", "reached"]


def laplacian(S: Graph) -> Graph:
    """L = D - (S + S')/2: Tr(P'LP) sees only the symmetric part of S; a sparse S gives a sparse L."""
    if sparse.issparse(S):
        W = sparse.csc_array((S + S.T) / 2)
        return sparse.csc_array(sparse.diags_array(W.sum(axis=0)) - W)
    L = -symmetric_part(S)
    L.flat[:: len(L) + 1] -= L.sum(axis=1)
    return L


def embedding(S: Matrix, c: int, *, overwrite: bool = False) -> Matrix:
    """Eq. 17: min Tr(P'LP), P'P = I: the eigenvectors of the c smallest eigenvalues of L, as columns.

    On a graph without edges (the released start, S = I) every P is a minimum: it is the first c unit vectors.
    With `overwrite` S must be symmetric, and gives its memory.
    """
    n = len(S)
    W = S
    if not overwrite:
        W = S.copy()
        average_with_transpose(W)
    d = W.sum(axis=1) - W.diagonal()
    if not d.any():
        return np.eye(n, c, dtype=S.dtype)
    np.fill_diagonal(W, -d)  # now W = -L
    if n >= _ARPACK_FROM and n >= 20 * c and _connected(W):
        try:
            return _top_eigenvectors(W, c, shift=2 * float(d.max()))
        except ArpackError:  # no convergence where eigenvalues crowd: LAPACK knows no such trouble
            pass
    np.negative(W, out=W)
    return eigenvectors(W, 0, c - 1)


def _top_eigenvectors(W: Matrix, c: int, *, shift: float) -> Matrix:
    """Eigenvectors of the c largest eigenvalues of W + shift·I, largest first, by ARPACK.

    An angle is off by about _TOL·shift/gap: 1e-6 where the gap after the c-th eigenvalue is a millionth of the shift.
    """
    W.flat[:: len(W) + 1] += shift
    v0 = np.random.default_rng(0).standard_normal(len(W)).astype(W.dtype)  # fixed: the embedding is repeatable
    tol = max(_TOL, 2 * float(np.finfo(W.dtype).eps))
    values, P = eigsh(SymmetricOperator(W), k=c, which="LA", v0=v0, ncv=2 * c + 11, tol=tol, maxiter=_ARPACK_RESTARTS)
    return np.asarray(P[:, np.argsort(-values, kind="stable")])


def _connected(W: Matrix) -> bool:
    """Whether all samples are reached from the first; a graph in parts has eigenvalues that ARPACK may miss."""
    seen = np.arange(len(W)) == 0
    front = np.flatnonzero(seen)
    while len(front):
        before = seen.copy()
        for i in range(0, len(front), _ROWS):  # some rows at a time: they are copied
            seen |= (W[front[i : i + _ROWS]] > 0).any(axis=0)
            if seen.all():
                return True
        front = np.flatnonzero(seen & ~before)
    return len(W) == 1


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
