"""How a graph falls into pieces: pieces joined, and the modularity of a partition."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Labels, Mask, Vector
from kernelweave.core.graphs.affinity import Affinity, row_blocks

__all__ = ["join_pieces", "modularity"]


def join_pieces(S: sparse.csr_array, affinity: Affinity) -> sparse.csr_array:
    """S with every piece but the largest tied to its best candidate outside, at the median weight, until one is left.

    A graph in pieces has as many null vectors, and which of them an eigensolver returns is arbitrary. Where no
    candidate lies outside, the piece is tied to the largest one at a hundredth of the median weight.
    """
    n_pieces, piece = connected_components(S, directed=False)
    while n_pieces > 1:
        weight = float(np.median(S.data)) if S.nnz else 1.0
        i, j, near = _ties(affinity, piece)
        weights = np.where(near, weight, weight / 100).astype(S.dtype)
        E = sparse.csr_array((weights, (i, j)), shape=S.shape)
        S = sparse.csr_array(S.maximum(E.maximum(E.T)))
        n_pieces, piece = connected_components(S, directed=False)
    S.sort_indices()
    return S


def _ties(affinity: Affinity, piece: Labels) -> tuple[NDArray[np.intp], NDArray[np.intp], Mask]:
    """Return one edge out of every piece but the largest: from, to, and whether the second is a candidate."""
    largest = int(np.bincount(piece).argmax())
    rows = np.flatnonzero(piece != largest)
    found = [_best_outside(affinity, rows[block], piece) for block in row_blocks(len(rows))]
    best, to = np.concatenate([b for b, _ in found]), np.concatenate([t for _, t in found])
    order = np.lexsort((-rows, best, piece[rows]))  # the last of each piece is its best, and the first among equals
    last = order[np.flatnonzero(np.diff(piece[rows][order], append=-1))]
    reached = np.isfinite(best[last])
    hub = int(np.flatnonzero(piece == largest)[0])
    return rows[last], np.where(reached, to[last], hub), reached


def _best_outside(affinity: Affinity, rows: NDArray[np.intp], piece: Labels) -> tuple[Vector, NDArray[np.intp]]:
    """Return the largest affinity of each of these samples to one outside its piece, and that sample."""
    values = affinity.values[rows]
    columns = np.arange(len(piece))[None] if affinity.columns is None else affinity.columns[rows]
    values = np.where(piece[columns] == piece[rows][:, None], -np.inf, values)
    place = values.argmax(axis=1)
    to = place if affinity.columns is None else columns[np.arange(len(rows)), place]
    return values[np.arange(len(rows)), place], np.asarray(to, dtype=np.intp)


def modularity(S: sparse.csr_array, labels: Labels) -> float:
    """Σ_c (S_cc - d_c²/s)/s, s = ΣS, S_cc the weight within cluster c, d_c its degrees (Newman and Girvan, 2004)."""
    total = float(S.sum())
    if total == 0:
        return 0.0
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    within = float(S.data[labels[rows] == labels[S.indices]].sum(dtype=np.float64))
    degrees = np.bincount(labels, weights=S.sum(axis=1))
    return float(within / total - ((degrees / total) ** 2).sum())
