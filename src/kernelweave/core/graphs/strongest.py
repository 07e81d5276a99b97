"""The strongest edges of a dense graph: a few of every row, and those that hold its parts together."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Matrix, Vector
from kernelweave.core.algebra.matrices import TIE, average_with_transpose

__all__ = ["cosine_factors", "strongest_edges", "strongest_entries"]

_ROWS = 128


def strongest_edges(S: Matrix, k: int) -> Matrix:
    """(C + C')/2, C the k strongest entries off the diagonal of every row of a symmetric S >= 0; its diagonal stays.

    Entries are compared as cosines S_ij / √(S_ii S_jj): where all entries are nearly equal, as those of a very wide
    Gaussian, the largest ones belong to the samples farthest from the mean, and the largest cosines to neighbours.
    Samples that are connected in S stay connected: where the strongest entries leave a part of S in pieces, the largest
    entries of S between them are added.
    """
    edges = S.copy()
    np.fill_diagonal(edges, 0)
    W = strongest_entries(edges, k, cosine_factors(S))
    average_with_transpose(W)
    while _tie_pieces(W, edges):
        pass
    np.fill_diagonal(W, S.diagonal())
    return W


def strongest_entries(S: Matrix, k: int, factors: Vector) -> Matrix:
    """S without the entries of each row that are below the k-th largest, all multiplied by the factors of the columns.

    Entries equal to the k-th largest are kept too, so that copies of a sample are treated alike.
    """
    n = S.shape[1]
    if k >= n:
        return S
    kept, equal = np.zeros_like(S), 1 - TIE[S.itemsize]
    for i in range(0, len(S), _ROWS):  # some rows at a time: products and sorted entries take memory
        compared = S[i : i + _ROWS] * factors
        least = np.partition(compared, n - k, axis=1)[:, n - k, None]
        np.copyto(kept[i : i + _ROWS], S[i : i + _ROWS], where=compared >= equal * least)
    return kept


def cosine_factors(S: Matrix) -> Vector:
    """1/√S_jj, by which the entries of a row become cosines but for one factor; S_jj is at least the row's maximum."""
    largest = np.maximum(S.diagonal(), S.max(axis=1))
    return np.asarray(1 / np.sqrt(np.where(largest > 0, largest, 1)), dtype=S.dtype)


def _tie_pieces(W: Matrix, edges: Matrix) -> bool:
    """Add to W the largest of the edges out of every piece and all equal to it, in place; return whether there was one.

    The largest piece is left out, as the others are tied to it, unless another one has its size: then none is.
    """
    _, piece = connected_components(sparse.csr_array(W), directed=False)
    sizes = np.bincount(piece)
    alone = np.count_nonzero(sizes == sizes.max()) == 1
    found = False
    for number in np.flatnonzero((sizes < sizes.max()) | (not alone)):
        rows = np.flatnonzero(piece == number)
        outside = np.where(piece == number, 0, edges[rows])
        largest = outside.max()
        if largest > 0:
            i, j = np.nonzero(outside >= (1 - TIE[edges.itemsize]) * largest)
            W[rows[i], j] = W[j, rows[i]] = outside[i, j]
            found = True
    return found
