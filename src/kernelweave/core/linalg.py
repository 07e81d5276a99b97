"""Linear algebra that every step shares: symmetric inverse, spectral norm, nearest positive semidefinite matrix."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import ArpackError, eigsh

from kernelweave.kernels._types import Matrix

__all__ = ["nearest_psd", "symmetric_inverse", "symmetric_part", "symmetric_spectral_norm"]

_DENSE_BELOW = 200  # LAPACK is faster than ARPACK for matrices smaller than this


def symmetric_part(M: Matrix) -> Matrix:
    """(M + M')/2."""
    return np.asarray((M + M.T) / 2)


def symmetric_inverse(M: Matrix) -> Matrix:
    """M^-1 of a symmetric M: Cholesky (potrf + potri, n³ flops), or LU where M is not positive definite."""
    potrf, potri = get_lapack_funcs(("potrf", "potri"), (M,))
    # the transpose of a C-ordered matrix is a Fortran view: LAPACK works on the one copy made here
    A = M.T.copy(order="F")
    R, info = potrf(A, lower=False, overwrite_a=True)
    if info == 0:
        R, info = potri(R, lower=False, overwrite_c=True)
    if info != 0:
        return symmetric_part(linalg.inv(M))
    upper = np.triu(R, 1)
    upper += upper.T
    np.fill_diagonal(upper, R.diagonal())
    return np.asarray(upper)


def symmetric_spectral_norm(M: Matrix) -> float:
    """||M||_2 of a symmetric M, its largest absolute eigenvalue."""
    n = len(M)
    if not M.any():
        return 0.0
    if n < _DENSE_BELOW:
        return float(np.abs(linalg.eigvalsh(M)).max())
    v0 = np.random.default_rng(0).standard_normal(n).astype(M.dtype)  # fixed: the norm is repeatable
    try:
        return float(abs(eigsh(M, k=1, which="LM", v0=v0, tol=1e-8, return_eigenvectors=False)[0]))
    except ArpackError:  # no convergence, or a matrix whose rank is too low for ARPACK's restarts
        return float(np.abs(linalg.eigvalsh(M)).max())


def nearest_psd(M: Matrix) -> Matrix:
    """Nearest positive semidefinite matrix in the Frobenius norm: negative eigenvalues become 0."""
    try:
        linalg.cholesky(M, lower=True, check_finite=False)
    except linalg.LinAlgError:
        values, V = linalg.eigh(M, check_finite=False)
        V = V[:, values > 0] * np.sqrt(values[values > 0])
        return np.asarray(V @ V.T)
    return M
