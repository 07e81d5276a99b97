"""What steps do with matrices: inverse with a ridge, spectral norm, nearest semidefinite one, largest entries."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.linalg import get_blas_funcs, get_lapack_funcs
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from kernelweave._types import Labels, Matrix, Vector

__all__ = [
    "TIE",
    "SymmetricOperator",
    "average_with_transpose",
    "definite_inverse",
    "eigenpairs",
    "floor_spectrum",
    "has_alike_rows",
    "largest_columns",
    "nearest_psd",
    "norm_exceeds",
    "outer_square",
    "ridge_inverse",
    "symmetric_part",
    "symmetric_spectral_norm",
]

# the relative difference below which two computed numbers of 8 or 4 bytes count as equal. Scores of SMKL on BA that are
# equal differ by up to 4e-12 in double precision (with gamma=0.01), and by up to 2e-5 in single precision (with
# gamma=1; a smaller gamma needs double precision)
TIE = {8: 1e-9, 4: 1e-4}
# the same of sums over a row, which is about 1e-12 in double and 1e-7 in single precision; between two samples of
# ordinary tables of a thousand rows it is 1e-5 or more
_ALIKE = {8: 1e-9, 4: 1e-6}

_TILE = 128
_ABOVE = np.triu(np.ones((_TILE, _TILE), dtype=bool), 1)
_DENSE_BELOW, _ROUGH_BELOW = 200, 60  # LAPACK is faster than ARPACK for smaller matrices; if a norm may be rough
_SMALL = 64  # rows: halves are not faster than LAPACK up to here
_STEP = 16  # rows: products of matrices whose sizes are multiples of it are a few per cent faster
_THREADED_FROM = 2000  # rows: fits of more have the threads of scipy's BLAS, but one of numpy's
_NARROW = 8  # times k columns, below which a row is sorted as it is
_VECTORS = 8  # Lanczos vectors for a norm that need not be accurate: the default of 20 takes 20 products


def symmetric_part(M: Matrix) -> Matrix:
    """(M + M')/2."""
    M = M + M.T
    M /= 2
    return M


def average_with_transpose(M: Matrix) -> None:
    """M becomes (M + M')/2 in place, a tile at a time."""
    n = len(M)
    M *= 0.5
    for i in range(0, n, _TILE):
        rows = slice(i, i + _TILE)
        for j in range(i, n, _TILE):
            cols = slice(j, j + _TILE)
            upper, lower = M[rows, cols], M[cols, rows]
            upper += lower.T
            lower[...] = upper.T


def ridge_inverse(K: Matrix, *, gamma: float) -> Matrix:
    """A = (K + γI)^-1 of a symmetric K: Cholesky, or LU where K + γI is not positive definite."""
    A = definite_inverse(K, shift=gamma)
    return _indefinite_inverse(K, gamma) if A is None else A


def definite_inverse(M: Matrix, *, shift: float = 0.0) -> Matrix | None:
    """(M + shift·I)^-1 = TT', T = R^-1, M + shift·I = R'R (n³ flops), or None if that is not positive definite.

    Beside the result, the memory of half a matrix is allocated.
    """
    M = M.copy(order="C")
    M.flat[:: len(M) + 1] += shift
    (lauum,) = get_lapack_funcs(("lauum",), (M,))
    A = M.T  # of a C-ordered matrix it is a Fortran view, of which only the lower triangle of M is touched
    if not _inverse_root(A):
        return None
    A = lauum(A, lower=False, overwrite_c=True)[0].T
    if not np.isfinite(A.diagonal()).all():  # no entry of M^-1 is larger than the largest of its diagonal
        return None
    _mirror_lower(A)
    return np.asarray(A)


def _inverse_root(M: Matrix) -> bool:
    """The upper triangle of M = R'R becomes R^-1, by halves; return whether M is positive definite.

    With T = R^-1 of [A B; B' D]: T_A of A, C = T_A'B, T_D of D - C'C, and -T_A C T_D between them. These are products,
    which are faster than LAPACK's factorisation and inverse.
    """
    n = len(M)
    if n <= _SMALL:
        potrf, trtri = get_lapack_funcs(("potrf", "trtri"), (M,))
        R, info = potrf(M, lower=False, overwrite_a=True, clean=False)
        if info != 0 or not R.diagonal().all():
            return False
        M[...] = trtri(R, lower=False, overwrite_c=True)[0]  # a copy, if M is part of a matrix
        return True
    first, last = _halves(n)
    A, B, D = M[first, first], M[first, last], M[last, last]
    if not _inverse_root(A):
        return False
    trmm, syrk = get_blas_funcs(("trmm", "syrk"), (M,))
    C = trmm(1.0, A, B, trans_a=1)
    D[...] = syrk(-1.0, C, trans=1, beta=1.0, c=D)
    if not _inverse_root(D):
        return False
    B[...] = trmm(1.0, D, trmm(-1.0, A, C, overwrite_b=True), side=1, overwrite_b=True)
    return True


def _halves(n: int) -> tuple[slice, slice]:
    """Two halves of n rows; those of many rows are apart at a multiple of the rows that BLAS computes at once."""
    half = n // 2 if n < 2 * _STEP else -(-(n // 2) // _STEP) * _STEP
    return slice(half), slice(half, n)


def _indefinite_inverse(K: Matrix, gamma: float) -> Matrix:
    """(K + γI)^-1 by LU, of the upper triangle of K."""
    M = np.triu(K, 1)
    M = M + M.T
    np.fill_diagonal(M, K.diagonal() + gamma)
    msg = "The matrix is singular up to rounding."
    try:
        A = np.linalg.inv(M)  # that of scipy warns of what is refused here
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(msg) from error
    with np.errstate(over="ignore"):
        condition = np.linalg.norm(M, 1) * np.linalg.norm(A, 1)
    if condition * np.finfo(M.dtype).eps > 1:
        raise np.linalg.LinAlgError(msg)
    return symmetric_part(A)


def _mirror_lower(M: Matrix) -> None:
    """Copy the lower triangle onto the upper one, in place, a tile at a time."""
    n = len(M)
    for i in range(0, n, _TILE):
        rows = slice(i, i + _TILE)
        tile = M[rows, rows]
        np.copyto(tile, tile.T.copy(), where=_ABOVE[: len(tile), : len(tile)])
        for j in range(i + _TILE, n, _TILE):
            M[rows, j : j + _TILE] = M[j : j + _TILE, rows].T


def eigenpairs(M: Matrix, first: int, last: int) -> tuple[Vector, Matrix]:
    """The eigenvalues first to last of a symmetric M, ascending, and orthonormal eigenvectors as columns.

    Where many eigenvalues coincide (M nearly the identity), LAPACK's evr may miss some or fail: then all are computed.
    """
    try:
        values, V = linalg.eigh(M, subset_by_index=(first, last), check_finite=False)
    except linalg.LinAlgError:
        values, V = M[:0, 0], M[:, :0]
    if len(values) <= last - first:
        values, V = linalg.eigh(M, driver="evd", check_finite=False)
        values, V = values[first : last + 1], V[:, first : last + 1]
    return np.asarray(values), np.asarray(V)


def outer_square(E: Matrix, out: Matrix | None = None) -> Matrix:
    """E E' (n³ flops), exactly symmetric, in `out` if it is given.

    By halves of the rows: a general product between them is faster than syrk of all of them. Of many rows by syrk of
    scipy, whose BLAS may have several threads.
    """
    n = len(E)
    if out is None and n >= _THREADED_FROM:
        (syrk,) = get_blas_funcs(("syrk",), (E,))
        # BLAS reads Fortran order, which the transpose of a C-ordered matrix has, and fills the upper triangle
        C = (syrk(1.0, E, lower=0) if E.flags.f_contiguous else syrk(1.0, E.T, trans=1, lower=0)).T
        _mirror_lower(C)
        return np.asarray(C)
    C = np.empty((n, n), dtype=E.dtype) if out is None else out
    if n <= _TILE:
        return np.asarray(np.matmul(E, E.T, out=C))  # numpy calls syrk and mirrors the triangle
    first, last = _halves(n)
    np.matmul(E[last], E[first].T, out=C[last, first])
    C[first, last] = C[last, first].T
    outer_square(E[first], C[first, first])
    outer_square(E[last], C[last, last])
    return C


class SymmetricOperator(LinearOperator):  # type: ignore[misc]
    """v -> Mv of a symmetric M by symv, which reads its upper triangle only: half the memory traffic of a product."""

    def __init__(self, M: Matrix) -> None:
        super().__init__(M.dtype, M.shape)
        (self._symv,) = get_blas_funcs(("symv",), (M,))
        self._M = M.T  # in Fortran order, as BLAS reads it

    def matvec(self, v: Vector) -> Vector:
        """Return Mv, without the checks of the base class, which take as long as the product for a small M."""
        return np.asarray(self._symv(1.0, self._M, v, lower=1))

    _matvec = matvec


def symmetric_spectral_norm(M: Matrix, *, tol: float = 1e-8) -> float:
    """||M||_2 of a symmetric M, its largest absolute eigenvalue, to a relative accuracy of `tol`."""
    n = len(M)
    if not M.any():
        return 0.0
    rough = tol >= 0.01
    if n < (_ROUGH_BELOW if rough else _DENSE_BELOW):
        return float(np.abs(linalg.eigvalsh(M)).max())
    v0 = np.random.default_rng(0).standard_normal(n).astype(M.dtype)  # fixed: the norm is repeatable
    try:
        ncv = _VECTORS if rough else None
        values = eigsh(SymmetricOperator(M), k=1, which="LM", v0=v0, tol=tol, ncv=ncv, return_eigenvectors=False)
        return float(abs(values[0]))
    except ArpackError:  # no convergence, or a matrix whose rank is too low for ARPACK's restarts
        return float(np.abs(linalg.eigvalsh(M)).max())


def norm_exceeds(M: Matrix, limit: float) -> bool:
    """Whether ||M||_2 of a symmetric M is above the limit, which is compared with it to a tenth.

    ||M||_2 <= max_i Σ_j |M_ij|: where that is not above the limit, one pass over M is enough.
    """
    (lange,) = get_lapack_funcs(("lange",), (M,))
    return bool(lange("I", M.T) > limit) and symmetric_spectral_norm(M, tol=0.1) > limit


def nearest_psd(M: Matrix) -> Matrix:
    """Nearest positive semidefinite matrix in the Frobenius norm: negative eigenvalues become 0."""
    try:
        linalg.cholesky(M, lower=True, check_finite=False)
    except linalg.LinAlgError:
        values, V = linalg.eigh(M, check_finite=False)
        V = V[:, values > 0] * np.sqrt(values[values > 0])
        return np.asarray(V @ V.T)
    return M


def floor_spectrum(M: Matrix, floor: float, *, overwrite: bool = False) -> Matrix:
    """Nearest matrix to a symmetric M with no eigenvalue below `floor`."""
    values, V = linalg.eigh(M.T, overwrite_a=overwrite, check_finite=False)
    del M  # may be freed now
    V *= np.sqrt(np.maximum(values - floor, 0))  # M - floor·I becomes a square, by syrk: half of a product
    K = outer_square(V)
    K.flat[:: len(K) + 1] += floor
    return K


def largest_columns(values: Matrix, k: int) -> Labels:
    """Return the columns (n, k) of the k largest entries of every row, from large to small; ties go to the first."""
    n, width = values.shape
    k = min(k, width)
    if width <= _NARROW * k:
        return np.asarray(np.argsort(-values, axis=1, kind="stable")[:, :k])
    # at least k entries of a row reach the k-th largest maximum of groups of columns: a bound that is close to the k-th
    # largest entry, and much faster to compute, since the maxima of many columns are taken at once
    groups = 4 * k
    height = width // groups
    maxima = values[:, : height * groups].reshape(n, height, groups).max(axis=1)
    bound = np.partition(maxima, groups - k, axis=1)[:, groups - k]
    places = np.flatnonzero(values >= bound[:, None])
    rows, columns = np.divmod(places, width)
    counts = np.bincount(rows, minlength=n)
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    some = np.full((n, counts.max(initial=k)), -np.inf, dtype=values.dtype)
    of = np.zeros(some.shape, dtype=np.intp)
    some[rows, rank], of[rows, rank] = values.ravel()[places], columns
    order = np.argsort(-some, axis=1, kind="stable")[:, :k]
    return np.asarray(np.take_along_axis(of, order, axis=1))


def has_alike_rows(K: Matrix, rows: Labels) -> bool:
    """Whether two of these rows of K have the same Σ_j (K_ij - mean) and the same Σ_j (K_ij - mean)².

    If some permutation of the samples does not change K, rows that it exchanges have; others very rarely do.
    """
    mean, sums, squares = K.mean(dtype=np.float64), np.empty(len(K)), np.empty(len(K))
    for i in range(0, len(K), _TILE):
        centred = K[i : i + _TILE] - mean
        sums[i : i + _TILE] = centred.sum(axis=1)
        squares[i : i + _TILE] = np.einsum("ij,ij->i", centred, centred)
    most = float(squares[rows].max(initial=0)) or 1.0
    found = np.column_stack([squares[rows] / most, sums[rows] / np.sqrt(len(K) * most)])
    ascending = found[np.argsort(found[:, 0], kind="stable")]
    return bool((np.abs(np.diff(ascending, axis=0)) <= _ALIKE[K.itemsize]).all(axis=1).any())
