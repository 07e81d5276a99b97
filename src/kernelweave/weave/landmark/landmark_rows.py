"""The graph between samples and landmarks: each sample is joined to its nearest landmarks in the consensus kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.core.graphs.bipartite import nearest_columns, relative_affinity
from kernelweave.kernels.bank import KernelBank
from kernelweave.samples.scaling import Version
from kernelweave.samples.views import Views

__all__ = ["LandmarkRows"]

_TILE_BYTES = 2**20  # of one kernel with all landmarks, so that several of them fit in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkRows:
    """The landmarks, and the consensus kernel that joins a sample to the nearest of them.

    Parameters
    ----------
    version : Version
        How samples are scaled.
    bank : KernelBank
        The kernels, fixed on a sample of the rows.
    weights : array of shape (n_kernels,)
        Their shares in the consensus.
    landmarks : array or sparse array of shape (n_landmarks, n_features)
        The landmarks, scaled like the samples.
    n_neighbors : int
        How many landmarks a sample is joined to.
    dtype : dtype
        The precision of the kernels.
    """

    chunked: ClassVar[bool] = True

    version: Version
    bank: KernelBank
    weights: Vector
    landmarks: Samples
    n_neighbors: int
    dtype: np.dtype[Any]

    @property
    def m(self) -> int:
        """The number of landmarks."""
        return int(self.landmarks.shape[0])

    def rows(self, new: Views) -> sparse.csr_array:
        """Return B (n, m), the affinities of samples to their nearest landmarks; rows sum to one."""
        J, B = self.joined(self.scaled(new.tables[0]))
        indptr = np.arange(0, J.size + 1, J.shape[1], dtype=np.int32)
        return sparse.csr_array((B.ravel().astype(np.float64), J.ravel(), indptr), shape=(len(J), self.m))

    def scaled(self, rows: Samples) -> Samples:
        """Return samples scaled and in the precision of the kernels."""
        return self.version.scalings["X"].transform(rows).astype(self.dtype, copy=False)

    def joined(self, rows: Samples) -> tuple[NDArray[np.int32], Matrix]:
        """Return the columns J of the nearest landmarks of scaled samples, and the affinities B."""
        tiles = list(self._nearest(rows))
        return np.concatenate([J for J, _ in tiles]), np.concatenate([B for _, B in tiles])

    def consensus(self, rows: Samples) -> Matrix:
        """Return Σ p_i H_i of rows and landmarks; all kernels are computed from one matrix product."""
        K: Matrix | None = None
        for p, H in zip(self.weights, self.bank.each(rows, self.landmarks), strict=True):
            H *= H.dtype.type(p)
            K = H if K is None else np.add(K, H, out=K)
        return np.asarray(K)

    def _nearest(self, rows: Samples) -> Iterator[tuple[NDArray[np.int32], Matrix]]:
        """Yield the nearest landmarks and the affinities of scaled samples, tile by tile."""
        size = max(64, _TILE_BYTES // (self.m * self.dtype.itemsize))
        theirs = self._diagonal(self.landmarks)
        for i in range(0, rows.shape[0], size):
            tile = rows[i : i + size]
            D = self.consensus(tile)
            D *= -2
            D += self._diagonal(tile)[:, None]
            D += theirs
            np.maximum(D, 0, out=D)
            J, least = nearest_columns(D, min(self.n_neighbors, self.m))
            yield J, relative_affinity(least)

    def _diagonal(self, rows: Samples) -> Vector:
        diagonals = (p * kernel.diag(rows) for p, kernel in zip(self.weights, self.bank.kernels, strict=True))
        return np.asarray(sum(diagonals), dtype=self.dtype)
