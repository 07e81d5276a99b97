"""The rows of a dense graph for new samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.affinity import Affinity, Kind, kernel_sqdist, neighbour_scales, self_tuned, top_rows
from kernelweave.core.graphs.new_rows import bordered_rows, row_sqdist, self_similarities
from kernelweave.core.paper.graph_step import ridge_inverse
from kernelweave.samples.digests import Lean
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views
from kernelweave.weave.consensus_kernel import Consensus

__all__ = ["DenseRows", "RowPart"]

_ARRAYS = 8  # of the size of the rows of the kernel that are in memory at once


@dataclass(frozen=True, slots=True)
class RowPart:
    """One kind of affinity in the rows of new samples: how many entries are kept, and their weight."""

    kind: Kind
    k: int
    weight: float


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
    """

    chunked: ClassVar[bool] = False

    consensus: Consensus
    gamma: float
    parts: tuple[RowPart, ...]

    @property
    def row_bytes(self) -> int:
        """About how much memory the row of one sample takes while it is computed."""
        return _ARRAYS * self.consensus.matrix[:1].nbytes

    def rows(self, new: Views | KernelStack) -> sparse.csr_array:
        """Return the rows of the graph, without edges that only join pieces."""
        A, g = self._inverse
        K_x = np.ascontiguousarray(self.consensus.rows(new), dtype=A.dtype)
        AK_x, diagonal = K_x @ A, self.consensus.matrix.diagonal()
        K_xx = self_similarities(AK_x, K_x, diagonal)

        def affinity(kind: Kind) -> Affinity:
            if kind == "ridge":
                return Affinity(bordered_rows(AK_x, K_x, K_xx, g=g))
            D = row_sqdist(K_x, K_xx, diagonal)
            return Affinity(self_tuned(D, neighbour_scales(D, D.shape[1]), self._scales))

        first, *others = (top_rows(affinity(one.kind), one.k, len(A)) * A.dtype.type(one.weight) for one in self.parts)
        return sparse.csr_array(sum(others, start=first))

    @cached_property
    def _inverse(self) -> tuple[Matrix, float]:
        """A = (K + gI)^-1 and g, computed once."""
        K = self.consensus.matrix
        g = self.gamma * float(K.diagonal().mean())
        return ridge_inverse(K, gamma=g), g

    @cached_property
    def _scales(self) -> Vector:
        """The squared scales of the training samples, computed once."""
        D = kernel_sqdist(self.consensus.matrix)
        return neighbour_scales(D, len(D) - 1)
