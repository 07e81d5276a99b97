"""What was learned: landmarks, the kernels' consensus with them, and how a sample's place among them is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.bipartite import nearest_columns, relative_affinity, spread
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.kernels import KernelBank
from kernelweave.samples.parts import Part, read
from kernelweave.samples.scaling import Scaling

__all__ = ["LandmarkGraph", "LandmarkModel", "part_labels", "part_scores"]

_TILE_BYTES = 2**20  # of one kernel with all landmarks: several of them stay in the processor's cache


@dataclass(frozen=True, slots=True)
class LandmarkGraph:
    """The landmarks and the consensus kernel that joins a sample to the nearest of them."""

    scaling: Scaling
    bank: KernelBank
    weights: Vector
    landmarks: Any  # (m, d), on the scale of `scaling`
    n_neighbors: int
    dtype: np.dtype[Any]

    @property
    def m(self) -> int:
        """The number of landmarks."""
        return int(self.landmarks.shape[0])

    def scaled(self, rows: Any) -> Any:
        """Return samples as the kernels see them."""
        return self.scaling.transform(rows).astype(self.dtype, copy=False)

    def nearest(self, rows: Any) -> Iterator[tuple[slice, NDArray[np.int32], Matrix]]:
        """Yield tiles of scaled samples: which rows, their nearest landmarks, and affinities, whose sum is one."""
        size = max(64, _TILE_BYTES // (self.m * self.dtype.itemsize))
        a = self._diagonal(self.landmarks)
        for i in range(0, rows.shape[0], size):
            tile = rows[i : i + size]
            D = self.consensus(tile)
            D *= -2
            D += self._diagonal(tile)[:, None]
            D += a
            np.maximum(D, 0, out=D)
            J, V = nearest_columns(D, min(self.n_neighbors, self.m))
            yield slice(i, i + tile.shape[0]), J, relative_affinity(V)

    def consensus(self, rows: Any) -> Matrix:
        """Return Σ p_i k_i(rows, landmarks), all kernels from one product between them."""
        K: Matrix | None = None
        for p, H in zip(self.weights, self.bank.each(rows, self.landmarks), strict=True):
            H *= H.dtype.type(p)
            K = H if K is None else np.add(K, H, out=K)
        return np.asarray(K)

    def _diagonal(self, rows: Any) -> Vector:
        diagonals = (p * kernel.diag(rows) for p, kernel in zip(self.weights, self.bank.kernels, strict=True))
        return np.asarray(sum(diagonals), dtype=self.dtype)


@dataclass(frozen=True, slots=True)
class LandmarkModel:
    """A graph, and what its landmarks carry: coordinates Q with the clusters' centres, or scores of classes."""

    graph: LandmarkGraph
    n_features: int
    values: Matrix  # (m, c)
    centres: Matrix | None = None  # (n_clusters, c)

    @property
    def scaling(self) -> Scaling:
        """How samples are scaled."""
        return self.graph.scaling

    @property
    def bank(self) -> KernelBank:
        """The kernels, fixed on the sample that was learned from."""
        return self.graph.bank

    @property
    def weights(self) -> Vector:
        """The kernels' shares."""
        return self.graph.weights

    @property
    def landmarks(self) -> Any:
        """The landmarks, on the scale that `scaling` gives samples."""
        return self.graph.landmarks

    def scores(self, rows: Any) -> Matrix:
        """Return what samples inherit from their landmarks: spectral coordinates, or scores of classes."""
        rows = self.graph.scaled(rows)
        F = np.empty((rows.shape[0], self.values.shape[1]))
        for here, J, B in self.graph.nearest(rows):
            F[here] = spread(J, B, self.values)
        return F

    def labels(self, rows: Any) -> NDArray[np.int32]:
        """Return the cluster, or the position of the class, of every sample."""
        F = self.scores(rows)
        return nearest_centres(F, self.centres) if self.centres is not None else F.argmax(axis=1).astype(np.int32)


def nearest_centres(F: Matrix, centres: Matrix) -> NDArray[np.int32]:
    """Return the centre nearest to the direction of every row."""
    closeness = unit_rows(F) @ centres.T - (centres**2).sum(axis=1) / 2
    return closeness.argmax(axis=1).astype(np.int32)


def part_labels(model: LandmarkModel, part: Part) -> NDArray[np.int32]:
    """Return the labels of one chunk."""
    return model.labels(read(part, model.n_features))


def part_scores(model: LandmarkModel, part: Part) -> NDArray[np.float32]:
    """Return the scores of one chunk."""
    return model.scores(read(part, model.n_features)).astype(np.float32)
