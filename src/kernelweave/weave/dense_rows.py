"""The rows of a dense graph for new samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.graphs.affinity import (
    Affinity,
    RowPart,
    kernel_sqdist,
    neighbour_scales,
    row_blocks,
    self_tuned,
    top_rows,
)
from kernelweave.core.graphs.largest import largest_columns
from kernelweave.core.graphs.new_rows import bordered_rows, row_sqdist, self_similarities
from kernelweave.core.paper.graph_step import ridge_inverse
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
        return _ARRAYS * self._border.A[:1].nbytes

    def rows(self, new: Views | KernelStack) -> sparse.csr_array:
        """Return the rows of the graph, without edges that only join pieces."""
        consensus, A = self._border.consensus, self._border.A
        K_x = np.empty((new.n_samples, len(A)), dtype=A.dtype)
        for rows in row_blocks(len(K_x)):  # so that kernels fit in the processor's cache
            K_x[rows] = consensus.rows(new if rows == slice(0, len(K_x)) else new.select(rows))
        return self._border.rows(K_x, self.parts)

    @cached_property
    def _border(self) -> _Border:
        """What rows are computed from, in the precision that is enough for them."""
        K = self.consensus.matrix
        g = self.gamma * float(K.diagonal().mean())
        tuned = any(part.kind == "tuned" for part in self.parts)
        scales = neighbour_scales(kernel_sqdist(K), len(K) - 1) if tuned else K.diagonal()
        exact = _Border(self.consensus, ridge_inverse(K, gamma=g), g, scales)
        if not self.single or len(K) < _SINGLE_FROM or K.dtype == np.float32:
            return exact
        short = exact.astype(np.dtype(np.float32))
        some = np.linspace(0, len(K) - 1, min(_COMPARED, len(K)), dtype=np.intp)
        rows = exact.rows(K[some], self.parts)
        error = abs(short.rows(short.consensus.training_rows(some), self.parts) - rows).sum(axis=1)
        return short if np.median(error - _ALIKE * rows.sum(axis=1)) <= 0 else exact


@dataclass(frozen=True, slots=True, eq=False)
class _Border:
    """What the rows of new samples are computed from: A = (K + gI)^-1, g, and the training samples' squared scales."""

    consensus: Consensus
    A: Matrix
    g: float
    scales: Vector

    def astype(self, dtype: np.dtype[Any]) -> _Border:
        """Return the same in another precision."""
        return _Border(self.consensus.astype(dtype), self.A.astype(dtype), self.g, self.scales.astype(dtype))

    def rows(self, K_x: Matrix, parts: tuple[RowPart, ...]) -> sparse.csr_array:
        """Return the rows of the graph from K_x (n_new, n), the kernel of new samples with the training samples."""
        AK_x, diagonal = K_x @ self.A, self.consensus.matrix.diagonal()
        K_xx = self_similarities(AK_x, K_x, diagonal)

        def affinity(part: RowPart) -> Affinity:
            if part.kind == "ridge":
                return Affinity(bordered_rows(AK_x, K_x, K_xx, g=self.g))
            found = [self._nearest(row_sqdist(K_x[i], K_xx[i], diagonal), part.k) for i in row_blocks(len(K_x))]
            return Affinity(*(np.concatenate(arrays) for arrays in zip(*found, strict=True)))

        n = len(self.A)
        first, *others = (top_rows(affinity(part), part.k, n) * K_x.dtype.type(part.weight) for part in parts)
        return sparse.csr_array(sum(others, start=first))

    def _nearest(self, D: Matrix, k: int) -> tuple[Matrix, Labels]:
        """Return the k largest self-tuned similarities of every row of squared distances, and their columns."""
        near = largest_columns(D * (-1 / np.sqrt(np.maximum(self.scales, np.finfo(D.dtype).tiny))), k)
        own = neighbour_scales(D, D.shape[1])
        return self_tuned(np.take_along_axis(D, near, axis=1), own, self.scales[near]), near
