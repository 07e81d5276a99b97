"""Kernel k-means from several starts, with the centres as combinations of the samples' images (see the package)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.algebra.centring import centre
from kernelweave.core.algebra.matrices import average_with_transpose
from kernelweave.core.partitions.kmeans import best_start, nearest, own_distances, reassigned, rounding

__all__ = [
    "Loss",
    "Partition",
    "centre_distances",
    "centred_kernel",
    "centres",
    "distance_rounding",
    "kernel_kmeans",
    "plain_centres",
    "root_loss",
    "seeded_centres",
    "squared_loss",
]


@dataclass(frozen=True, slots=True)
class Loss:
    """The cost of a sample as a concave function of its squared distance d to its centre, and its derivative."""

    cost: Callable[[Matrix], Matrix]
    slope: Callable[[Matrix], Matrix]


def squared_loss() -> Loss:
    """Return the loss of k-means, d."""
    return Loss(lambda d: d, np.ones_like)


def root_loss(floor: float) -> Loss:
    """Return √d, the loss of l2,1 k-means; for d below the floor its tangent there, so that every slope is finite."""

    def slope(d: Matrix) -> Matrix:
        return np.asarray(0.5 / np.sqrt(np.maximum(d, floor)))

    def cost(d: Matrix) -> Matrix:
        return np.where(d > floor, np.sqrt(np.maximum(d, floor)), (np.maximum(d, 0) / floor**0.5 + floor**0.5) / 2)

    return Loss(cost, slope)


@dataclass(frozen=True, slots=True)
class Partition:
    """The best start: its labels z (n,), centres A (c, n), objective of every iteration, and whether it converged."""

    z: Labels
    A: Matrix
    history: Vector
    converged: bool


def centred_kernel(K: Matrix) -> Matrix:
    """Centre K in place, so that the mean of the samples' images is the origin: distances lose fewer digits.

    In single precision the rounding of the means adds a constant to each row, which cancels only if K is symmetric.
    """
    centre(K)
    average_with_transpose(K)
    return K


def distance_rounding(K: Matrix) -> float:
    """Return the largest difference between squared distances that counts as rounding, from the size of max K_ii."""
    return rounding(float(np.abs(K.diagonal()).max()), K.dtype)


def centres(z: Labels, c: int, s: Matrix) -> Matrix:
    """A_rki = s_ri [z_ri = k] / Σ_j s_rj [z_rj = k]: weighted means; the centre of an empty cluster is the origin."""
    R, n = z.shape
    A = np.zeros((R, c, n), dtype=s.dtype)
    np.put_along_axis(A, z[:, None], s[:, None], axis=1)
    total = A.sum(axis=2, keepdims=True)
    return np.asarray(np.divide(A, total, out=A, where=total > 0))


def plain_centres(z: Labels, c: int, dtype: DTypeLike) -> Matrix:
    """A_rki = [z_ri = k] / #{j : z_rj = k}: means."""
    return centres(z, c, np.ones(z.shape, dtype=dtype))


def centre_distances(K: Matrix, A: Matrix) -> Matrix:
    """D_rki = K_ii - 2(A_r K)_ki + (A_r K A_r')_kk, the squared distances to the centres, in one product."""
    D = (A.reshape(-1, len(K)) @ K).reshape(A.shape)
    square = np.einsum("rki,rki->rk", A, D)
    D *= -2
    D += square[..., None]
    D += K.diagonal()
    return np.asarray(D)


def seeded_centres(K: Matrix, c: int, starts: int, rng: np.random.Generator) -> Matrix:
    """Return the means of the samples that are nearest to c random ones, for every start."""
    n, diagonal = len(K), K.diagonal()
    seeds = np.array([rng.choice(n, size=c, replace=False) for _ in range(starts)])
    D = K[seeds]
    D *= -2
    D += diagonal[seeds][..., None]
    D += diagonal
    return plain_centres(nearest(D, distance_rounding(K)), c, K.dtype)


def kernel_kmeans(K: Matrix, A: Matrix, loss: Loss, *, max_iter: int) -> Partition:
    """min Σ_i loss(||φ(x_i) - centre of i||²) over labels and centres, from R centres A; the best start is returned.

    Alternates between assignment to the nearest centre and centres that are means weighted by the slope of the loss: a
    majorisation step for a concave loss. The objective never increases; a start has converged when no label changes.
    """
    R, c, _ = A.shape
    slack = distance_rounding(K)
    D = centre_distances(K, A)
    z = nearest(D, slack)
    A = centres(z, c, loss.slope(own_distances(D, z)))
    histories: list[list[float]] = [[] for _ in range(R)]
    running = np.arange(R)
    for _ in range(1, max_iter):
        now = z[running]
        D = centre_distances(K, A[running])
        _record(histories, running, loss, own_distances(D, now))
        new = reassigned(D, now, slack)
        z[running] = new
        A[running] = centres(new, c, loss.slope(own_distances(D, new)))
        running = running[(new != now).any(axis=1)]
        if not len(running):
            break
    d = own_distances(centre_distances(K, A), z)
    _record(histories, np.arange(R), loss, d)
    costs = np.array([history[-1] for history in histories])
    best = best_start(costs, slack * float(loss.slope(d).sum(axis=1).max()))
    return Partition(z[best].copy(), A[best].copy(), np.array(histories[best]), best not in running)


def _record(histories: list[list[float]], starts: Labels, loss: Loss, d: Matrix) -> None:
    for r, value in zip(starts, loss.cost(d).sum(axis=1, dtype=np.float64), strict=True):
        histories[r].append(float(value))
