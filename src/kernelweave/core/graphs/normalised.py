"""The affinity W normalised by the degrees of its samples, and its spectral embedding."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import eigenpairs
from kernelweave.kernels.base import inverse_roots

__all__ = ["count_pieces", "normalised_affinity", "normalised_embedding"]


def normalised_affinity(W: Matrix) -> Matrix:
    """N = diag(d)^-½ W diag(d)^-½, d = W1; the row and column of a sample without positive degree are 0."""
    root = inverse_roots(np.maximum(W.sum(axis=1), 0))
    return np.asarray(root[:, None] * W * root)


def normalised_embedding(W: Matrix, c: int) -> Matrix:
    """max Tr(P'NP), P'P = I: the eigenvectors of the c largest eigenvalues of N, largest first."""
    n = len(W)
    return eigenpairs(normalised_affinity(W), n - c, n - 1)[1][:, ::-1]


def count_pieces(W: Matrix, most: int) -> int:
    """Return into how many pieces W falls without entries N_ij that are rounding beside 1, at most `most`.

    With more pieces than eigenvectors are taken, rounding decides which of the pieces these tell apart.
    """
    N = normalised_affinity(np.maximum(W, 0))
    joined = len(N) * np.finfo(N.dtype).eps < N
    left, pieces = np.ones(len(N), dtype=bool), 0
    while left.any() and pieces < most:
        pieces += 1
        waiting = [int(left.argmax())]
        left[waiting] = False
        while waiting:
            near = np.flatnonzero(joined[waiting.pop()] & left)
            left[near] = False
            waiting += near.tolist()
    return pieces
