"""The consensus kernel K: from the base kernels, their weights and the graph."""

from __future__ import annotations

import numpy as np
from scipy.linalg import get_blas_funcs

from kernelweave._types import Matrix, Vector

__all__ = ["combine", "kernel_step"]


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
