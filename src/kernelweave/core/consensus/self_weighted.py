"""The self-weighted consensus of kernels, from r x r matrices computed in one pass over tiles of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kernelweave._types import Matrix, TileOf, Vector
from kernelweave.core.algebra.matrices import symmetric_part

__all__ = [
    "KernelTiles",
    "Tile",
    "agreement",
    "combine_tiles",
    "fixed_point_weights",
    "gram_distances",
    "kernel_moments",
    "median_weights",
    "trust",
]

# rows, columns (at or after the rows, so that no tile lies below the diagonal), and the r kernels there, (r, b, b'), or
# their weighted sum
Tile: TypeAlias = tuple[slice, slice, Matrix]

_TILE = (192, 512)  # samples of a tile, at least and at most
_TOL = 1e-8
_MAX_STEPS = 1000
_LEAST = 1e-150  # of a distance that weights are divided by, where all kernels are 0
_FLAT = 1e-6  # share of the second moment below which a kernel has no variance off the diagonal in single precision
_TRUSTED = 0.1  # agreement from which a kernel has full weight; that of permuted kernels is near 0.01
_FLOOR = 0.1  # of the median distance to the mean: smaller distances count as this one


@dataclass(frozen=True, slots=True)
class KernelTiles:
    """The r kernel matrices of n samples, computed tile by tile when needed, so that no stack of them is stored.

    Parameters
    ----------
    tile : function of (rows, columns, dtype, weights)
        Returns the tile (r, b, b') of all kernels, or that of their weighted sum, (b, b').
    r, n : int
        The numbers of kernels and samples.
    check : function of a tile and `training`, whether it lies on the diagonal, optional
        Refuses tiles that cannot be computed with.
    """

    tile: TileOf
    r: int
    n: int
    check: Callable[..., None] | None = None

    def of(self, dtype: np.dtype[np.floating], p: Vector | None = None) -> Iterator[Tile]:
        """Yield the tiles on and above the diagonal; all kernels of a tile take about a third of a kernel matrix.

        Those of the sum with the weights p are small, so that the terms of a tile stay in the processor's cache.
        """
        size = int(np.clip(self.n / np.sqrt(3 * self.r), *_TILE)) if p is None else _TILE[0]
        for i in range(0, self.n, size):
            for j in range(i, self.n, size):
                rows, cols = slice(i, min(i + size, self.n)), slice(j, min(j + size, self.n))
                if self.check is None:
                    yield rows, cols, self.tile(rows, cols, dtype, p)
                else:
                    H = self.tile(rows, cols, dtype)
                    self.check(H, training=i == j)
                    yield rows, cols, H if p is None else np.tensordot(p.astype(dtype), H, axes=1)


def kernel_moments(tiles: Iterable[Tile]) -> tuple[Matrix, Matrix]:
    """G_ij = <H_i, H_j>, and R, the correlations of the kernels' entries off the diagonal.

    Sums are taken about the mean of the first tile, those of the tiles are added in double precision, and the diagonals
    are added last, since sums of nearly constant kernels, and of kernels near the identity, would cancel.
    """
    centre: Vector = np.empty(0)
    seconds, firsts, on_diagonal, n = [], [], [], 0
    for rows, cols, H in tiles:
        flat = H.reshape(len(H), -1)
        if len(centre) == 0:
            centre = flat.mean(axis=1)
        E = flat - centre[:, None]
        if rows == cols:
            diagonal = E[:, :: H.shape[1] + 1]
            on_diagonal.append(diagonal.astype(np.float64))
            diagonal[:] = 0
        times = 1 if rows == cols else 2
        seconds.append(times * (E @ E.T).astype(np.float64))
        firsts.append(times * E.sum(axis=1).astype(np.float64))
        n = max(n, cols.stop)
    second, off, d = np.sum(seconds, axis=0), np.sum(firsts, axis=0), np.hstack(on_diagonal)
    m, first = centre.astype(np.float64), off + d.sum(axis=1)
    G = second + d @ d.T + np.outer(m, first) + np.outer(first, m) + n**2 * np.outer(m, m)
    C = second - np.outer(off, off) / max(n * (n - 1), 1)
    # about the mean of all entries, since the size of the first tile is arbitrary
    about_mean = second.diagonal() + (d * d).sum(axis=1) - first**2 / n**2
    return np.asarray(G), _correlations(C, _FLAT * about_mean)


def _correlations(C: Matrix, least: Vector) -> Matrix:
    """R_ij = C_ij / sqrt(C_ii C_jj); 0, also for i = j, for a kernel of variance at most `least`."""
    varies = C.diagonal() > least
    scale = np.zeros(len(C))
    scale[varies] = 1 / np.sqrt(C.diagonal()[varies])
    R = np.clip(C * scale * scale[:, None], -1, 1)
    np.fill_diagonal(R, varies)
    return np.asarray(R)


def combine_tiles(tiles: Iterable[Tile], n: int, dtype: np.dtype[np.floating]) -> Matrix:
    """K (n, n), exactly symmetric, from its tiles (b, b')."""
    K = np.empty((n, n), dtype=dtype)
    for rows, cols, tile in tiles:
        if rows == cols:
            K[rows, rows] = symmetric_part(tile)
        else:
            K[rows, cols], K[cols, rows] = tile, tile.T
    return K


def gram_distances(G: Matrix, p: Vector) -> Vector:
    """||H_i - K||_F for K = Σ p_i H_i: d_i² = G_ii - 2(Gp)_i + p'Gp."""
    Gp = G @ p
    return np.asarray(np.sqrt(np.maximum(G.diagonal() - 2 * Gp + p @ Gp, 0)))


def agreement(R: Matrix) -> Vector:
    """Agreement of each kernel with the others, from 0 to 1: the largest product of correlations from the leading ones.

    u_i = max_j R_ij u_j, from u = |leading eigenvector of R|. It is near 0 for a kernel that is correlated with no
    other, such as one with its samples permuted, but not for one that is correlated with the rest through a third
    kernel. It is 1 for a flat kernel (R_ii = 0), which has no information and does no harm, and for all kernels if
    those above the threshold are not a majority, since then it is unknown which of them are wrong.
    """
    flat = R.diagonal() == 0
    R = np.maximum(R[~flat][:, ~flat], 0)
    if len(R) == 0:
        return np.ones(len(flat))
    v = np.abs(np.linalg.eigh(R)[1][:, -1])
    u = v / v.max()
    for _ in range(len(R)):
        u = np.maximum(u, (R * u).max(axis=1))
    full = np.ones(len(flat))
    if np.count_nonzero(u > _TRUSTED) > len(u) / 2:
        full[~flat] = u
    return full


def median_weights(
    G: Matrix, R: Matrix | None = None, view_trust: Vector | float = 1.0, *, floor: float = _FLOOR
) -> Vector:
    """p_i ∝ t_i / max(||H_i - K||_F, δ), Σp = 1, K = Σ p_i H_i: the geometric median of the kernels, to a fixed point.

    δ = floor · the median distance to the mean, so that K does not collapse to the nearest kernel; t = min(1,
    agreement/0.1) removes kernels that are correlated with no other, and is 1 without R; it is multiplied by the trust
    in the kernel's view.
    """
    least = float(np.sqrt(np.finfo(np.float64).eps * G.diagonal().max()))
    t = trust(R, len(G)) * view_trust
    return fixed_point_weights(lambda p: gram_distances(G, p), t, least=least, floor=floor)


def trust(R: Matrix | None, r: int) -> Vector:
    """t = min(1, agreement/0.1): near 0 for kernels that are correlated with no other; 1 without R."""
    return np.ones(r) if R is None else np.minimum(1, agreement(R) / _TRUSTED)


def fixed_point_weights(
    distances: Callable[[Vector], Vector], t: Vector, *, least: float, floor: float = _FLOOR
) -> Vector:
    """p_i ∝ t_i / max(d_i(p), δ), Σp = 1, by fixed-point iteration; δ = floor · the median distance at t."""
    p = t / t.sum()
    d = distances(p)
    least = max(floor * float(np.median(d)), least, _LEAST)
    for _ in range(_MAX_STEPS):
        w = t / np.maximum(d, least)
        new = w / w.sum()
        change = np.abs(new - p).max()
        p = new
        if change < _TOL:
            break
        d = distances(p)
    return np.asarray(p)
