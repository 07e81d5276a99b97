"""Valleys between clusters: whether samples are sparser where two clusters touch than within them.

A cut through a dense region has no valley: the samples along it are as dense as the clusters, or denser. Letters: X
samples, d distances to neighbours, h heights, z labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from kernelweave._types import Labels, Mask, Matrix, Vector

__all__ = ["APART", "Relief", "depth", "relief"]

APART = 10.0  # the depth between clusters that do not touch, and the largest of all
_FOR_HEIGHT = 10  # neighbours by which the density at a sample is estimated
_TOUCHING = 7  # neighbours that a sample touches
_LEAST = 1e-12  # of the mean squared distance to neighbours: copies of a sample are not infinitely dense


class Relief(NamedTuple):
    """The height h_i of every sample, the logarithm of a density, and its seven nearest neighbours (n, 7)."""

    height: Vector
    near: Labels


def relief(X: Matrix) -> Relief:
    """Return h_i = -m/2 log(mean of d_ij² over the ten nearest j), m the dimension that the distances show.

    1/m is the mean of log(d_i,10 / d_ij) over all i and the nine nearest j (Levina and Bickel, 2004), and m the number
    of columns at most. The result does not depend on the order of the samples: ties go to the neighbour that is first
    by its coordinates.
    """
    order = np.lexsort(X.T)
    squares, found = _neighbours(X[order], min(_FOR_HEIGHT, len(X) - 1))
    copies = squares <= _LEAST * squares.mean()
    squares[copies] = _LEAST * squares.mean() or 1.0
    height, near = np.empty(len(X)), np.empty(found[:, :_TOUCHING].shape, dtype=np.intp)
    m = min(_dimension(squares, copies), X.shape[1])
    height[order] = -m / 2 * np.log(squares.mean(axis=1))
    near[order] = order[found[:, :_TOUCHING]]
    return Relief(height, near)


def _neighbours(X: Matrix, k: int) -> tuple[Matrix, Labels]:
    """Return the squared distances to the k nearest other samples, ascending, and these samples."""
    distances, found = cKDTree(X).query(X, k + 1)
    own = found == np.arange(len(X))[:, None]
    own[~own.any(axis=1), -1] = True  # more copies of a sample than neighbours
    return distances[~own].reshape(-1, k) ** 2, found[~own].reshape(-1, k)


def _dimension(squares: Matrix, copies: Mask) -> float:
    """Return m from the squared distances to the nearest neighbours, in ascending order; copies show no dimension."""
    longer = (np.log(squares[:, -1:] / squares[:, :-1]) / 2)[~copies[:, :-1]]
    total = float(longer.sum())
    return len(longer) / total if total > 0 else 1.0


def depth(of: Relief, z: Labels, errors: float = 0.0) -> float:
    """Return the depth of the shallowest valley between two clusters that touch, at most 10.

    Clusters touch where a sample of one is among the seven nearest neighbours of a sample of the other. The depth is
    the mean height of the lower cluster, less the mean height of the pairs of samples that touch, less `errors`
    standard errors. The density at one sample is counted from ten neighbours, so that its logarithm has the standard
    error 1/sqrt(10). That of t samples side by side, which share neighbours, is counted from about t: 1/sqrt(t).
    """
    c = int(z.max()) + 1
    mean = np.bincount(z, of.height, c) / np.maximum(np.bincount(z, minlength=c), 1)
    i, j = np.repeat(np.arange(len(z)), of.near.shape[1]), of.near.ravel()
    across = z[i] != z[j]
    i, j = i[across], j[across]
    pairs = np.minimum(z[i], z[j]).astype(np.int64) * c + np.maximum(z[i], z[j])
    touching, place, count = np.unique(pairs, return_inverse=True, return_counts=True)
    between = np.bincount(place, (of.height[i] + of.height[j]) / 2, len(touching)) / count
    lower = np.minimum(mean[touching // c], mean[touching % c])
    samples = np.unique(np.r_[place, place] * len(z) + np.r_[i, j])
    t = np.bincount(samples // len(z), minlength=len(touching))
    return float((lower - between - errors / np.sqrt(np.maximum(t, _FOR_HEIGHT))).min(initial=APART))
