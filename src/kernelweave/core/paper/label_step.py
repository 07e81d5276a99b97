"""The relaxed labels P: how smooth they are on a graph, and the smoothest, for clustering: eigenvectors of L."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import ArpackError, eigsh

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import SymmetricOperator, average_with_transpose, eigenvectors

__all__ = ["embedding", "smoothness"]

_ARPACK_FROM = 400  # samples; LAPACK is faster below
_ARPACK_RESTARTS = 60  # where eigenvalues are close it may take thousands, and LAPACK is faster
_TOL = 1e-12
_ROWS = 32


def embedding(S: Matrix, c: int, *, overwrite: bool = False) -> Matrix:
    """Eq. 17: min Tr(P'LP), P'P = I: the eigenvectors of the c smallest eigenvalues of L, as columns.

    On a graph without edges (the released start, S = I) every P is a minimum: it is the first c unit vectors.
    With `overwrite` S must be symmetric and is overwritten.
    """
    n = len(S)
    W = S
    if not overwrite:
        W = S.copy()
        average_with_transpose(W)
    degrees = W.sum(axis=1) - W.diagonal()
    if not degrees.any():
        return np.eye(n, c, dtype=S.dtype)
    np.fill_diagonal(W, -degrees)  # now W = -L
    if n >= _ARPACK_FROM and n >= 20 * c and _connected(W):
        try:
            return _top_eigenvectors(W, c, shift=2 * float(degrees.max()))
        except ArpackError:  # no convergence where eigenvalues are close: fall back to LAPACK
            pass
    np.negative(W, out=W)
    return eigenvectors(W, 0, c - 1)


def smoothness(S: Matrix, *labels: Matrix) -> list[float]:
    """q = Tr(P'LP) = Σ_i D_ii ||P_i||² - <P, SP> for every P, D_ii the mean of the degrees by row and by column."""
    ones = np.ones((len(S), 1), dtype=S.dtype)
    *products, by_row = np.split(S @ np.hstack([*labels, ones]), np.cumsum([P.shape[1] for P in labels]), axis=1)
    degrees = (by_row.ravel() + ones.ravel() @ S) / 2
    pairs = zip(labels, products, strict=True)
    return [float(degrees @ np.einsum("ij,ij->i", P, P) - np.vdot(P, SP)) for P, SP in pairs]


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
    """Whether all samples are reached from the first; ARPACK may miss the repeated eigenvalue 0 of a graph in parts."""
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
