"""Sparse graphs of affinities, for methods that are compared with those of the library."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kernelweave.core.graphs.affinity import Affinity, GraphRule


def top_graph(A: np.ndarray, k: int) -> sparse.csr_array:
    """Return (B + B')/2, B the k largest positive entries off the diagonal of every row of A."""
    A = A.copy()
    np.fill_diagonal(A, 0)
    return GraphRule(n_neighbors=k).weave(lambda kind: Affinity(A), len(A)).graph
