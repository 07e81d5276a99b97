"""The affinity W normalised by the degrees of its samples, and its spectral embedding."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import eigenpairs
from kernelweave.kernels.base import inverse_roots

__all__ = ["normalised_affinity", "normalised_embedding"]


def normalised_affinity(W: Matrix) -> Matrix:
    """N = diag(d)^-½ W diag(d)^-½, d = W1; the row and column of a sample without positive degree are 0."""
    root = inverse_roots(np.maximum(W.sum(axis=1), 0))
    return np.asarray(root[:, None] * W * root)


def normalised_embedding(W: Matrix, c: int) -> Matrix:
    """max Tr(P'NP), P'P = I: the eigenvectors of the c largest eigenvalues of N, largest first."""
    n = len(W)
    return eigenpairs(normalised_affinity(W), n - c, n - 1)[1][:, ::-1]
