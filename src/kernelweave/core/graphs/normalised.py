"""The affinity W divided by the degrees of its samples, and its spectral step."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import eigenvectors
from kernelweave.kernels.products import inverse_roots

__all__ = ["normalised_affinity", "normalised_embedding"]


def normalised_affinity(W: Matrix) -> Matrix:
    """D^-1/2 W D^-1/2, D = diag(W1); a sample without positive degree is similar to nothing."""
    s = inverse_roots(np.maximum(W.sum(axis=1), 0))
    return np.asarray(s[:, None] * W * s)


def normalised_embedding(W: Matrix, c: int) -> Matrix:
    """max Tr(P' D^-1/2 W D^-1/2 P), P'P = I: the eigenvectors of the c largest eigenvalues, largest first."""
    n = len(W)
    return eigenvectors(normalised_affinity(W), n - c, n - 1)[:, ::-1]
