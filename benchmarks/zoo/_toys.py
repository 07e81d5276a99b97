"""Toys of few columns: blobs of several shapes, moons, circles, and data without groups."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs, make_circles, make_moons

from benchmarks.zoo._member import Built, Member

__all__ = ["NOISE", "TOYS", "centres", "labelled"]

_Centres = NDArray[np.float64]


def centres(rng: np.random.Generator, c: int, d: int, apart: float) -> _Centres:
    """Draw c points of d columns that are at least `apart` from each other."""
    width = apart * c ** (1 / d)
    found = rng.uniform(-width, width, (1, d))
    while len(found) < c:
        new = rng.uniform(-width, width, (1, d))
        if np.linalg.norm(found - new, axis=1).min() >= apart:
            found = np.vstack([found, new])
    return found


def labelled(rng: np.random.Generator, sizes: list[int]) -> NDArray[np.intp]:
    """Return the classes of groups of these sizes, in random order."""
    return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def _blobs(c: int, d: int, seed: int) -> Built:
    rng = np.random.default_rng([seed, c, d])
    y = labelled(rng, [300 // c] * c)
    return centres(rng, c, d, apart=7.0)[y] + rng.normal(size=(len(y), d)), y


def _moons(n: int, noise: float, seed: int) -> Built:
    X, y = make_moons(n, noise=noise, random_state=seed)
    return X, y


def _circles(n: int, seed: int) -> Built:
    X, y = make_circles(n, factor=0.5, noise=0.05, random_state=seed)
    return X, y


def _aniso(seed: int) -> Built:
    X, y = make_blobs(400, centers=[[-6, -4], [0, -4], [6, 4]], random_state=seed)
    return X @ np.array([[0.6, -0.6], [-0.4, 0.8]]), y


def _varied(seed: int) -> Built:
    X, y = make_blobs(400, centers=[[-9, 0], [0, 7], [6, -4]], cluster_std=[1.0, 2.5, 0.5], random_state=seed)
    return X, y


def _strips(seed: int) -> Built:
    rng = np.random.default_rng(seed)
    y = labelled(rng, [120, 120, 120])
    return np.column_stack([rng.uniform(0, 20, 360), 3.0 * y + rng.normal(0, 0.35, 360)]), y


def _imbalanced(d: int, seed: int) -> Built:
    rng = np.random.default_rng([seed, d])
    y = labelled(rng, [300, 60, 30])
    return centres(rng, 3, d, apart=8.0)[y] + rng.normal(size=(len(y), d)), y


def _outliers(d: int, seed: int) -> Built:
    X, y = _blobs(4, d, seed)
    rng = np.random.default_rng([seed, 5])
    far = rng.choice(len(X), len(X) // 20, replace=False)
    X[far] = rng.uniform(-60, 60, (len(far), d))
    y[far] = -1
    return X, y


def _gross(seed: int) -> Built:
    X, y = _blobs(4, 10, seed)
    rng = np.random.default_rng([seed, 6])
    wrong = rng.choice(X.size, X.size // 200, replace=False)
    X.flat[wrong] *= 100
    return X, y


def _repeated(seed: int) -> Built:
    X, y = _blobs(5, 4, seed)
    rows = np.repeat(np.arange(80), 5)
    return X[rows], y[rows]


def _one_row_often(seed: int) -> Built:
    X, y = _blobs(3, 4, seed)
    rows = np.r_[np.arange(len(X)), np.zeros(60, dtype=int)]
    return X[rows], y[rows]


def _normal(d: int, seed: int) -> Built:
    return np.random.default_rng([seed, d]).normal(size=(400, d)), None


def _square(seed: int) -> Built:
    return np.random.default_rng(seed).uniform(size=(400, 2)), None


TOYS = (
    *(
        Member(f"blobs-{c}", "toy", f"{c} round blobs, {d} columns", partial(_blobs, c, d))
        for c, d in ((2, 2), (3, 2), (4, 10), (5, 2), (6, 10), (7, 10), (8, 2))
    ),
    Member("moons", "toy", "two half moons", partial(_moons, 400, 0.05)),
    Member("moons-200", "toy", "two half moons of 100 samples", partial(_moons, 200, 0.05)),
    Member("moons-noisy", "toy", "two half moons that nearly touch", partial(_moons, 500, 0.08)),
    Member("circles", "toy", "a circle in a circle", partial(_circles, 400)),
    Member("circles-200", "toy", "a circle in a circle, 100 samples each", partial(_circles, 200)),
    Member("aniso", "toy", "three stretched blobs", _aniso),
    Member("varied", "toy", "three blobs of different variances", _varied),
    Member("strips", "toy", "three long strips side by side", _strips),
    Member("imbalanced-2", "imbalanced", "groups of 300, 60 and 30, two columns", partial(_imbalanced, 2)),
    Member("imbalanced-20", "imbalanced", "groups of 300, 60 and 30, twenty columns", partial(_imbalanced, 20)),
    Member("outliers-2", "outliers", "four blobs and 5 % outliers far away, two columns", partial(_outliers, 2)),
    Member("outliers-10", "outliers", "four blobs and 5 % outliers far away, ten columns", partial(_outliers, 10)),
    Member("gross-errors", "outliers", "four blobs, one cell in 200 is 100 times too large", _gross),
    Member("repeated", "duplicates", "five blobs, every row five times", _repeated),
    Member("one-row-often", "duplicates", "three blobs, one row 61 times", _one_row_often),
)

NOISE = (
    *(Member(f"noise-{d}", "noise", f"one normal cloud, {d} columns", partial(_normal, d)) for d in (2, 6, 50)),
    Member("square", "noise", "points spread evenly over a square", _square),
)
