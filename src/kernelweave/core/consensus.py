"""The self-weighted consensus of kernels, from their r x r Gram matrix and one pass over tiles of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from kernelweave.kernels._types import Matrix, Vector

__all__ = ["Tile", "combine_tiles", "gram_distances", "kernel_gram", "median_weights"]

# rows, columns (at or after the rows, so that no tile lies below the diagonal), and the r kernels there: (r, b, b')
Tile: TypeAlias = tuple[slice, slice, Matrix]

_TOL = 1e-8
_MAX_STEPS = 1000


def kernel_gram(tiles: Iterable[Tile]) -> Matrix:
    """G_ij = <H_i, H_j> of symmetric kernels: tiles off the diagonal stand for two."""
    parts = []
    for rows, cols, H in tiles:
        flat = H.reshape(len(H), -1)
        parts.append((1 if rows == cols else 2) * (flat @ flat.T).astype(np.float64))
    return np.asarray(np.sum(parts, axis=0))


def combine_tiles(tiles: Iterable[Tile], p: Matrix, n: int) -> Matrix:
    """K_j = Σ_i p_ji H_i for every row of p, as (len(p), n, n), each symmetric to the last bit."""
    K = np.empty((0, n, n))
    for rows, cols, H in tiles:
        if len(K) == 0:
            K = np.empty((len(p), n, n), dtype=H.dtype)
        tile = (p.astype(H.dtype) @ H.reshape(len(H), -1)).reshape(len(p), *H.shape[1:])
        if rows == cols:
            tile = (tile + tile.transpose(0, 2, 1)) / 2
        else:
            K[:, cols, rows] = tile.transpose(0, 2, 1)
        K[:, rows, cols] = tile
    return K


def gram_distances(G: Matrix, p: Vector) -> Vector:
    """||H_i - K||_F for K = Σ p_i H_i: d_i² = G_ii - 2(Gp)_i + p'Gp."""
    Gp = G @ p
    return np.asarray(np.sqrt(np.maximum(G.diagonal() - 2 * Gp + p @ Gp, 0)))


def median_weights(G: Matrix, *, floor: float = 0.0) -> Vector:
    """p_i ∝ 1 / max(||H_i - K||_F, δ), Σp = 1, K = Σ p_i H_i: the geometric median of the kernels, from G alone.

    δ = floor · the median distance to the plain mean: no kernel's pull grows without bound when K comes near it.
    """
    r = len(G)
    p = np.full(r, 1 / r)
    d = gram_distances(G, p)
    least = max(floor * float(np.median(d)), float(np.sqrt(np.finfo(np.float64).eps * G.diagonal().max())))
    for _ in range(_MAX_STEPS):
        w = 1 / np.maximum(d, least)
        new = w / w.sum()
        change = np.abs(new - p).max()
        p = new
        if change < _TOL:
            break
        d = gram_distances(G, p)
    return np.asarray(p)
