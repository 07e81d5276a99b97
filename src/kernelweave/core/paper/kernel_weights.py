"""The weight of every kernel: self-weighted (SMKL) and parametrised (PMKL)."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix, Vector

__all__ = [
    "consensus_distances",
    "distance_floor",
    "kernel_products",
    "kernel_residuals",
    "parametrised_weights",
    "self_weights",
]

_RELATIVE_FLOOR = 1e-10
_ROWS = 16


def consensus_distances(H: Matrix, K: Matrix) -> Vector:
    """||H_i - K||_F for every kernel, one at a time so that no temporary is larger than K."""
    D = np.empty_like(K)
    return np.array([np.linalg.norm(np.subtract(Hi, K, out=D)) for Hi in H], dtype=np.float64)


def kernel_products(H: Matrix) -> Matrix:
    """G_ij = <H_i, H_j>, some rows of the kernels at a time, in double precision: distances are its differences."""
    G = np.zeros((len(H), len(H)))
    for i in range(0, H.shape[1], _ROWS):
        flat = H[:, i : i + _ROWS].reshape(len(H), -1).astype(np.float64, copy=False)
        G += flat @ flat.T
    return G


def distance_floor(size: float) -> float:
    """δ, the distance below which a kernel counts as met: 1e-10 of the size of the largest one."""
    return _RELATIVE_FLOOR * size


def self_weights(d: Vector, floor: float) -> Vector:
    """Eq. 9: w_i = 1 / (2 ||H_i - K||_F), the distance floored so that a kernel that K meets has a finite weight."""
    return np.asarray(0.5 / np.maximum(d, floor))


def kernel_residuals(H: Matrix, M: Matrix) -> Vector:
    """h_i = Tr(H_i - 2 H_i S + S' H_i S) = <H_i, M>."""
    return np.asarray(H.reshape(len(H), -1) @ M.ravel(), dtype=np.float64)


def parametrised_weights(h: Vector) -> Vector:
    """Eq. 11: min Σ θ_i h_i over θ >= 0, Σ√θ = 1: θ = u², u_i = (1/h_i) / Σ_j (1/h_j).

    A kernel that S reproduces (h_i = 0 up to rounding) is floored, so that it takes the weight without NaN.
    """
    h = np.maximum(h, np.finfo(h.dtype).eps * (float(np.abs(h).max()) or 1.0))
    u = 1 / h
    u /= u.sum()
    return np.asarray(u**2)
