"""Weights of kernels that are not defined for every sample, from the pairs of samples for which each is defined."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Mask, Matrix, Tile, Vector
from kernelweave.core.consensus.self_weighted import fixed_point_weights, trust

__all__ = ["known_moments", "known_weights", "masked_distances"]

_FLAT = 1e-6  # share of the second moment below which a kernel has no variance off the diagonal


def known_moments(tiles: Iterable[Tile], present: Mask, view: NDArray[np.intp]) -> tuple[Matrix, Matrix]:
    """G_vij, the mean of H_i H_j over the pairs in view v, and R, correlations over the pairs in both kernels' views.

    `view` (r,) is the view of every kernel. R excludes the diagonals.
    """
    r = len(view)
    G, counts = np.zeros((len(present), r, r)), np.zeros(len(present))
    first, second, cross, both = (np.zeros((r, r)) for _ in range(4))
    for rows, cols, H in tiles:
        flat = H.reshape(r, -1).astype(np.float64, copy=False)
        times = 1 if rows == cols else 2
        masks = (present[:, rows, None] & present[:, None, cols]).reshape(len(present), -1)
        for v, mask in enumerate(masks):
            known = flat if mask.all() else flat[:, mask]
            G[v] += times * (known @ known.T)
            counts[v] += times * known.shape[1]
        off = masks & ~np.eye(H.shape[1], dtype=bool).ravel() if rows == cols else masks
        defined = off[view].astype(np.float64)
        values = flat * defined
        cross += times * (values @ values.T)
        first += times * (values @ defined.T)
        second += times * ((values * values) @ defined.T)
        both += times * (defined @ defined.T)
    both = np.maximum(both, 1)
    covariance = cross / both - first * first.T / both**2
    variance = np.maximum(second / both - (first / both) ** 2, 0)
    scale = np.sqrt(variance * variance.T)
    flat_kernels = variance.diagonal() <= _FLAT * second.diagonal() / both.diagonal()
    R = np.clip(np.divide(covariance, scale, out=np.zeros_like(scale), where=scale > 0), -1, 1)
    R[flat_kernels] = R[:, flat_kernels] = 0
    np.fill_diagonal(R, ~flat_kernels)
    return G / np.maximum(counts, 1)[:, None, None], R


def masked_distances(G: Matrix, view: NDArray[np.intp], p: Vector) -> Vector:
    """Root mean square of H_i - Σ_j p_j H_j over the pairs in the view of kernel i."""
    i = np.arange(len(view))
    Gp = G @ p
    return np.asarray(np.sqrt(np.maximum(G[view, i, i] - 2 * Gp[view, i] + Gp[view] @ p, 0)))


def known_weights(G: Matrix, R: Matrix, view: NDArray[np.intp], view_trust: Vector | float = 1.0) -> Vector:
    """The weights of `median_weights`, with the distances of each kernel over the pairs in its view."""
    i = np.arange(len(view))
    least = float(np.sqrt(np.finfo(np.float64).eps * G[view, i, i].max()))
    t = trust(R, len(view)) * view_trust
    return fixed_point_weights(lambda p: masked_distances(G, view, p), t, least=least)
