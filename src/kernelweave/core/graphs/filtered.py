"""The bottom of the spectrum of a large sparse Laplacian by Chebyshev filters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from kernelweave._types import Matrix, Progress, Vector

__all__ = ["Spectrum", "filtered_eigenpairs"]


_SPARE = 8  # vectors beside those asked for: the further off their eigenvalues, the faster the others converge
_MAX_ITER = 40
_TOL = 1e-2  # of the largest eigenvalue asked for


@dataclass(frozen=True, slots=True, eq=False)
class Spectrum:
    """The smallest eigenvalues of L = D - S, ascending, their eigenvectors as columns, and their accuracy.

    Parameters
    ----------
    values : array (m,)
        Eigenvalues.
    vectors : array (n, m)
        Orthonormal eigenvectors.
    converged : bool
        Whether every residual is small.
    residual : float
        The largest ||Lv - λv|| in units of the largest of the eigenvalues.
    n_iter : int
        Filters that were applied; 0 for the direct solver.
    """

    values: Vector
    vectors: Matrix
    converged: bool
    residual: float
    n_iter: int


def filtered_eigenpairs(
    S: sparse.csr_array,
    m: int,
    *,
    seed: int,
    tol: float = _TOL,
    progress: Progress | None = None,
) -> Spectrum:
    """Chebyshev-filtered subspace iteration (Zhou and Saad, 2007) for the m smallest eigenpairs of L = D - S.

    Each round multiplies a block of m + 8 vectors by a polynomial of L that is small on the part of the spectrum above
    the block's own eigenvalues, and takes the best vectors of the block (Rayleigh and Ritz).
    """
    n = S.shape[0]
    W = sparse.csr_array(S, dtype=np.float64)
    d = np.asarray(W.sum(axis=1)).ravel()
    V: Matrix = np.random.RandomState(seed).standard_normal((n, min(m + _SPARE, n)))
    V[:, 0] = 1  # the first eigenvector
    top = _largest(W, d)
    edge, worst, n_iter = 0.2 * float(d.mean()), np.inf, 0
    values: Vector = np.zeros(m)
    while n_iter < _MAX_ITER:
        degree = int(np.clip(3 * np.sqrt(top / edge), 20, 120))
        V = _filtered(W, d, V, degree, edge, top)
        values, V, LV = _ritz(W, d, V)
        n_iter += 1
        LV[:, :m] -= V[:, :m] * values[:m]
        worst = float(np.sqrt(np.einsum("ij,ij->j", LV[:, :m], LV[:, :m])).max()) / max(values[m - 1], 1e-12 * top)
        if progress is not None:
            progress(f"eigenvectors (residual {worst:.1e})", n_iter, _MAX_ITER)
        if worst < tol:
            break
        edge = min(max(values[-1], 1e-7 * top), 0.5 * top)
    V = V[:, :m]
    V *= np.where((V**3).sum(axis=0) < 0, -1, 1)
    return Spectrum(np.maximum(values[:m], 0), V, converged=worst < tol, residual=worst, n_iter=n_iter)


def _largest(W: sparse.csr_array, d: Vector) -> float:
    """Return an upper bound of the spectrum: max_i d_i + max_{j ~ i} d_j, at most twice the largest degree."""
    theirs = np.maximum.reduceat(d[W.indices], np.minimum(W.indptr[:-1], W.nnz - 1))
    return float((d + theirs).max())


def _filtered(W: sparse.csr_array, d: Vector, V: Matrix, degree: int, edge: float, top: float) -> Matrix:
    """T_degree((L - c)/h) V with [edge, top] mapped to [-1, 1], scaled to 1 at 0, by the three-term recurrence."""
    c, h = (top + edge) / 2, (top - edge) / 2
    sigma1 = -h / c
    sigma = sigma1
    shift = (d - c)[:, None]
    old, new = V, _shifted(W, shift, V, sigma1 / h)
    for _ in range(degree - 1):
        following = 1 / (2 / sigma1 - sigma)
        step = _shifted(W, shift, new, 2 * following / h)
        old = old * (-sigma * following)  # a new array once, so that V's own is not written into
        step += old
        old, new, sigma = new, step, following
    return new


def _shifted(W: sparse.csr_array, shift: Matrix, V: Matrix, factor: float) -> Matrix:
    """Factor · (L - cI) V, shift = d - c."""
    out = W @ V
    np.negative(out, out=out)
    out += shift * V
    out *= factor
    return np.asarray(out)


def _ritz(W: sparse.csr_array, d: Vector, V: Matrix) -> tuple[Vector, Matrix, Matrix]:
    """Eigenvalues of L within the span of V, ascending, orthonormal vectors Q for them, and LQ."""
    Q = _orthonormal(V)
    LQ = d[:, None] * Q - W @ Q
    H = Q.T @ LQ
    values, U = linalg.eigh((H + H.T) / 2)
    return values, Q @ U, LQ @ U


def _orthonormal(V: Matrix) -> Matrix:
    """Return an orthonormal basis of the columns: by Cholesky of V'V, twice, or by QR where they nearly depend."""
    V = V / np.linalg.norm(V, axis=0)
    try:
        for _ in range(2):
            R = linalg.cholesky(V.T @ V, check_finite=False)
            V = linalg.solve_triangular(R, V.T, trans="T", check_finite=False).T
    except linalg.LinAlgError:
        return np.asarray(linalg.qr(V, mode="economic", check_finite=False)[0])
    return np.ascontiguousarray(V)
