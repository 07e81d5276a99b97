"""The rows of a dense graph for new samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from kernelweave.core.algebra.matrices import ridge_inverse
from kernelweave.core.graphs.affinity import RowPart, kernel_sqdist, neighbour_scales, row_blocks
from kernelweave.core.graphs.new_rows import Border, cut_rows
from kernelweave.samples.digests import Lean
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views
from kernelweave.weave.consensus_kernel import Consensus

__all__ = ["DenseRows"]

_ARRAYS = 4  # of the size of the rows of the kernel that are in memory at once
_SINGLE_FROM = 500  # training samples; for fewer, double precision is fast enough
_COMPARED = 32  # training samples whose rows are computed in both precisions
_ALIKE = 1e-3  # the difference of such rows relative to their sum, in the median, up to which single precision is used


@dataclass(frozen=True, eq=False)
class DenseRows(Lean):
    """The rows of a dense graph for new samples: the same problem for the kernel bordered by each new sample.

    Parameters
    ----------
    consensus : Consensus
        The kernel, of all versions of the samples.
    gamma : float
        The ridge, relative to the mean diagonal of the kernel.
    parts : tuple of RowPart
        The kinds of affinity, with the number of entries that are kept and their weights.
    single : bool
        Whether the rows of graphs of 500 or more samples are computed in single precision, if those of some training
        samples are the same in it.
    """

    chunked: ClassVar[bool] = False

    consensus: Consensus
    gamma: float
    parts: tuple[RowPart, ...]
    single: bool = False

    @property
    def row_bytes(self) -> int:
        """About how much memory the row of one sample takes while it is computed."""
        return _ARRAYS * self._border[1].A[:1].nbytes

    def rows(self, new: Views | KernelStack) -> sparse.csr_array:
        """Return the rows of the graph, without edges that only join pieces."""
        consensus, border = self._border
        K_x = np.empty((new.n_samples, len(border.A)), dtype=border.A.dtype)
        for rows in row_blocks(len(K_x)):  # so that kernels fit in the processor's cache
            K_x[rows] = consensus.rows(new if rows == slice(0, len(K_x)) else new.select(rows))
        return cut_rows(K_x, border, self.parts)

    @cached_property
    def _border(self) -> tuple[Consensus, Border]:
        """The kernel, and what rows are computed from, in the precision that is enough for them."""
        K = self.consensus.matrix
        g = self.gamma * float(K.diagonal().mean())
        tuned = any(part.kind == "tuned" for part in self.parts)
        scales = neighbour_scales(kernel_sqdist(K), len(K) - 1) if tuned else K.diagonal()
        exact = Border(ridge_inverse(K, gamma=g), g, K.diagonal(), scales)
        if not self.single or len(K) < _SINGLE_FROM or K.dtype == np.float32:
            return self.consensus, exact
        single = np.dtype(np.float32)
        consensus = self.consensus.astype(single)
        short = Border(exact.A.astype(single), g, consensus.matrix.diagonal(), scales.astype(single))
        some = np.linspace(0, len(K) - 1, min(_COMPARED, len(K)), dtype=np.intp)
        rows = cut_rows(K[some], exact, self.parts)
        error = abs(cut_rows(consensus.training_rows(some), short, self.parts) - rows).sum(axis=1)
        alike = np.median(error - _ALIKE * rows.sum(axis=1)) <= 0
        return (consensus, short) if alike else (self.consensus, exact)
