"""The strongest edges of a dense graph: a few of every row, and those that hold its parts together."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.affinity import Affinity, GraphRule

__all__ = ["self_affinities", "strongest_edges"]


def strongest_edges(S: Matrix, k: int) -> Matrix:
    """(C + C')/2, C the k strongest entries off the diagonal of every row of a symmetric S >= 0; its diagonal stays.

    Entries are compared as cosines S_ij / √(S_ii S_jj): where all entries are nearly equal, as those of a very wide
    Gaussian, the largest ones belong to the samples farthest from the mean, and the largest cosines to neighbours.
    Samples that are connected in S stay connected: where the strongest entries leave a part of S in pieces, the largest
    entries of S between them are added.
    """
    Z = S.copy()
    np.fill_diagonal(Z, 0)
    root = np.sqrt(self_affinities(S))
    lengths = np.outer(root, root)
    cosines = Affinity(Z / lengths)
    W = GraphRule(n_neighbors=k).weave(lambda kind: cosines, len(Z)).graph.toarray() * lengths
    while _tie_pieces(W, Z):
        pass
    np.fill_diagonal(W, S.diagonal())
    return np.asarray(W)


def self_affinities(S: Matrix) -> Vector:
    """S_ii, at least the largest entry of the row, and 1 for a row of zeros."""
    d = np.maximum(S.diagonal(), S.max(axis=1))
    return np.where(d > 0, d, 1).astype(S.dtype)


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
