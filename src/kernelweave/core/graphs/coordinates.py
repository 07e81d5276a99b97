"""Coordinates of the samples from the smallest eigenpairs of a sparse graph's Laplacian, and the clusters they show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from kernelweave._types import Graph, Labels, Mask, Matrix, Progress, Vector
from kernelweave.core.algebra.matrices import eigenpairs
from kernelweave.core.graphs.filtered import Spectrum, filtered_eigenpairs
from kernelweave.core.graphs.large_spectrum import large_spectrum

__all__ = [
    "TOL",
    "EmbeddingKind",
    "bottom_eigenpairs",
    "bottom_spectrum",
    "commute_rows",
    "eigenvalue_gaps",
    "embedded",
    "laplacian",
    "margins",
    "nearness",
    "row_order",
    "shrinkage",
    "unit_rows",
    "votes",
]

EmbeddingKind: TypeAlias = Literal["auto", "merged", "raw", "soft", "unit", "commute"]

_FACTORISED_UP_TO = 10_000  # samples; shift and invert is accurate, but slow for more
_FILTERED_FROM = 1000  # samples; below, a factorisation is as fast as filters
_DENSE_BELOW = 400  # LAPACK is faster than a factorisation and ARPACK for smaller graphs
TOL, _MAX_ITER = 1e-4, 30  # of filters that can be replaced by a factorisation
_MAX_DEGREE = 60  # of such filters; graphs that need more, as those of few columns, have sparse factors
_ARPACK_TOL = 1e-9
_POWERS: dict[EmbeddingKind, float] = {"unit": 1.0, "soft": 0.5}  # of the norms that rows are divided by
_QUANTILE = 0.8  # of the graphs: a gap in a fifth of them is enough, since not every graph suits the data
_UNCONNECTED = 1e-6  # eigenvalue below which two parts are not connected at all, in units of the mean degree
_SHIFT = 1e-4  # of the mean degree: large enough for a stable factorisation, small enough for fast convergence


def laplacian(S: Graph) -> Graph:
    """L = diag(d) - W, W = (S + S')/2, d = W1: Tr(P'LP) depends on W only; a sparse S gives a sparse L."""
    if sparse.issparse(S):
        W = sparse.csc_array((S + S.T) / 2)
        return sparse.csc_array(sparse.diags_array(W.sum(axis=0)) - W)
    L = (S + S.T) / -2
    L.flat[:: len(L) + 1] -= L.sum(axis=1)
    return L


def bottom_spectrum(
    S: sparse.csr_array,
    q: int,
    *,
    firm: int | None = None,
    start: Matrix | None = None,
    tol: float = TOL,
    seed: int = 0,
    progress: Progress | None = None,
) -> Spectrum:
    """Return the q smallest eigenpairs of the Laplacian of S, by a factorisation or by filters, whichever is faster.

    Up to 10,000 samples, filters are applied from 1000 samples on, or with `start`, the eigenvectors of a similar
    graph, more than q. The factorisation replaces them where they would converge slowly. `tol` bounds their residual
    relative to the largest eigenvalue returned; the eigenvectors after the first `firm` may be less accurate. Above
    10,000 samples a factorisation would take too much memory.
    """
    n = S.shape[0]
    q = min(q, n)
    start = start if start is not None and start.shape[1] > q else None
    if n > _FACTORISED_UP_TO:
        return large_spectrum(S, q, firm=firm, start=start, seed=seed, progress=progress)
    if n >= _FILTERED_FROM or (start is not None and n >= _DENSE_BELOW):
        found = filtered_eigenpairs(
            S,
            q,
            firm=firm,
            seed=seed,
            start=start,
            tol=tol,
            max_iter=_MAX_ITER,
            max_degree=_MAX_DEGREE,
            progress=progress,
        )
        if found.converged:
            return found
    values, V = bottom_eigenpairs(S, q)
    return Spectrum(values, V, V, converged=True, residual=0.0, n_iter=0)


def bottom_eigenpairs(S: sparse.csr_array, q: int) -> tuple[Vector, Matrix]:
    """The q smallest eigenvalues λ of L, ascending, and their eigenvectors V as columns, signs fixed.

    ARPACK is applied to (L + shift I)^-1: without the inverse it can skip eigenpairs. Always in double precision.
    """
    n = S.shape[0]
    S = S.astype(np.float64)
    if n < _DENSE_BELOW or q >= n // 2:
        values, V = eigenpairs(laplacian(S.toarray()), 0, q - 1)
    else:
        L = laplacian(S)
        shift = _SHIFT * (float(L.diagonal().mean()) or 1.0)
        shifted = sparse.csc_array(L + shift * sparse.eye_array(n))
        factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        inverse = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
        v0 = np.random.default_rng(0).standard_normal(n)  # fixed: the embedding is repeatable
        values, V = eigsh(L, k=q, sigma=-shift, OPinv=inverse, v0=v0, tol=_ARPACK_TOL)
        order = np.argsort(values, kind="stable")
        values, V = values[order], V[:, order]
    signs = np.where((V**3).sum(axis=0) < 0, -1, 1)  # Σ_i V_ij³ >= 0 does not depend on the order of the samples
    return np.asarray(np.maximum(values, 0)), np.asarray(V * signs)


def embedded(values: Vector, V: Matrix, kind: EmbeddingKind, q: int) -> Matrix:
    """Return P (n, q): eigenvectors as they are, with normalised rows, or scaled to commute times."""
    if kind == "commute":  # without the constant eigenvector, whose eigenvalue is 0
        return commute_rows(values[: q + 1], V[:, : q + 1])
    P = V[:, :q] if q > 1 else V[:, 1:2]  # the first eigenvector is constant
    return unit_rows(P, _POWERS[kind]) if kind in _POWERS else np.asarray(P)


def unit_rows(P: Matrix, power: float = 1.0) -> Matrix:
    """P_i / ||P_i||^power: unit rows, or rows between these and P_i for a power below 1; a row of zeros stays."""
    norms = np.linalg.norm(P, axis=1, keepdims=True) ** power
    return np.asarray(np.divide(P, norms, out=np.zeros_like(P), where=norms > 0))


def commute_rows(values: Vector, V: Matrix) -> Matrix:
    """Columns V_j / sqrt(λ_j + 1e-3 λ_q), j = 2..q: squared distances are commute times, truncated at q eigenpairs."""
    scale = values[1:] + 1e-3 * values[-1]
    if len(scale) == 0 or scale[-1] <= 0:  # one eigenpair, or a graph in at least q pieces
        return V
    return np.asarray(V[:, 1:] / np.sqrt(scale))


def row_order(V: Matrix) -> NDArray[np.intp]:
    """Return the order of the rows by their last coordinate, and by those before it where that is the same."""
    order = np.argsort(V[:, -1], kind="stable")
    last = V[order, -1]
    return order if (last[1:] > last[:-1]).all() else np.lexsort(V.T)  # which sorts by every column


def eigenvalue_gaps(
    eigenvalues: Sequence[Vector],
    without: Sequence[Vector] | None,
    numbers: Labels,
    even: Mask | None = None,
) -> Vector:
    """Return how far the eigenvalue after each number stands out: λ_{k+1}/λ_k, relative to that without structure.

    It is 1 in graphs and for numbers that are not `even` (n_graphs, n_numbers).
    """
    ratios = np.array([_ratios(values, numbers) for values in eigenvalues])
    ratios = ratios if even is None else np.where(even, ratios, 1)
    if without is not None:
        ratios = ratios / np.maximum([_ratios(values, numbers) for values in without], 1)
    return np.asarray(np.quantile(ratios, _QUANTILE, axis=0))


def _ratios(values: Vector, numbers: Labels) -> Vector:
    """Return λ_{k+1} / λ_k for each number k; 1 where there are not as many eigenvalues."""
    values = np.maximum(values, _UNCONNECTED)
    return np.array([values[k] / values[k - 1] if k < len(values) else 1.0 for k in numbers])


def votes(S: Graph, labels: Labels, c: int) -> Matrix:
    """F = diag(d)^-1 W Y, W = S without its diagonal, d = W1: the share of each cluster in a sample's edge weights.

    For a sample without neighbours it is 1 for its own cluster.
    """
    Y = np.eye(c, dtype=S.dtype)[labels]
    loops = S.diagonal()
    F = np.maximum(S @ Y - loops[:, None] * Y, 0)
    d = F.sum(axis=1)
    alone = d <= np.finfo(F.dtype).eps * loops
    return np.asarray(np.where(alone[:, None], Y, F / np.where(alone, 1, d)[:, None]))


def nearness(P: Matrix, means: Matrix, counts: Labels) -> Matrix:
    """M_ij ∝ 1/D_ij, D_ij = ||P_i - mean of cluster j||², as in fuzzy c-means; 0 for an empty cluster."""
    P = P.astype(np.float64, copy=False)
    D = np.column_stack([((P - mean) ** 2).sum(axis=1) for mean in means])
    size = float(np.einsum("ij,ij->i", means, means).max())
    least = np.finfo(np.float64).eps * (size or 1.0)  # for a sample at a mean
    M = (counts > 0) / np.maximum(D, least)
    return np.asarray(M / M.sum(axis=1, keepdims=True))


def shrinkage(S: Graph, P: Matrix) -> Vector:
    """ρ_j = <x, diag(d)^-1 W x> / <x, x>, x column j of P: the factor by which averaging over neighbours shrinks P.

    W is S without its diagonal, and d = W1. An eigenvector x of L has diag(d)^-1 W x = (1 - λ/d) x, so that means over
    neighbours of P / ρ have the scale of P.
    """
    loops = S.diagonal()
    d = np.asarray(S.sum(axis=1)).ravel() - loops
    means = np.divide(S @ P - loops[:, None] * P, d[:, None], out=np.zeros_like(P), where=d[:, None] > 0)
    size = np.einsum("ij,ij->j", P, P)
    rho = np.divide(np.einsum("ij,ij->j", P, means), size, out=np.ones_like(size), where=size > 0)
    return np.where(rho > np.sqrt(np.finfo(P.dtype).eps), rho, 1)  # columns that averaging removes are not scaled


def margins(M: Matrix, labels: Labels) -> tuple[Vector, Vector]:
    """Return the membership of every sample in its own cluster, and its difference to the largest in another."""
    rows = np.arange(len(M))
    confidence = M[rows, labels]
    if M.shape[1] == 1:
        return confidence, confidence
    others = M.copy()
    others[rows, labels] = -np.inf
    return confidence, confidence - others.max(axis=1)
