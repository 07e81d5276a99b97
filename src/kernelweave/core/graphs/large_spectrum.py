"""The smallest eigenpairs of the Laplacian of a large sparse graph, by Chebyshev filters in single precision.

Nearly all of the time is spent on products of the graph with a block of vectors. Single precision halves what is read;
a last step in double precision gives orthonormal eigenvectors and their residuals. It is fastest where neighbours are
close in the order of the nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from kernelweave._types import Matrix, Progress, Vector
from kernelweave.core.graphs.filtered import Spectrum, block_products, chebyshev, orthonormal

__all__ = ["large_spectrum", "largest_eigenvalue"]

_SPARE = 8  # vectors in addition to those requested: the larger their eigenvalues, the faster the others converge
_MAX_ITER = 40
_TOL = 1e-2  # relative to the largest eigenvalue requested
_LOOSER = 10  # factor of the tolerance of eigenvectors beyond the first ones that have to be accurate
_DEGREES = (10, 120)  # of a filter
_LANCZOS_STEPS = 12
_ROUNDING = 30 * float(np.finfo(np.float32).eps)  # of the largest eigenvalue: smaller residuals need double precision


def large_spectrum(
    S: sparse.csr_array,
    q: int,
    *,
    firm: int | None = None,
    start: Matrix | None = None,
    seed: int = 0,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
    progress: Progress | None = None,
) -> Spectrum:
    """Chebyshev-filtered subspace iteration (Zhou and Saad, 2007) for the q smallest eigenpairs of L = diag(d) - S.

    Each iteration multiplies a block of q + 7 vectors, orthogonal to the constant first eigenvector, by a polynomial of
    L that is small on the part of the spectrum above the block's own eigenvalues, and then solves the eigenproblem
    within their span (Rayleigh and Ritz). The block is `start`, at least q eigenvectors of a similar graph, or random
    numbers. It stops when the first `firm` residuals, all by default, are below `tol` and the others below ten times
    that.
    """
    n = S.shape[0]
    L = _laplacian(S, np.float32)
    top = largest_eigenvalue(L, seed)
    limits = np.where(np.arange(1, q) < (q if firm is None else firm), tol, _LOOSER * tol)
    values, residual, n_iter = np.full(q, 0.2 * float(L.diagonal().mean())), np.full(q - 1, np.inf), 0
    if start is None:
        V: Matrix = np.random.RandomState(seed).standard_normal((n, min(q - 1 + _SPARE, n - 1))).astype(np.float32)
    else:
        values, V, residual = _ritz(L, start[:, 1:].astype(np.float32), q)
    while n_iter < max_iter and (residual >= limits).any():
        edge = min(max(values[-1], 1e-7 * top), 0.5 * top)
        V = chebyshev(L, V, int(np.clip(4.5 * np.sqrt(top / edge), *_DEGREES)), edge, top)
        values, V, residual = _ritz(L, V, q)
        n_iter += 1
        if progress is not None:
            progress(f"eigenvectors (residual {residual.max(initial=0):.1e})", n_iter, max_iter)
        if L.dtype == np.float32 and tol * values[q - 2] < _ROUNDING * top:
            L, V = _laplacian(S, np.float64), V.astype(np.float64)
    return _in_double(_laplacian(S, np.float64), V, q, limits, n_iter)


def _in_double(L: sparse.csr_array, V: Matrix, q: int, limits: Vector, n_iter: int) -> Spectrum:
    """Return the q smallest eigenpairs within the span of V and the constant vector."""
    values, V, residual = _ritz(L, V.astype(np.float64), q)
    n = len(V)
    vectors = np.empty((n, q))
    vectors[:, 0] = 1 / np.sqrt(n)
    vectors[:, 1:] = V[:, : q - 1] * np.where((V[:, : q - 1] ** 3).sum(axis=0) < 0, -1, 1)
    found = np.concatenate([[0.0], np.maximum(values[: q - 1], 0)])
    worst = float(residual.max(initial=0))
    return Spectrum(found, vectors, vectors, converged=bool((residual < limits).all()), residual=worst, n_iter=n_iter)


def _laplacian(S: sparse.csr_array, dtype: type[np.floating[Any]]) -> sparse.csr_array:
    """Return L = diag(d) - S in this precision."""
    W = sparse.csr_array(S, dtype=np.float64)
    L = sparse.csr_array(sparse.diags_array(W.sum(axis=1)) - W, dtype=dtype)
    L.sort_indices()
    return L


def largest_eigenvalue(L: sparse.csr_array, seed: int = 0) -> float:
    """Return an upper bound of the eigenvalues, θ + β after 12 steps of Lanczos (Zhou and Li, 2011)."""
    n = L.shape[0]
    v = np.random.RandomState(seed).standard_normal(n).astype(L.dtype)
    v /= np.linalg.norm(v)
    old, alpha, beta = np.zeros_like(v), [], [0.0]
    for _ in range(min(_LANCZOS_STEPS, n)):
        new = L @ v - L.dtype.type(beta[-1]) * old
        alpha.append(float(new @ v))
        new -= L.dtype.type(alpha[-1]) * v
        beta.append(float(np.linalg.norm(new)))
        if beta[-1] <= np.finfo(L.dtype).eps * abs(alpha[0]):
            break
        old, v = v, new / L.dtype.type(beta[-1])
    return float(linalg.eigvalsh_tridiagonal(np.array(alpha), np.array(beta[1 : len(alpha)]))[-1]) + beta[-1]


def _ritz(L: sparse.csr_array, V: Matrix, q: int) -> tuple[Vector, Matrix, Vector]:
    """Return the eigenvalues of L within the span of V, ascending, their eigenvectors, and q - 1 relative residuals."""
    V = V - V.mean(axis=0, dtype=np.float64).astype(V.dtype)  # without the constant eigenvector
    V = orthonormal(V / np.linalg.norm(V, axis=0))
    LV = L @ V
    projected = block_products(V, LV)
    values, rotation = linalg.eigh((projected + projected.T) / 2)
    rotation = rotation.astype(V.dtype)
    V, LV = V @ rotation, LV @ rotation
    LV -= V * values.astype(V.dtype)
    residual = np.sqrt(np.diag(block_products(LV, LV)))[: q - 1]
    return values, V, residual / max(values[min(q, len(values) + 1) - 2], np.finfo(np.float64).tiny)
