"""Partitions by the peaks of a density: every sample belongs to the peak that it climbs to.

Peaks are merged into higher ones at the highest pass between them (Chazal, Guibas, Oudot and Skraba, 2013). The height
of a peak above this pass is its prominence. Letters: h heights, b basins, one for each peak.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Labels, Vector
from kernelweave.core.partitions.valleys import Relief

__all__ = ["peak_partitions"]


class _Passes(NamedTuple):
    """Pairs of basins with neighbours in each other, and the height of the highest pass between them, descending."""

    first: Labels
    second: Labels
    height: Vector


def peak_partitions(of: Relief, numbers: Sequence[int]) -> dict[int, NDArray[np.intp]]:
    """Return for each number k the partition by the k most prominent peaks, as far as there are as many.

    Numbers below that of the parts of the samples without any neighbours in each other have no partition. Heights are
    smoothed first: the mean of a sample and its seven nearest neighbours.
    """
    n = len(of.height)
    around = np.c_[np.arange(n), of.near]
    h = of.height[around].mean(axis=1)
    basin, top = _basins(h, around)
    above, order = _merged(top, _passes(h, basin, of.near))
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    least = int(np.count_nonzero(above < 0))
    found = {}
    for k in numbers:
        if least <= k <= len(order):
            kept = np.empty(len(order), dtype=np.intp)
            for b in order:
                kept[b] = rank[b] if rank[b] < k else kept[above[b]]
            found[k] = kept[basin]
    return found


def _basins(h: Vector, around: Labels) -> tuple[Labels, Vector]:
    """Return the basin of every sample, by climbing to the highest neighbour, and the height of every peak."""
    up = np.take_along_axis(around, h[around].argmax(axis=1)[:, None], axis=1)[:, 0]
    up = np.where(h[up] > h, up, np.arange(len(h)))
    while (up[up] != up).any():
        up = up[up]
    peaks, basin = np.unique(up, return_inverse=True)
    return basin, h[peaks]


def _passes(h: Vector, basin: Labels, near: Labels) -> _Passes:
    """Return the highest pass between any two basins with neighbours in each other."""
    i, j = np.repeat(np.arange(len(h)), near.shape[1]), near.ravel()
    across = basin[i] != basin[j]
    i, j = i[across], j[across]
    first, second = np.minimum(basin[i], basin[j]), np.maximum(basin[i], basin[j])
    height = np.minimum(h[i], h[j])
    order = np.lexsort((second, first, -height))
    return _Passes(first[order], second[order], height[order])


def _merged(top: Vector, passes: _Passes) -> tuple[Labels, Labels]:
    """Return for each peak the one that it is merged into, -1 if none, and all peaks, the most prominent first.

    A peak comes after the one that it is merged into, which is at least as prominent, and merged later.
    """
    root, above = list(range(len(top))), np.full(len(top), -1)
    prominence, when = np.full(len(top), np.inf), np.full(len(top), len(passes.height))
    for step, (a, b, height) in enumerate(zip(*(of.tolist() for of in passes), strict=True)):
        high, low = _root(root, a), _root(root, b)
        if high == low:
            continue
        if top[high] < top[low]:
            high, low = low, high
        root[low], above[low], prominence[low], when[low] = high, high, top[low] - height, step
    return above, np.lexsort((-top, -when, -prominence))


def _root(root: list[int], b: int) -> int:
    while root[b] != b:
        root[b] = root[root[b]]
        b = root[b]
    return b
