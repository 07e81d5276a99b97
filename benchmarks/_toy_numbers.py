"""Toys whose number of clusters is known, for `n_clusters="auto"`: blobs, moons, circles, and noise.

Thresholds were chosen on seeds below 100, on 170, and on seeds from 1000 on.
Groups apart in one column have their distance in units of the standard deviation of all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

__all__ = ["KINDS", "Toy", "toys"]

_Table = NDArray[np.float64]
_SIZES = {200: range(100, 104), 300: range(104, 110), 600: range(110, 112)}  # samples, and seeds
_SEEDS = range(100, 104)
_CLEAR = 0.95  # of samples nearer to their own centre than to any other: below it, blobs overlap
_STRETCH = np.array([[0.6, -0.6], [-0.4, 0.8]])
_NOISE = {2: 300, 6: 200, 13: 178}  # columns, and samples
_TAILED = {2: 300, 3: 300}
_MANY, _WIDE = 6000, 12  # samples, more than those that are compared each with all others, and columns
_ASCENTS = 2000  # steps uphill from a centre

KINDS = (
    "blobs",
    "overlapping blobs",
    "moons",
    "circles",
    "stretched",
    "varied",
    "squares",
    "apart in one column",
    "real",
    "noise",
    "heavy-tailed noise",
    "counts without groups",
    "groups in many samples",
    "noise in many samples",
)


class Toy(NamedTuple):
    """A table, its number of clusters, and how many peaks the density has that it was drawn from, if known."""

    X: _Table
    c: int
    n_peaks: int | None = None


def toys(kind: str) -> Iterator[Toy]:
    """Return the toys of a kind."""
    if kind.endswith("blobs"):
        return (toy for toy, clear in _blobs() if clear == (kind == "blobs"))
    makers: dict[str, Callable[[], Iterator[Toy]]] = {
        "moons": _moons,
        "circles": _circles,
        "stretched": _stretched,
        "varied": _varied,
        "real": _real,
        "squares": _squares,
        "apart in one column": _apart,
        "noise": _noise,
        "heavy-tailed noise": _heavy_tails,
        "counts without groups": _counts,
        "groups in many samples": _many_groups,
        "noise in many samples": _many_noise,
    }
    return makers[kind]()


def _blobs() -> Iterator[tuple[Toy, bool]]:
    """Two to eight blobs at random places, and whether they are clear; most draws of many overlap somewhere."""
    for n, seeds in _SIZES.items():
        for c in range(2, 9):
            for seed in seeds:
                X, y, centres = datasets.make_blobs(n, centers=c, random_state=seed, return_centers=True)
                nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
                yield Toy(X, c, _n_peaks(centres)), bool(np.mean(nearest == y) >= _CLEAR)


def _n_peaks(centres: _Table) -> int:
    """Return how many peaks the density of round blobs of variance 1 has, by climbing from every centre."""
    at = centres.copy()
    for _ in range(_ASCENTS):
        near = np.exp(-((at[:, None] - centres) ** 2).sum(axis=2) / 2)
        at = near @ centres / near.sum(axis=1, keepdims=True)
    return len(np.unique(np.round(at, 1), axis=0))


def _moons() -> Iterator[Toy]:
    for n in _SIZES:
        for seed in _SEEDS[:2]:
            for noise in (0.05, 0.08):
                yield Toy(datasets.make_moons(n, noise=noise, random_state=seed)[0], 2)


def _circles() -> Iterator[Toy]:
    for n in _SIZES:
        for seed in _SEEDS[:2]:
            for noise in (0.03, 0.05):
                yield Toy(datasets.make_circles(n, factor=0.5, noise=noise, random_state=seed)[0], 2)


def _stretched() -> Iterator[Toy]:
    for n in (300, 500):
        for seed in _SEEDS:
            yield Toy(datasets.make_blobs(n, random_state=seed)[0] @ _STRETCH, 3)


def _varied() -> Iterator[Toy]:
    for n in (300, 500):
        for seed in _SEEDS:
            yield Toy(datasets.make_blobs(n, cluster_std=[1.0, 2.5, 0.5], random_state=seed)[0], 3)


def _squares() -> Iterator[Toy]:
    """Three groups of even density: no mixture of Gaussians."""
    for n in (150, 300):
        for seed in _SEEDS:
            rng = np.random.default_rng(seed)
            corner = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.5]])[rng.integers(3, size=n)]
            yield Toy(corner + rng.uniform(size=(n, 2)), 3)


def _apart() -> Iterator[Toy]:
    """Two groups that differ in one column of several."""
    for columns, distance in ((3, 7), (5, 10), (8, 7), (9, 10)):
        for n in (60, 200):
            for seed in _SEEDS:
                X = np.random.default_rng(seed).normal(size=(n, columns))
                X[: n // 2, 0] += distance
                yield Toy(X, 2)


def _real() -> Iterator[Toy]:
    for load in (datasets.load_wine, datasets.load_iris, datasets.load_breast_cancer):
        X, y = load(return_X_y=True)
        yield Toy(X, len(np.unique(y)))


def _noise() -> Iterator[Toy]:
    for seed in range(100, 106):
        for columns, n in _NOISE.items():
            rng = np.random.default_rng(seed)
            yield Toy(rng.normal(size=(n, columns)), 1)
            yield Toy(rng.uniform(size=(n, columns)), 1)


def _heavy_tails() -> Iterator[Toy]:
    for seed in range(100, 105):
        for columns, n in _TAILED.items():
            rng = np.random.default_rng(seed)
            yield Toy(rng.standard_t(2, size=(n, columns)), 1)
            yield Toy(rng.standard_t(3, size=(n, columns)), 1)
            yield Toy(rng.lognormal(size=(n, columns)), 1)


def _counts() -> Iterator[Toy]:
    for seed in _SEEDS:
        for columns in (2, 4, 6, 9):
            for mean in (0.3, 1.0, 5.0):
                X = np.random.default_rng(seed).poisson(mean, size=(200, columns))
                yield Toy(X.astype(np.float64), 1)


def _many_groups() -> Iterator[Toy]:
    """Yield groups that overlap the more the more of them there are."""
    for seed in _SEEDS:
        for c in (3, 5, 8, 12):
            rng = np.random.default_rng(seed)
            centres = 1.2 * rng.normal(size=(c, _WIDE))
            yield Toy(rng.normal(size=(_MANY, _WIDE)) + centres[rng.integers(c, size=_MANY)], c)


def _many_noise() -> Iterator[Toy]:
    for seed in _SEEDS[:2]:
        rng = np.random.default_rng(seed)
        for drawn in (rng.standard_normal, rng.uniform, rng.exponential, rng.lognormal):
            yield Toy(drawn(size=(_MANY, _WIDE)), 1)
        yield Toy(rng.standard_normal(size=(_MANY, _WIDE)) @ rng.standard_normal(size=(_WIDE, _WIDE)), 1)
        yield Toy(rng.standard_t(4, size=(_MANY, _WIDE)), 1)
        yield Toy(rng.poisson(3.0, size=(_MANY, _WIDE)).astype(np.float64), 1)
