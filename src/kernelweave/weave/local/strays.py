"""Pieces of a graph that are too small to be clusters: all their samples are tied to the nearest outside."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave.weave.local.local_graph import Index

__all__ = ["strays", "tied"]


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
