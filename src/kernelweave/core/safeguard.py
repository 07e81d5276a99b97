"""The safeguarded steps: the consensus optimal in K and w at once, and a graph that never raises the objective."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelweave.core.graph import residual
from kernelweave.core.objective import perturbation_term
from kernelweave.core.weights import self_weights
from kernelweave.kernels._types import Matrix, Vector

__all__ = ["consensus_weights", "no_higher", "rounding_floor"]

_TOL = 1e-10
_MAX_CYCLES = 300
_MAX_STRIDE = 1e3


def rounding_floor(H_norm: float, eps: float) -> float:
    """δ: a distance from products of kernels is known to √eps of their size; 1e-6 of it is near enough to be met."""
    return float(H_norm * max(1e-6, 4 * eps**0.5))


def consensus_weights(G: Matrix, h: Vector, m: float, w: Vector, *, beta: float, floor: float) -> Vector:
    """Fixed point of w_i = 1/(2 max(d_i, δ)), K = Σ w_i H_i/Σw - M/(2βΣw), d_i = ||H_i - K||: Eq. 9 with Eq. 16.

    The minimum of <K, M> + β Σ ||H_i - K|| over K, from scalars alone: G_ij = <H_i, H_j>, h_i = <H_i, M>, m = <M, M>.
    Every step lowers that objective, so stopping early does no harm. Where kernels are few the steps are many and
    alike, so after two of them their trend is followed (SQUAREM, Varadhan and Roland 2008) if that is lower still.
    """

    def distances(w: Vector) -> tuple[Vector, float]:
        total = w.sum()
        p, a = w / total, 0.5 / (beta * total)
        Gp, hp = G @ p, float(p @ h)
        d2 = G.diagonal() - 2 * Gp + p @ Gp + 2 * a * (h - hp) + a * a * m
        d = np.sqrt(np.maximum(d2, 0))
        return d, hp - a * m + perturbation_term(d, floor, beta=beta)

    d, _ = distances(w)
    for _ in range(_MAX_CYCLES):
        w1 = self_weights(d, floor)
        d1, _ = distances(w1)
        w2 = self_weights(d1, floor)
        d2, lowest = distances(w2)
        step, bend = np.log(w1 / w), np.log(w2 / w1) - np.log(w1 / w)
        w, d = w2, d2
        if np.abs(step).max() < _TOL:
            break
        stride = min(float(np.linalg.norm(step)) / max(float(np.linalg.norm(bend)), 1e-300), _MAX_STRIDE)
        if stride > 1:
            far = w1 * np.exp((2 * stride - 1) * step + stride**2 * bend)
            d_far, value = distances(far)
            if value <= lowest:
                w, d = far, d_far
    return np.asarray(self_weights(d, floor))


def no_higher(
    value: Callable[[Matrix, Matrix], float], S: Matrix, M: Matrix, S_new: Matrix, *, slack: float
) -> tuple[Matrix, Matrix]:
    """S_new and its residual if `value` does not rise, else the lowest point between S and S_new.

    `value` is a quadratic function of the graph, so its values at the ends and in the middle tell all between them.
    """
    M_new = residual(S_new)
    f0, f1 = value(S, M), value(S_new, M_new)
    if f1 <= f0 + slack * abs(f0):
        return S_new, M_new
    S_half = (S + S_new) / 2
    f_half = value(S_half, residual(S_half))
    slope, curvature = 4 * f_half - 3 * f0 - f1, 4 * (f0 - 2 * f_half + f1)
    if slope >= -slack * abs(f0) or curvature <= 0:
        return S, M
    t = min(1.0, -slope / curvature)
    S_best = S + S.dtype.type(t) * (S_new - S)
    M_best = residual(S_best)
    return (S_best, M_best) if value(S_best, M_best) <= f0 else (S, M)
