"""The pieces of a graph that are too small to be clusters: which samples they have, and more edges for these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

__all__ = ["strays", "tied"]


def strays(S: sparse.csr_array, least: float) -> tuple[NDArray[np.int32], NDArray[np.intp]]:
    """Return the piece of every sample, and the samples in pieces smaller than `least`, except the largest piece."""
    piece = connected_components(S, directed=False)[1]
    size = np.bincount(piece)[piece]
    return piece, np.flatnonzero(size < min(least, size.max()))


def tied(S: sparse.csr_array, rows: NDArray[np.intp], to: NDArray[np.integer[Any]]) -> sparse.csr_array:
    """Return S with edges of the median weight from these samples to those at `to` (len(rows), k)."""
    weights = np.full(to.size, np.median(S.data), dtype=S.dtype)
    edges = sparse.csr_array((weights, (np.repeat(rows, to.shape[1]), to.ravel())), shape=S.shape)
    S = sparse.csr_array(S.maximum(edges.maximum(edges.T)))
    S.sort_indices()
    return S
