"""The rows for new samples of a graph that was learned together with its consensus kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from kernelweave._types import Matrix, Vector
from kernelweave.core.algebra.matrices import ridge_inverse
from kernelweave.core.graphs.edges import strongest_entries
from kernelweave.core.graphs.new_rows import graph_rows
from kernelweave.errors import NotFiniteError
from kernelweave.samples.digests import Lean
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views
from kernelweave.weave.consensus_kernel import Consensus

__all__ = ["LearnedRows"]

_ARRAYS = 8  # of the size of the rows of the kernel that are in memory at once


@dataclass(frozen=True, eq=False)
class LearnedRows(Lean):
    """The rows of the graph of SMKL, KGL or PMKL: the problem of one column of S, with the other columns fixed.

    Parameters
    ----------
    consensus : Consensus
        The learned kernel.
    embedding : array of shape (n_samples, n_components)
        The embedding, or the label scores, that the graph was learned with.
    alpha, gamma : float
        The parameters of the model.
    n_neighbors : int or None
        How many entries of every row are kept; None keeps all.
    factors : array of shape (n_samples,) or None
        What entries are multiplied by before they are compared, 1/√S_jj of the graph with all entries: as cosines, like
        those of training samples. None if all are kept.
    """

    chunked: ClassVar[bool] = False

    consensus: Consensus
    embedding: Matrix
    alpha: float
    gamma: float
    n_neighbors: int | None
    factors: Vector | None

    def check_loaded(self) -> None:
        """Refuse a model file that lacks the factors by which entries are compared."""
        if self.n_neighbors is not None and self.factors is None:
            msg = "LearnedRows that keep some entries lack the factors by which these are compared."
            raise TypeError(msg)

    @property
    def row_bytes(self) -> int:
        """About how much memory the row of one sample takes while it is computed."""
        return _ARRAYS * self.consensus.matrix[:1].nbytes

    def rows(self, new: Views | KernelStack) -> Matrix:
        """Return the rows of the graph."""
        S = graph_rows(self._inverse, self.consensus.rows(new), self.embedding, alpha=self.alpha)
        if self.n_neighbors is None or self.factors is None:
            return S
        return strongest_entries(S, self.n_neighbors, self.factors)

    @cached_property
    def _inverse(self) -> Matrix:
        """A = (K + γI)^-1, computed once."""
        try:
            return ridge_inverse(self.consensus.matrix, gamma=self.gamma)
        except np.linalg.LinAlgError as error:
            msg = (
                f"The consensus kernel is singular up to rounding with gamma={self.gamma:g} on its diagonal, so new "
                "samples cannot be compared with it: fit with a larger gamma."
            )
            raise NotFiniteError(msg) from error
