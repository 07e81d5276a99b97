"""The consensus kernel K: from the base kernels, their weights and the graph."""

from __future__ import annotations

import numpy as np

from kernelweave.kernels._types import Matrix, Vector

__all__ = ["combine", "kernel_step"]

_ROWS = 128


def combine(H: Matrix, w: Vector) -> Matrix:
    """Σ_i w_i H_i, without a temporary of the size of H."""
    r, n, m = H.shape
    return np.asarray((w.astype(H.dtype) @ H.reshape(r, n * m)).reshape(n, m))


def kernel_step(H: Matrix, w: Vector, M: Matrix, *, beta: float) -> Matrix:
    """Eq. 16: K = Σ w_i H_i / Σ w_i - M / (2β Σ w_i), with M = (I - S)(I - S)', the symmetric part of the paper's."""
    total = float(w.sum())
    K = combine(H, w / total)
    scale = M.dtype.type(0.5 / (beta * total))
    for i in range(0, len(K), _ROWS):  # in strips, so that the multiple of M needs no matrix of its own
        K[i : i + _ROWS] -= scale * M[i : i + _ROWS]
    return K
