"""The strongest edges of a dense graph: a few of every row, and those that hold its parts together."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Matrix
from kernelweave.core.graphs.affinity import Affinity, GraphRule

__all__ = ["strongest_edges"]


def strongest_edges(S: Matrix, k: int) -> Matrix:
    """(C + C')/2, C the k largest entries off the diagonal of every row of a symmetric S >= 0; its diagonal stays.

    Samples that are connected in S stay connected: where the largest entries leave a part of S in pieces, the largest
    entries of S between them are added.
    """
    Z = S.copy()
    np.fill_diagonal(Z, 0)
    W = GraphRule(n_neighbors=k).weave(lambda kind: Affinity(Z), len(Z)).graph.toarray()
    while _tie_pieces(W, Z):
        pass
    np.fill_diagonal(W, S.diagonal())
    return np.asarray(W)


def _tie_pieces(W: Matrix, Z: Matrix) -> bool:
    """Add to W the largest edge of Z out of every piece but the largest, in place; return whether there was one."""
    _, piece = connected_components(sparse.csr_array(W), directed=False)
    sizes = np.bincount(piece)
    found = False
    for number in np.flatnonzero(np.arange(len(sizes)) != sizes.argmax()):
        rows = np.flatnonzero(piece == number)
        outside = np.where(piece == number, 0, Z[rows])
        row, j = np.unravel_index(outside.argmax(), outside.shape)
        if outside[row, j] > 0:
            W[rows[row], j] = W[j, rows[row]] = outside[row, j]
            found = True
    return found
