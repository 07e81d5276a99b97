"""The edges of a graph: the strongest of each row, and those that join its pieces, the connected components."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.algebra.matrices import TIE, average_with_transpose

__all__ = [
    "Candidates",
    "Edges",
    "cosine_factors",
    "join_pieces",
    "median_edges",
    "strays",
    "strongest_edges",
    "strongest_entries",
    "with_copies",
]

_ROWS = 128


class Edges(NamedTuple):
    """Edges from rows[e] to columns[e] with weights[e]."""

    rows: NDArray[np.intp]
    columns: NDArray[np.integer[Any]]
    weights: Vector


class Candidates(Protocol):
    """What new edges are chosen from."""

    def edges_out(self, S: sparse.csr_array, piece: Labels) -> Edges:
        """Return edges out of the pieces of S, where `piece` has the number of that of every sample."""


def join_pieces(S: sparse.csr_array, candidates: Candidates) -> sparse.csr_array:
    """Add edges out of the pieces of S until it is in one piece, or no more are given.

    The Laplacian of a graph in several pieces has the eigenvalue 0 as many times, and the eigenvectors of 0 that an
    eigensolver returns are arbitrary.
    """
    n_pieces, piece = connected_components(S, directed=False)
    while n_pieces > 1:
        rows, columns, weights = candidates.edges_out(S, piece)
        if not len(rows):
            break
        edges = sparse.csr_array((weights, (rows, columns)), shape=S.shape)
        S = sparse.csr_array(S.maximum(edges.maximum(edges.T)))
        n_pieces, piece = connected_components(S, directed=False)
    S.sort_indices()
    return S


def strays(piece: Labels, least: float) -> NDArray[np.intp]:
    """Return the samples in pieces smaller than `least`, except the largest piece."""
    size = np.bincount(piece)[piece]
    return np.flatnonzero(size < min(least, size.max()))


def median_edges(S: sparse.csr_array, rows: NDArray[np.intp], to: NDArray[np.integer[Any]]) -> Edges:
    """Return edges of the median weight of S from these samples to those at `to` (len(rows), k)."""
    weights = np.full(to.size, np.median(S.data) if S.nnz else 1.0, dtype=S.dtype)
    return Edges(np.repeat(rows, to.shape[1]), to.ravel(), weights)


def with_copies(S: sparse.csr_array, kept: NDArray[np.intp], copies: Labels) -> sparse.csr_array:
    """Return the graph S of the kept samples with all samples, each of the others joined to the first of its copies.

    `copies` is the position of that copy among those that were kept. The weight of the edge is its largest in S.
    """
    n = len(copies)
    if len(kept) == n:
        return S
    others, edges = np.delete(np.arange(n), kept), S.tocoo()
    first = kept[copies[others]]
    weights = S.max(axis=1).toarray().ravel()[copies[others]]
    i, j = np.concatenate([kept[edges.row], others, first]), np.concatenate([kept[edges.col], first, others])
    found = sparse.csr_array((np.concatenate([edges.data, weights, weights]), (i, j)), shape=(n, n))
    found.sort_indices()
    return found


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
    graph = sparse.csr_array(W)
    del W  # its memory is free for the result
    joined = np.asarray(join_pieces(graph, _Largest(edges)).toarray())
    np.fill_diagonal(joined, S.diagonal())
    return joined


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


class _Largest(NamedTuple):
    """The entries of a dense graph, the largest of which join the pieces that are left of it."""

    edges: Matrix

    def edges_out(self, S: sparse.csr_array, piece: Labels) -> Edges:
        """Return the largest of the edges out of every piece, and all equal to it; none where there is no other.

        The largest piece is left out, as the others are joined to it, unless another one has its size: then none is.
        """
        sizes = np.bincount(piece)
        alone = np.count_nonzero(sizes == sizes.max()) == 1
        found = [Edges(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0, dtype=S.dtype))]
        for number in np.flatnonzero((sizes < sizes.max()) | (not alone)):
            rows = np.flatnonzero(piece == number)
            outside = np.where(piece == number, 0, self.edges[rows])
            largest = outside.max()
            if largest > 0:
                i, j = np.nonzero(outside >= (1 - TIE[self.edges.itemsize]) * largest)
                found.append(Edges(rows[i], j, outside[i, j]))
        return Edges(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
