"""The self-weighted consensus of kernels, from r x r matrices of their products and correlations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelweave._types import Matrix, Vector

__all__ = ["agreement", "fixed_point_weights", "gram_distances", "median_weights", "trust"]

_TOL = 1e-8
_MAX_STEPS = 1000
_LEAST = 1e-150  # of a distance that weights are divided by, where all kernels are 0
_TRUSTED = 0.1  # agreement from which a kernel has full weight; that of permuted kernels is near 0.01
_FLOOR = 0.1  # of the median distance to the mean: smaller distances count as this one


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
