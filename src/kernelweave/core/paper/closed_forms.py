"""The steps of the paper in closed form: the graph S, the consensus K, the weights of the kernels, the labels P."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.linalg import get_blas_funcs
from scipy.sparse.linalg import ArpackError, eigsh

from kernelweave._types import Matrix, Vector
from kernelweave.core.algebra.matrices import SymmetricOperator, average_with_transpose, eigenpairs, outer_square

__all__ = [
    "DISTANCE_FLOOR",
    "SAFEGUARDED_FLOOR",
    "combine",
    "consensus_distances",
    "consensus_weights",
    "embedding",
    "graph_from_inverse",
    "identity_minus",
    "kernel_products",
    "kernel_residuals",
    "kernel_step",
    "label_distances",
    "parametrised_weights",
    "perturbation_term",
    "positive_graph",
    "product_distances",
    "residual",
    "self_weighted_mean",
    "self_weights",
    "smoothness",
    "unexpressed",
]

# δ as a share of the largest kernel's norm: distances below it are raised to it, so that weights are finite
DISTANCE_FLOOR = 1e-10
# δ for distances from HH, which is summed in double precision, and h, whose error is multiplied by δ. It is the same in
# single precision: a larger one would lead to another graph, as a kernel that K is equal to has the weight 1/(2δ)
SAFEGUARDED_FLOOR = 1e-6
_TILE = 128
_ROWS = 16
_FRONT_ROWS = 32
_MAX_CYCLES = 300  # of the weights at the fixed point
_MAX_STRIDE = 1e3
_WEIGHTS_TOL = 1e-10
_ARPACK_FROM = 400  # samples; LAPACK is faster below
_ARPACK_RESTARTS = 60  # where eigenvalues are close it may take thousands, and LAPACK is faster
_ARPACK_TOL = 1e-12
_SPARE, _SPARE_SINGLE = 11, 6  # Lanczos vectors beside 2c: the larger tolerance of single precision needs fewer


def label_distances(P: Matrix, *, squared: bool) -> Matrix:
    """G, g_ij = ||P_i - P_j||² (the paper), or its root (the released program)."""
    norms = np.einsum("ij,ij->i", P, P)
    G = P @ P.T
    G *= -2
    G += norms[:, None]
    G += norms
    np.maximum(G, 0, out=G)
    np.fill_diagonal(G, 0)
    return G if squared else np.sqrt(G, out=G)


def unexpressed(A: Matrix, P: Matrix, *, alpha: float, gamma: float, overwrite: bool = False) -> Matrix:
    """E = I - S of Eq. 14: E = γA + (α/4) AG with A = (K + γI)^-1; with `overwrite`, A (C-ordered) becomes E."""
    # G = v1' + 1v' - 2PP', v_i = ||P_i||², has rank c + 2, so AG costs n²c and one pass over A
    norms = np.einsum("ij,ij->i", P, P)
    ones = np.ones_like(norms)
    right = np.column_stack([P, ones, norms])
    left = (A @ np.column_stack([P, norms, ones])) * (alpha / 4)
    left[:, : P.shape[1]] *= -2
    (gemm,) = get_blas_funcs(("gemm",), (A,))
    # the transpose of a C-ordered matrix is the Fortran view that BLAS adds to in place
    E = gemm(1.0, right, left, trans_b=True, beta=gamma, c=A.T, overwrite_c=overwrite)
    return np.asarray(E.T)


def graph_from_inverse(A: Matrix, P: Matrix, *, alpha: float, gamma: float, squared: bool = True) -> Matrix:
    """Eq. 14 for all columns at once: S = (K + γI)^-1 (K - αG/4) = I - γA - (α/4) AG with A = (K + γI)^-1."""
    if squared:
        return identity_minus(unexpressed(A, P, alpha=alpha, gamma=gamma))
    S = A @ label_distances(P, squared=False)
    S *= -alpha / 4
    for rows in _tiles(len(A)):  # in tiles, so that γA needs no matrix of its own
        S[rows] -= gamma * A[rows]
    S.flat[:: len(S) + 1] += 1
    return np.asarray(S)


def identity_minus(E: Matrix) -> Matrix:
    """E becomes I - E, in place."""
    np.negative(E, out=E)
    E.flat[:: len(E) + 1] += 1
    return E


def positive_graph(S: Matrix) -> Matrix:
    """max(S, 0), averaged with its transpose, as a new matrix."""
    W = np.maximum(S, np.zeros(len(S), dtype=S.dtype))  # twice as fast as with the scalar 0, which is not vectorised
    average_with_transpose(W)
    return W


def residual(S: Matrix) -> Matrix:
    """M = EE' = (I - S)(I - S)'; Tr(K - 2KS + S'KS) = <K, M> for symmetric K."""
    return outer_square(identity_minus(S.copy()))


def _tiles(n: int) -> Iterator[slice]:
    return (slice(i, i + _TILE) for i in range(0, n, _TILE))


def combine(H: Matrix, w: Vector) -> Matrix:
    """Σ_i w_i H_i, without a temporary of the size of H."""
    r, n, m = H.shape
    return np.asarray((w.astype(H.dtype) @ H.reshape(r, n * m)).reshape(n, m))


def kernel_step(H: Matrix, w: Vector, M: Matrix, *, beta: float) -> Matrix:
    """Eq. 16: K = Σ w_i H_i / Σ w_i - M / (2β Σ w_i), with M = (I - S)(I - S)', the symmetric part of the paper's."""
    total = float(w.sum())
    K = combine(H, w / total)
    (axpy,) = get_blas_funcs(("axpy",), (K,))
    # in place of K: no matrix for the multiple of M
    return np.asarray(axpy(M.ravel(), K.ravel(), a=-0.5 / (beta * total)).reshape(K.shape))


def consensus_distances(H: Matrix, K: Matrix) -> Vector:
    """d_i = ||H_i - K||_F, one kernel at a time so that no temporary is larger than K."""
    difference = np.empty_like(K)
    return np.array([np.linalg.norm(np.subtract(Hi, K, out=difference)) for Hi in H], dtype=np.float64)


def kernel_products(H: Matrix) -> Matrix:
    """HH_ij = <H_i, H_j>, some rows of the kernels at a time, in double precision: distances are its differences."""
    HH = np.zeros((len(H), len(H)))
    for i in range(0, H.shape[1], _ROWS):
        flat = H[:, i : i + _ROWS].reshape(len(H), -1).astype(np.float64, copy=False)
        HH += flat @ flat.T
    return HH


def self_weights(d: Vector, floor: float | Vector) -> Vector:
    """Eq. 9: w_i = 1 / (2 max(d_i, δ)), d_i = ||H_i - K||_F: a kernel that K is equal to has a finite weight."""
    return np.asarray(0.5 / np.maximum(d, floor))


def self_weighted_mean(H: Matrix, floor: float) -> tuple[Matrix, Vector]:
    """K = Σ H_i / r, and SMKL's weights of its distances."""
    K = combine(H, np.full(len(H), 1 / len(H)))
    return K, self_weights(consensus_distances(H, K), floor)


def perturbation_term(d: Vector, floor: float, *, beta: float) -> float:
    """β Σ_i ||H_i - K||_F, which self-weighting minimises; (d²/δ + δ)/2 for distances below δ."""
    return beta * float(np.where(d >= floor, d, (d**2 / floor + floor) / 2).sum())


def kernel_residuals(H: Matrix, M: Matrix) -> Vector:
    """h_i = Tr(H_i - 2 H_i S + S' H_i S) = <H_i, M>."""
    return np.asarray(H.reshape(len(H), -1) @ M.ravel(), dtype=np.float64)


def parametrised_weights(h: Vector) -> Vector:
    """Eq. 11: min Σ θ_i h_i over θ >= 0, Σ√θ = 1: θ = u², u_i = (1/h_i) / Σ_j (1/h_j).

    Residuals are at least rounding: a kernel that S reproduces (h_i = 0) gets nearly all of the weight, not NaN.
    """
    h = np.maximum(h, np.finfo(h.dtype).eps * (float(np.abs(h).max()) or 1.0))
    u = 1 / h
    u /= u.sum()
    return np.asarray(u**2)


def product_distances(HH: Matrix, w: Vector, h: Vector, m: float, *, beta: float) -> tuple[Vector, float]:
    """d_i = ||H_i - K|| and <K, M>, K of Eq. 16, from scalars: HH_ij = <H_i, H_j>, h_i = <H_i, M>, m = <M, M>."""
    total = w.sum()
    p, a = w / total, 0.5 / (beta * total)
    HHp, hp = HH @ p, float(p @ h)
    squares = HH.diagonal() - 2 * HHp + p @ HHp + 2 * a * (h - hp) + a * a * m
    return np.sqrt(np.maximum(squares, 0)), hp - a * m


def consensus_weights(
    HH: Matrix, h: Vector, m: float, w: Vector, *, beta: float, floor: float
) -> tuple[Vector, Vector]:
    """w and d at the fixed point of Eq. 9 and 16: w_i = 1/(2 max(d_i, δ)), d_i = ||H_i - K||, K from w and M.

    The minimum of <K, M> + β Σ ||H_i - K|| over K, from scalars alone, as in `product_distances`. Every step decreases
    that objective, so it may stop early. With few kernels convergence is slow: two steps are followed by an
    extrapolated one (SQUAREM, Varadhan and Roland 2008), which is kept if the objective is lower there.
    """
    distances = partial(product_distances, HH, h=h, m=m, beta=beta)
    d, _ = distances(w)
    for _ in range(_MAX_CYCLES):
        w1 = self_weights(d, floor)
        w2 = self_weights(distances(w1)[0], floor)
        d2, fit = distances(w2)
        step = np.log(w1 / w)
        bend = np.log(w2 / w1) - step
        w, d = w2, d2
        if np.abs(step).max() < _WEIGHTS_TOL:
            break
        stride = min(float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), 1e-300), _MAX_STRIDE)
        if stride > 1:
            far = w1 * np.exp((2 * stride - 1) * step + stride**2 * bend)
            d_far, fit_far = distances(far)
            if fit_far + perturbation_term(d_far, floor, beta=beta) <= fit + perturbation_term(d2, floor, beta=beta):
                w, d = far, d_far
    w = self_weights(d, floor)
    return w, distances(w)[0]


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
    return eigenpairs(W, 0, c - 1)[1]


def smoothness(S: Matrix, *labels: Matrix) -> list[float]:
    """q = Tr(P'LP) = Σ_i D_ii ||P_i||² - <P, SP> for every P, D_ii the mean of the degrees by row and by column."""
    ones = np.ones((len(S), 1), dtype=S.dtype)
    *products, by_row = np.split(S @ np.hstack([*labels, ones]), np.cumsum([P.shape[1] for P in labels]), axis=1)
    degrees = (by_row.ravel() + ones.ravel() @ S) / 2
    pairs = zip(labels, products, strict=True)
    return [float(degrees @ np.einsum("ij,ij->i", P, P) - np.vdot(P, SP)) for P, SP in pairs]


def _top_eigenvectors(W: Matrix, c: int, *, shift: float) -> Matrix:
    """Eigenvectors of the c largest eigenvalues of W + shift·I, largest first, by ARPACK.

    An angle is off by about tol·shift/gap: 1e-6 where the gap after the c-th eigenvalue is a millionth of the shift.
    """
    W.flat[:: len(W) + 1] += shift
    v0 = np.random.default_rng(0).standard_normal(len(W)).astype(W.dtype)  # fixed: the embedding is repeatable
    tol = max(_ARPACK_TOL, 2 * float(np.finfo(W.dtype).eps))
    ncv = 2 * c + (_SPARE if tol == _ARPACK_TOL else _SPARE_SINGLE)
    values, P = eigsh(SymmetricOperator(W), k=c, which="LA", v0=v0, ncv=ncv, tol=tol, maxiter=_ARPACK_RESTARTS)
    return np.asarray(P[:, np.argsort(-values, kind="stable")])


def _connected(W: Matrix) -> bool:
    """Whether all samples are reached from the first; ARPACK may miss the repeated eigenvalue 0 of a graph in parts."""
    seen = np.arange(len(W)) == 0
    front = np.flatnonzero(seen)
    while len(front):
        before = seen.copy()
        for i in range(0, len(front), _FRONT_ROWS):  # some rows at a time: they are copied
            seen |= (W[front[i : i + _FRONT_ROWS]] > 0).any(axis=0)
            if seen.all():
                return True
        front = np.flatnonzero(seen & ~before)
    return len(W) == 1
