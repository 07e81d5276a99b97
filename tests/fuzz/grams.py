"""Precomputed kernels, distances and graphs: definite and indefinite, tiny and huge, and what is no kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tests.fuzz.arrays import FORMS, blobs, odd, shape
from tests.fuzz.draw import Draw


def _gaussian(draw: Draw, n: int) -> Any:
    X = blobs(draw, n, 3)
    return np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / draw.one([0.01, 1, 10, 1000]))


def _linear(draw: Draw, n: int) -> Any:
    X = blobs(draw, n, draw.integer(1, 3))
    return X @ X.T


def _indefinite(draw: Draw, n: int) -> Any:
    A = draw.rng.normal(size=(n, n))
    return A + A.T


def _sign_of_rows(draw: Draw, n: int) -> Any:
    K = _gaussian(draw, n)
    some = draw.rng.random(n) < 0.4
    K[some] = K[:, some] = draw.one([0, -1, 1])
    return (K + K.T) / 2


def _diagonal(draw: Draw, n: int) -> Any:
    return np.diag(draw.rng.choice([0.0, 1.0, -1.0, 1e-300, 1e300], size=n))


def _blocks(draw: Draw, n: int) -> Any:
    z = draw.rng.integers(0, 3, n)
    return (z[:, None] == z).astype(float)


def _tiny_off_diagonal(draw: Draw, n: int) -> Any:
    return np.where(np.eye(n) > 0, 1.0, draw.extreme() if draw.chance(0.5) else 1e-310)


def _poked(draw: Draw, n: int) -> Any:
    K = _gaussian(draw, n)
    i, j = draw.integer(0, n - 1), draw.integer(0, n - 1)
    K[i, j] = K[j, i] = draw.one([np.nan, np.inf, -np.inf, 1e300, -1e300])
    return K


def _lopsided(draw: Draw, n: int) -> Any:
    return draw.rng.normal(size=(n, draw.one([n, n, n + 1, 1])))


def _distances(draw: Draw, n: int) -> Any:
    X = blobs(draw, n, 3)
    return ((X[:, None] - X) ** 2).sum(axis=2)


KERNELS = {
    "gaussian": _gaussian,
    "gaussian again": _gaussian,
    "linear": _linear,
    "indefinite": _indefinite,
    "rows of one sign": _sign_of_rows,
    "diagonal": _diagonal,
    "blocks": _blocks,
    "tiny off the diagonal": _tiny_off_diagonal,
    "zeros": lambda draw, n: np.zeros((n, n)),
    "ones": lambda draw, n: np.ones((n, n)),
    "negative": lambda draw, n: -_gaussian(draw, n),
    "poked": _poked,
    "lopsided": _lopsided,
    "distances": _distances,
}


def _one(draw: Draw, n: int) -> Any:
    K = draw.named(KERNELS, n)
    if draw.chance(0.3):
        with np.errstate(all="ignore"):
            K = K * draw.one([draw.scale(), draw.extreme(), -draw.scale()])
    return draw.named(FORMS, K) if draw.chance(0.2) else K


def kernels(draw: Draw) -> tuple[Any, int]:
    """Return kernel matrices in one of the forms that `fit` takes, and how many samples they were meant for."""
    n, d = shape(draw)
    if draw.chance(0.03):
        return odd(draw, n, d), n
    several = [_one(draw, n) for _ in range(draw.integer(1, 3))]
    form = draw.one(["one", "one", "list", "dict", "stack", "frame", "sparse"])
    if form == "list":
        return several, n
    if form == "dict":
        return {f"k{i}": K for i, K in enumerate(several)}, n
    if form == "stack":
        alike = [np.asarray(K) for K in several if np.shape(K) == (n, n)]
        return (np.stack(alike) if alike else several), n
    if form == "sparse" and np.asarray(several[0]).dtype.kind in "fiu" and np.asarray(several[0]).itemsize in (4, 8):
        return sparse.csr_array(np.asarray(several[0]).astype(float)), n
    return several[0], n
