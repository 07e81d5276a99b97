"""Kernel matrices tile by tile, as often as they are asked for, so that no stack of them need be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.consensus.self_weighted import Tile

__all__ = ["KernelTiles", "stack_tiles"]

TileOf = Callable[[slice, slice, Any], Matrix]  # (rows, columns, dtype) -> (r, b, b')


class KernelTiles:
    """The r kernel matrices of n samples, from one table or several: iterate over it for the tiles of all of them.

    Parameters
    ----------
    parts : sequence of functions of (rows, columns, dtype)
        For every table, what gives the tile (r_v, b, b') of its kernels.
    shape : (r, n, n)
        Of all kernel matrices together.
    dtype : dtype
        Of the tiles.
    """

    def __init__(self, parts: Sequence[TileOf], shape: tuple[int, int, int], dtype: np.dtype[Any]) -> None:
        self._parts = list(parts)
        self.shape = shape
        self.dtype = dtype
        self.n_kernels, self.n_samples = shape[:2]

    def __iter__(self) -> Iterator[Tile]:
        return self._tiles(self.dtype)

    def single(self) -> Iterator[Tile]:
        """Return the tiles in single precision: faster, and enough to weigh kernels by."""
        return self._tiles(np.dtype(np.float32))

    def _tiles(self, dtype: np.dtype[Any]) -> Iterator[Tile]:
        size = self._size()
        for i in range(0, self.n_samples, size):
            for j in range(i, self.n_samples, size):
                rows = slice(i, min(i + size, self.n_samples))
                cols = slice(j, min(j + size, self.n_samples))
                yield rows, cols, self._tile(rows, cols, dtype)

    def _size(self) -> int:
        """Return the side of a tile: all kernels of one tile take about a third of one kernel matrix."""
        return int(np.clip(self.n_samples / np.sqrt(3 * self.n_kernels), 64, 512))

    def _tile(self, rows: slice, cols: slice, dtype: np.dtype[Any]) -> Matrix:
        if len(self._parts) == 1:
            return self._parts[0](rows, cols, dtype)
        return np.concatenate([part(rows, cols, dtype) for part in self._parts])


def stack_tiles(H: Matrix) -> KernelTiles:
    """Return the tiles of precomputed kernel matrices (r, n, n)."""
    return KernelTiles([lambda rows, cols, dtype: np.ascontiguousarray(H[:, rows, cols], dtype)], H.shape, H.dtype)
