"""Kernel k-means from several starts side by side, one matrix product per iteration for all of them.

n samples, R starts, c clusters: labels z (n, R), centres A (n, R, c), where centre c of a start is Σ_i A_ic φ(x_i).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kernelweave._types import Matrix, Vector

__all__ = [
    "Labels",
    "Loss",
    "Partition",
    "centre_distances",
    "centres",
    "kernel_kmeans",
    "nearest",
    "own_distances",
    "plain_centres",
    "random_labels",
    "refilled",
    "root_loss",
    "seeded_centres",
    "squared_loss",
]

Labels: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Loss:
    """What a sample costs as a concave function of its squared distance d to its centre, and the slope of that."""

    cost: Callable[[Matrix], Matrix]
    slope: Callable[[Matrix], Matrix]


def squared_loss() -> Loss:
    """Return the loss of k-means, d."""
    return Loss(lambda d: d, np.ones_like)


def root_loss(floor: float) -> Loss:
    """Return √d, the loss of l2,1 k-means; below the floor δ its tangent there, so that every slope is finite."""

    def slope(d: Matrix) -> Matrix:
        return np.asarray(0.5 / np.sqrt(np.maximum(d, floor)))

    def cost(d: Matrix) -> Matrix:
        return np.where(d > floor, np.sqrt(np.maximum(d, floor)), (np.maximum(d, 0) / floor**0.5 + floor**0.5) / 2)

    return Loss(cost, slope)


@dataclass(frozen=True, slots=True)
class Partition:
    """The best of several starts: its labels (n,), centres (n, c), objective after every iteration, and its end."""

    z: Labels
    A: Matrix
    history: Vector
    converged: bool


def centres(z: Labels, c: int, s: Matrix) -> Matrix:
    """A_ic = s_i [z_i = c] / Σ_j s_j [z_j = c]: weighted means; the centre of an empty cluster is the origin."""
    A = np.zeros((*z.shape, c), dtype=s.dtype)
    np.put_along_axis(A, z[..., None], s[..., None], axis=2)
    total = A.sum(axis=0)
    return np.asarray(np.divide(A, total, out=A, where=total > 0))


def plain_centres(z: Labels, c: int, dtype: DTypeLike) -> Matrix:
    """A_ic = [z_i = c] / #{j : z_j = c}: means."""
    return centres(z, c, np.ones(z.shape, dtype=dtype))


def centre_distances(K: Matrix, A: Matrix) -> Matrix:
    """D_ic = K_ii - 2(KA)_ic + (A'KA)_cc, the squared distance of sample i to centre c, for every start."""
    D = (K @ A.reshape(len(A), -1)).reshape(A.shape)
    square = np.einsum("irc,irc->rc", A, D)
    D *= -2
    D += square
    D += K.diagonal()[:, None, None]
    return np.asarray(D)


def own_distances(D: Matrix, z: Labels) -> Matrix:
    """d_i = D_ic with c = z_i."""
    return np.asarray(np.take_along_axis(D, z[..., None], axis=2)[..., 0])


def nearest(D: Matrix) -> Labels:
    """z_i = argmin_c D_ic; a cluster that no sample chose gets the one farthest from its centre.

    That sample leaves a cluster of two or more for one of its own, at distance 0: no objective rises by it.
    """
    z = D.argmin(axis=2)
    return refilled(z, own_distances(D, z), D.shape[2])


def refilled(z: Labels, d: Matrix, c: int) -> Labels:
    """z with no cluster empty: each empty one gets the sample of largest d from a cluster of two or more."""
    z = z.copy()
    for r, labels in enumerate(z.T):
        sizes = np.bincount(labels, minlength=c)
        for empty in np.flatnonzero(sizes == 0):
            i = np.where(sizes[labels] > 1, d[:, r], -np.inf).argmax()
            sizes[labels[i]] -= 1
            sizes[empty] = 1
            labels[i] = empty
    return z


def random_labels(n: int, c: int, starts: int, rng: np.random.Generator) -> Labels:
    """Return a random label for every sample and start; no cluster is empty."""
    return refilled(rng.integers(c, size=(n, starts)), rng.random((n, starts)), c)


def seeded_centres(K: Matrix, c: int, starts: int, rng: np.random.Generator) -> Matrix:
    """Return the means of the samples that are nearest to c random ones, for every start."""
    n, k = len(K), K.diagonal()
    seeds = np.array([rng.choice(n, size=c, replace=False) for _ in range(starts)])
    D = K[:, seeds]
    D *= -2
    D += k[seeds]
    D += k[:, None, None]
    return plain_centres(nearest(D), c, K.dtype)


def kernel_kmeans(K: Matrix, A: Matrix, loss: Loss, *, max_iter: int) -> Partition:
    """min Σ_i loss(||φ(x_i) - centre of i||²) over labels and centres, from R centres A; the best start is returned.

    In turn: the nearest centre, then centres that are means weighted by the slope of the loss, which is a step of
    majorisation for a concave loss. The objective never rises; a start ends when no label changes.
    """
    n, R, c = A.shape
    A, z = A.copy(), np.full((n, R), -1)
    histories: list[list[float]] = [[] for _ in range(R)]
    running = np.arange(R)
    for iteration in range(max_iter):
        D = centre_distances(K, A[:, running])
        if iteration > 0:
            _record(histories, running, loss, own_distances(D, z[:, running]))
        new = nearest(D)
        changed = (new != z[:, running]).any(axis=0)
        z[:, running] = new
        A[:, running] = centres(new, c, loss.slope(own_distances(D, new)))
        running = running[changed]
        if not len(running):
            break
    _record(histories, np.arange(R), loss, own_distances(centre_distances(K, A), z))
    best = int(np.argmin([history[-1] for history in histories]))
    return Partition(z[:, best].copy(), A[:, best].copy(), np.array(histories[best]), best not in running)


def _record(histories: list[list[float]], starts: Labels, loss: Loss, d: Matrix) -> None:
    for r, value in zip(starts, loss.cost(d).sum(axis=0, dtype=np.float64), strict=True):
        histories[r].append(float(value))
