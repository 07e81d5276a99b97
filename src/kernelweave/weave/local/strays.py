"""Graphs that fell into pieces: small pieces are tied to the others by all their samples, large ones by one edge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave.weave.local.local_graph import Affinities, Index

__all__ = ["joined", "strays", "tied"]


def strays(S: sparse.csr_array, least: float) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the piece of every sample, and the samples of pieces of fewer than `least`, but not of the largest."""
    piece = connected_components(S, directed=False)[1]
    size = np.bincount(piece)[piece]
    return piece, np.flatnonzero(size < min(least, size.max()))


def tied(S: sparse.csr_array, rows: NDArray[np.intp], to: Index) -> sparse.csr_array:
    """Return S with these samples tied to those at `to` (b, k), at the median weight."""
    weights = np.full(to.size, np.median(S.data), dtype=S.dtype)
    E = sparse.csr_array((weights, (np.repeat(rows, to.shape[1]), to.ravel())), shape=S.shape)
    S = sparse.csr_array(S.maximum(E.maximum(E.T)))
    S.sort_indices()
    return S


def joined(S: sparse.csr_array, found: Affinities) -> sparse.csr_array:
    """Return S with every smaller piece tied to its best candidate outside, at the median weight, until one is left.

    Where no candidate lies outside, the piece is tied to the largest one, at a hundredth of the median: which samples
    are joined there says little, but in pieces a graph has as many null vectors, and which of them the eigen solver
    returns is arbitrary.
    """
    n_pieces, piece = connected_components(S, directed=False)
    while n_pieces > 1:
        weight = float(np.median(S.data)) if S.nnz else 1.0
        ties = _ties(found, piece, n_pieces)
        weights = np.where(ties[:, 2] > 0, weight, weight / 100).astype(S.dtype)
        E = sparse.csr_array((weights, (ties[:, 0], ties[:, 1])), shape=S.shape)
        S = sparse.csr_array(S.maximum(E.maximum(E.T)))
        n_pieces, piece = connected_components(S, directed=False)
    S.sort_indices()
    return S


def _ties(found: Affinities, piece: NDArray[np.int32], n_pieces: int) -> NDArray[np.int64]:
    """Return one edge out of every piece but the largest: from, to, and whether the second is a candidate."""
    values = found.ridge if found.sqdist is None else -found.sqdist
    outside = piece[found.index] != piece[:, None]
    best = np.where(outside, values, -np.inf)
    place = best.argmax(axis=1)
    best = best[np.arange(len(best)), place]
    order = np.lexsort((best, piece))  # the last of each piece is its best
    last = order[np.flatnonzero(np.diff(piece[order], append=n_pieces))]
    largest = int(np.bincount(piece).argmax())
    hub = int(np.flatnonzero(piece == largest)[0])
    reached = np.isfinite(best[last])
    to = np.where(reached, found.index[last, place[last]], hub)
    ties = np.column_stack([last, to, reached]).astype(np.int64)
    return ties[piece[last] != largest]
