"""Kernel matrices as the methods after MKKM prepare them: centred, with a unit diagonal; and their eigenvectors."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Mask, Matrix
from kernelweave.baselines._kernel_clusterer import KernelClusterer
from kernelweave.core.algebra.matrices import eigenpairs
from kernelweave.core.partitions.kernel_centres import centred_kernel
from kernelweave.kernels.base import inverse_roots
from kernelweave.kernels.view_bank import Bank
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = ["UnitKernelClusterer", "partition_matrix", "unit_kernel"]


class UnitKernelClusterer(KernelClusterer):
    """Clusters the samples through kernels that are centred and scaled to a unit diagonal."""

    _only_kernels = True

    def _build_kernels(self, samples: Views | KernelStack) -> tuple[Bank, Matrix]:
        """Return the bank fixed on the samples, and the scaled kernel matrices H (r, n, n)."""
        bank, H = super()._build_kernels(samples)
        for K, view in zip(H, bank.views, strict=True):
            unit_kernel(K, None if samples.complete else samples.present[samples.names.index(view)])
        return bank, H


def unit_kernel(K: Matrix, known: Mask | None = None) -> Matrix:
    """Centre K and divide it by sqrt(K_ii K_jj), in place; a sample at the mean has similarity 0 to all others.

    A sample that is not `known`, since its view lacks it, lies near the mean and must stay there: it is scaled as the
    others are on average.
    """
    floor = 8 * np.finfo(K.dtype).eps * float(np.abs(K).max(initial=0))
    centred_kernel(K)
    diagonal = K.diagonal()
    root = inverse_roots(np.where(diagonal > floor, diagonal, 0))
    if known is not None and not known.all():
        root[~known] = root[known].mean()
    K *= root[:, None]
    K *= root
    return K


def partition_matrix(K: Matrix, c: int) -> Matrix:
    """Return argmax Tr(H'KH), H'H = I: the eigenvectors of the c largest eigenvalues of K, largest first."""
    n = len(K)
    return eigenpairs(K, n - c, n - 1)[1][:, ::-1]
