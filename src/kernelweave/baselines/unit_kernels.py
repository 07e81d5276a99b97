"""Kernel matrices as the methods after MKKM prepare them: centred, with a unit diagonal; and their eigenvectors."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import eigenvectors
from kernelweave.core.partitions.kernel_centres import centred_kernel
from kernelweave.kernels.products import inverse_roots

__all__ = ["partition_matrix", "unit_kernel"]


def unit_kernel(K: Matrix) -> Matrix:
    """Centre K and divide it by sqrt(K_ii K_jj), in place; a sample at the mean has similarity 0 to all others."""
    floor = 8 * np.finfo(K.dtype).eps * float(np.abs(K).max(initial=0))
    centred_kernel(K)
    diagonal = K.diagonal()
    root = inverse_roots(np.where(diagonal > floor, diagonal, 0))
    K *= root[:, None]
    K *= root
    return K


def partition_matrix(K: Matrix, c: int) -> Matrix:
    """Return argmax Tr(H'KH), H'H = I: the eigenvectors of the c largest eigenvalues of K, largest first."""
    n = len(K)
    return eigenvectors(K, n - c, n - 1)[:, ::-1]
