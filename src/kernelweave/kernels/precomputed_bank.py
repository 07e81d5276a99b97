"""Precomputed kernel matrices with the interface of a bank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Matrix, TileOf, Vector
from kernelweave.kernels.bank import weighted_stack
from kernelweave.samples.magnitudes import check_kernel
from kernelweave.samples.precomputed import DIVIDE, KernelStack

__all__ = ["PrecomputedBank"]


@dataclass(frozen=True, slots=True)
class PrecomputedBank:
    """Kernels whose matrices the user computed, with the interface of a `ViewBank`: its samples are a `KernelStack`.

    Parameters
    ----------
    names : tuple of str
        The name of every kernel.
    """

    training: ClassVar[None] = None  # new samples bring along their kernels with the training samples

    names: tuple[str, ...]

    @property
    def views(self) -> tuple[str, ...]:
        """The view of every kernel: all of them count as one."""
        return ("kernels",) * len(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def unfitted(self) -> PrecomputedBank:
        """Return the bank: there are no constants to fix."""
        return self

    def fit(self, X: KernelStack) -> PrecomputedBank:
        """Return the bank: there are no constants to fix."""
        return self

    def fit_grams(self, X: KernelStack) -> Matrix:
        """Return the kernel matrices of the training samples, (r, n, n)."""
        return X.matrices

    def fit_tiles(self, X: KernelStack) -> TileOf:
        """Return a function that gives tiles (r, b, b') of the kernel matrices."""

        def tile(rows: slice, cols: slice, dtype: DTypeLike | None = None, p: Vector | None = None) -> Matrix:
            H = X.matrices[:, rows, cols]
            if dtype is not None and np.dtype(dtype).itemsize < H.itemsize:
                for name, K in zip(self.names, H, strict=True):
                    check_kernel(K, repr(name), training=rows == cols, dtype=dtype, advice=DIVIDE)
            H = np.ascontiguousarray(H, dtype)
            return H if p is None else weighted_stack(H, p)

        return tile

    def grams(self, X: KernelStack, Y: KernelStack | None = None) -> Matrix:
        """Return the kernel matrices of new samples with the training samples, (r, m, n)."""
        return X.matrices

    def astype(self, dtype: DTypeLike) -> PrecomputedBank:
        """Return the bank: it holds no samples."""
        return self

    def weighted(self, X: KernelStack, p: Vector) -> Matrix:
        """Return Σ p_i H_i of new samples with the training samples, (m, n)."""
        return weighted_stack(X.matrices, p)
