"""The consensus kernel K, and the weights of the kernels: self-weighted (SMKL), or parametrised (PMKL)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs

from kernelweave._types import Matrix, Vector

__all__ = [
    "DISTANCE_FLOOR",
    "SAFEGUARDED_FLOOR",
    "combine",
    "consensus_distances",
    "consensus_weights",
    "kernel_products",
    "kernel_residuals",
    "kernel_step",
    "parametrised_weights",
    "perturbation_term",
    "self_weighted_mean",
    "self_weights",
]

# δ as a share of the largest kernel's norm: distances below it are raised to it, so that weights are finite
DISTANCE_FLOOR = 1e-10
# δ for distances from HH, which is summed in double precision, and h, whose error is multiplied by δ. It is the same in
# single precision: a larger one would lead to another graph, as a kernel that K is equal to has the weight 1/(2δ)
SAFEGUARDED_FLOOR = 1e-6
_ROWS = 16
_TOL = 1e-10
_MAX_CYCLES = 300
_MAX_STRIDE = 1e3


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


def self_weights(d: Vector, floor: float) -> Vector:
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


def consensus_weights(
    HH: Matrix, h: Vector, m: float, w: Vector, *, beta: float, floor: float
) -> tuple[Vector, Vector]:
    """w and d at the fixed point of Eq. 9 and 16: w_i = 1/(2 max(d_i, δ)), d_i = ||H_i - K||, K from w and M.

    The minimum of <K, M> + β Σ ||H_i - K|| over K, from scalars alone: HH_ij = <H_i, H_j>, h_i = <H_i, M>, m = <M, M>.
    Every step decreases that objective, so it may stop early. With few kernels convergence is slow: two steps are
    followed by an extrapolated one (SQUAREM, Varadhan and Roland 2008), which is kept if the objective is lower there.
    """

    def distances(w: Vector) -> tuple[Vector, float]:
        total = w.sum()
        p, a = w / total, 0.5 / (beta * total)
        HHp, hp = HH @ p, float(p @ h)
        squares = HH.diagonal() - 2 * HHp + p @ HHp + 2 * a * (h - hp) + a * a * m
        d = np.sqrt(np.maximum(squares, 0))
        return d, hp - a * m + perturbation_term(d, floor, beta=beta)

    d, _ = distances(w)
    for _ in range(_MAX_CYCLES):
        w1 = self_weights(d, floor)
        d1, _ = distances(w1)
        w2 = self_weights(d1, floor)
        d2, lowest = distances(w2)
        step, bend = np.log(w1 / w), np.log(w2 / w1) - np.log(w1 / w)
        w, d = w2, d2
        if np.abs(step).max() < _TOL:
            break
        stride = min(float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), 1e-300), _MAX_STRIDE)
        if stride > 1:
            far = w1 * np.exp((2 * stride - 1) * step + stride**2 * bend)
            d_far, value = distances(far)
            if value <= lowest:
                w, d = far, d_far
    w = self_weights(d, floor)
    return w, distances(w)[0]
