"""Toys whose number of clusters is known, for `n_clusters="auto"`: blobs, moons, circles, and noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

__all__ = ["KINDS", "toys"]

_Table = NDArray[np.float64]
_SIZES = {200: range(2), 300: range(5), 600: range(2)}  # samples, and seeds
_CLEAR = 0.95  # of samples nearer to their own centre than to any other: below it, blobs overlap
_STRETCH = np.array([[0.6, -0.6], [-0.4, 0.8]])
_NOISE = {2: 300, 6: 200, 13: 178}  # columns, and samples

KINDS = ("blobs", "overlapping blobs", "moons", "circles", "stretched", "varied", "real", "noise")


def toys(kind: str) -> Iterator[tuple[_Table, int]]:
    """Yield tables of a kind, each with its number of clusters."""
    if kind.endswith("blobs"):
        return ((X, c) for X, c, clear in _blobs() if clear == (kind == "blobs"))
    makers: dict[str, Callable[[], Iterator[tuple[_Table, int]]]] = {
        "moons": _moons,
        "circles": _circles,
        "stretched": _stretched,
        "varied": _varied,
        "real": _real,
        "noise": _noise,
    }
    return makers[kind]()


def _blobs() -> Iterator[tuple[_Table, int, bool]]:
    """Two to eight blobs at random places, and whether they are clear; most draws of many overlap somewhere."""
    for n, seeds in _SIZES.items():
        for c in range(2, 9):
            for seed in seeds:
                X, y, centres = datasets.make_blobs(n, centers=c, random_state=seed, return_centers=True)
                nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
                yield X, c, bool(np.mean(nearest == y) >= _CLEAR)


def _moons() -> Iterator[tuple[_Table, int]]:
    for n in _SIZES:
        for seed in range(2):
            for noise in (0.05, 0.08):
                yield datasets.make_moons(n, noise=noise, random_state=seed)[0], 2


def _circles() -> Iterator[tuple[_Table, int]]:
    for n in _SIZES:
        for seed in range(2):
            for noise in (0.03, 0.05):
                yield datasets.make_circles(n, factor=0.5, noise=noise, random_state=seed)[0], 2


def _stretched() -> Iterator[tuple[_Table, int]]:
    for n in (300, 500):
        for seed in (0, 1, 3, 170):
            yield datasets.make_blobs(n, random_state=seed)[0] @ _STRETCH, 3


def _varied() -> Iterator[tuple[_Table, int]]:
    for n in (300, 500):
        for seed in (0, 1, 3, 170):
            yield datasets.make_blobs(n, cluster_std=[1.0, 2.5, 0.5], random_state=seed)[0], 3


def _real() -> Iterator[tuple[_Table, int]]:
    for load in (datasets.load_wine, datasets.load_iris, datasets.load_breast_cancer):
        X, y = load(return_X_y=True)
        yield X, len(np.unique(y))


def _noise() -> Iterator[tuple[_Table, int]]:
    for seed in range(10):
        for columns, n in _NOISE.items():
            rng = np.random.default_rng(seed)
            yield rng.normal(size=(n, columns)), 1
            yield rng.uniform(size=(n, columns)), 1
