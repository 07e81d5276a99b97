"""The smallest eigenpairs of a large sparse Laplacian by Chebyshev filters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from kernelweave._types import Matrix, Progress, Vector

__all__ = ["Spectrum", "block_products", "chebyshev", "filtered_eigenpairs", "orthonormal"]

_SPARE = 8  # vectors in addition to those requested: the larger their eigenvalues, the faster the others converge
_MAX_ITER = 40
_DEGREES = (10, 120)  # of a filter, at least and at most
_TOL = 1e-2  # relative to the largest eigenvalue requested
_BLOCK = 1024  # rows that are converted to double precision at a time, so that they stay in the cache
_LOOSER = 10  # factor of the tolerance of eigenvectors beyond the first ones that have to be accurate


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The q smallest eigenvalues λ of L = diag(d) - S, ascending, their eigenvectors V as columns, and their accuracy.

    Parameters
    ----------
    values : array (q,)
        Eigenvalues.
    vectors : array (n, q)
        Orthonormal eigenvectors.
    block : array (n, >= q)
        These and the further vectors that converged less, from which a similar graph can start.
    converged : bool
        Whether every residual is small.
    residual : float
        The largest ||LV_j - λ_j V_j||, relative to the largest of the eigenvalues.
    n_iter : int
        Number of filters applied; 0 for the direct solver.
    """

    values: Vector
    vectors: Matrix
    block: Matrix
    converged: bool
    residual: float
    n_iter: int


def filtered_eigenpairs(
    S: sparse.csr_array,
    q: int,
    *,
    firm: int | None = None,
    seed: int = 0,
    start: Matrix | None = None,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
    max_degree: int | None = None,
    progress: Progress | None = None,
) -> Spectrum:
    """Chebyshev-filtered subspace iteration (Zhou and Saad, 2007) for the q smallest eigenpairs of L = diag(d) - S.

    Each iteration multiplies a block of q + 8 vectors by a polynomial of L that is small on the part of the spectrum
    above the block's own eigenvalues, and then solves the eigenproblem within their span (Rayleigh and Ritz). The block
    is `start`, eigenvectors of a similar graph, or random numbers. It has converged when the residuals of the first
    `firm` eigenvectors, all by default, are below `tol`, and those of the others below ten times that. It stops where
    a polynomial of more than `max_degree` would be needed.
    """
    W = sparse.csr_array(S, dtype=np.float64)
    d = np.asarray(W.sum(axis=1)).ravel()
    L = sparse.csr_array(sparse.diags_array(d) - W)
    top = _largest(W, d)
    if start is None:
        values, V = np.full(1, 0.2 * float(d.mean())), _random_block(d, q, seed)
    else:
        values, V, _ = _ritz(L, start)
    limits = np.where(np.arange(q) < (q if firm is None else firm), tol, _LOOSER * tol)
    residual, n_iter = np.full(q, np.inf), 0
    while n_iter < max_iter:
        edge = min(max(values[-1], 1e-7 * top), 0.5 * top)
        degree = 2.5 * np.sqrt(top / edge)
        if max_degree is not None and degree > max_degree:
            break
        V = chebyshev(L, V, int(np.clip(degree, *_DEGREES)), edge, top)
        values, V, LV = _ritz(L, V)
        n_iter += 1
        LV[:, :q] -= V[:, :q] * values[:q]
        residual = np.sqrt(np.einsum("ij,ij->j", LV[:, :q], LV[:, :q])) / max(values[q - 1], 1e-12 * top)
        if progress is not None:
            progress(f"eigenvectors (residual {residual.max():.1e})", n_iter, max_iter)
        if (residual < limits).all():
            break
    V *= np.where((V * V * V).sum(axis=0) < 0, -1, 1)
    worst, converged = float(residual.max()), bool((residual < limits).all())
    return Spectrum(np.maximum(values[:q], 0), V[:, :q], V, converged=converged, residual=worst, n_iter=n_iter)


def _random_block(d: Vector, q: int, seed: int) -> Matrix:
    """Return q + 8 vectors to start from: the first eigenvector, and random numbers that the order of d decides.

    Where no two samples have the same degree, the order of the samples does not matter.
    """
    n = len(d)
    V = np.random.RandomState(seed).standard_normal((n, min(q + _SPARE, n)))
    V = V[d.argsort(kind="stable").argsort()]
    V[:, 0] = 1
    return np.asarray(V)


def _largest(W: sparse.csr_array, d: Vector) -> float:
    """Return an upper bound of the eigenvalues: max_i d_i + max_{j ~ i} d_j, at most twice the largest degree."""
    theirs = np.maximum.reduceat(d[W.indices], np.minimum(W.indptr[:-1], W.nnz - 1))
    return float((d + theirs).max())


def chebyshev(L: sparse.csr_array, V: Matrix, degree: int, edge: float, top: float) -> Matrix:
    """Multiply V by the Chebyshev polynomial of L that maps [edge, top] to [-1, 1]: T_k+1(x) = 2x T_k(x) - T_k-1(x).

    The shift and the factor are those of the sparse matrix, so that a step is one product and one difference.
    """
    middle, half = (top + edge) / 2, (top - edge) / 2
    twice = sparse.csr_array(L - sparse.eye_array(L.shape[0], dtype=L.dtype) * L.dtype.type(middle))
    twice.data *= L.dtype.type(2 / half)
    old, new = V, np.asarray(twice @ V)
    new *= L.dtype.type(0.5)
    for _ in range(degree - 1):
        following = twice @ new
        following -= old
        old, new = new, following
    return new


def _ritz(L: sparse.csr_array, V: Matrix) -> tuple[Vector, Matrix, Matrix]:
    """Eigenvalues of L within the span of V, ascending, their orthonormal eigenvectors as the new V, and LV."""
    V = orthonormal(V / np.linalg.norm(V, axis=0))
    LV = L @ V
    projected = block_products(V, LV)
    values, rotation = linalg.eigh((projected + projected.T) / 2, check_finite=False)
    return values, V @ rotation, LV @ rotation


def orthonormal(V: Matrix) -> Matrix:
    """Return an orthonormal basis of the columns: by Cholesky of V'V, twice, or by QR if V'V is nearly singular."""
    try:
        for _ in range(2):
            factor = linalg.cholesky(block_products(V, V), check_finite=False)
            V = V @ linalg.inv(factor, check_finite=False).astype(V.dtype, copy=False)
    except linalg.LinAlgError:
        return np.asarray(linalg.qr(V.astype(np.float64), mode="economic", check_finite=False)[0], dtype=V.dtype)
    return V


def block_products(first: Matrix, second: Matrix) -> Matrix:
    """Return the products of the columns of two matrices, summed in double precision, block by block."""
    blocks = (slice(i, i + _BLOCK) for i in range(0, len(first), _BLOCK))
    return np.asarray(
        sum(
            first[rows].astype(np.float64, copy=False).T @ second[rows].astype(np.float64, copy=False)
            for rows in blocks
        )
    )
