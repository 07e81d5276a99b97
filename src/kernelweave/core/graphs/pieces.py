"""Edges for samples that would be apart: those in pieces too small to be clusters, and copies of others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Labels

__all__ = ["strays", "tied", "with_copies"]


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
