"""Rows of a fitted graph for new samples: what is computed once from the consensus kernel, and kept while it lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from scipy import sparse

from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.affinity import self_tuned_affinity, top_graph
from kernelweave.core.graphs.new_rows import (
    bordered_rows,
    neighbour_scales,
    self_similarities,
    self_tuned_rows,
    top_rows,
)
from kernelweave.core.paper.graph_step import ridge_inverse

__all__ = ["WovenRows", "once_per_kernel"]

_T = TypeVar("_T")

# beside the models, not in them: a prediction changes no attribute, and no copy or file holds what can be computed
_CACHE: WeakKeyDictionary[Any, tuple[Matrix, Any]] = WeakKeyDictionary()


def once_per_kernel(model: Any, K: Matrix, make: Callable[[], _T]) -> _T:
    """Return what `make` gives, computed once for this model and consensus kernel."""
    kept = _CACHE.get(model)
    if kept is None or kept[0] is not K:
        kept = _CACHE[model] = (K, make())
    made: _T = kept[1]
    return made


@dataclass(frozen=True, slots=True)
class WovenRows:
    """The rule of a woven graph, with the constants that its training samples fix."""

    graph: str
    n_neighbors: int
    neighbour: int  # the rank of the neighbour whose distance is a sample's scale
    g: float
    A: Matrix
    diagonal: Vector
    scales: Vector | None = None
    degrees: tuple[float, float] = (1.0, 1.0)  # mean degrees of the two parts of "both", by which they were evened

    @classmethod
    def of(cls, K: Matrix, *, graph: str, gamma: float, n_neighbors: int, neighbour: int) -> WovenRows:
        """Return the rule for the graph of the kernel K."""
        diagonal = K.diagonal().copy()
        g = gamma * float(diagonal.mean())
        A = ridge_inverse(K, gamma=g)
        if graph == "ridge":
            return cls(graph, n_neighbors, neighbour, g, A, diagonal)
        scales = neighbour_scales(K, neighbour)
        if graph == "knn":
            return cls(graph, n_neighbors, neighbour, g, A, diagonal, scales)
        Z = -g * A
        Z.flat[:: len(Z) + 1] += 1
        parts = (
            top_graph(Z, 2 * n_neighbors),
            top_graph(self_tuned_affinity(K, neighbour=neighbour), ceil(n_neighbors / 2)),
        )
        degrees = tuple(float(S.sum()) / S.shape[0] or 1.0 for S in parts)
        return cls(graph, n_neighbors, neighbour, g, A, diagonal, scales, degrees)  # type: ignore[arg-type]

    def rows(self, k: Matrix) -> sparse.csr_array:
        """Return the rows of the graph for consensus rows k (m, n)."""
        k = np.ascontiguousarray(k, dtype=self.A.dtype)
        k_self = self_similarities(self.A, k, self.diagonal)
        parts = []
        if self.graph != "knn":
            Z = bordered_rows(self.A, k, k_self, g=self.g)
            parts.append(top_rows(Z, 2 * self.n_neighbors if self.graph == "both" else self.n_neighbors))
        if self.graph != "ridge":
            Z = self_tuned_rows(k, k_self, self.diagonal, self.scales, neighbour=self.neighbour)
            parts.append(top_rows(Z, ceil(self.n_neighbors / 2) if self.graph == "both" else self.n_neighbors))
        if len(parts) == 1:
            return parts[0]
        return sparse.csr_array(parts[0] / self.degrees[0] + parts[1] / self.degrees[1])
