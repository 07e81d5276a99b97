"""Precomputed kernel matrices with the interface of a bank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Matrix, TileOf
from kernelweave.samples.precomputed import KernelStack

__all__ = ["PrecomputedBank"]


@dataclass(frozen=True, slots=True)
class PrecomputedBank:
    """Kernels whose matrices the user computed, with the interface of a `ViewBank`: its samples are a `KernelStack`.

    Parameters
    ----------
    names : tuple of str
        The name of every kernel.
    """

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

    def fit_tiles(self, X: KernelStack, dtype: DTypeLike | None = None) -> TileOf:
        """Return a function that gives tiles (r, b, b') of the kernel matrices."""

        def tile(rows: slice, cols: slice, dtype: DTypeLike | None = None) -> Matrix:
            return np.ascontiguousarray(X.matrices[:, rows, cols], dtype)

        return tile

    def grams(self, X: KernelStack, Y: KernelStack | None = None) -> Matrix:
        """Return the kernel matrices of new samples with the training samples, (r, m, n)."""
        return X.matrices
