"""The safeguarded consensus: optimal in K and w at once, from products of kernels."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix, Vector
from kernelweave.core.paper.kernel_weights import self_weights
from kernelweave.core.paper.objective import perturbation_term

__all__ = ["consensus_weights", "rounding_floor"]

_TOL = 1e-10
_MAX_CYCLES = 300
_MAX_STRIDE = 1e3


def rounding_floor(H_norm: float) -> float:
    """δ: how near a kernel counts as met, 1e-6 of the largest one's size, whatever the precision of the kernels.

    Distances come from G, which is summed in double precision, and from h, whose error is multiplied by δ: single
    precision needs no larger δ, and would get another graph by it, for a kernel that K meets has the weight 1/(2δ).
    """
    return 1e-6 * H_norm


def consensus_weights(G: Matrix, h: Vector, m: float, w: Vector, *, beta: float, floor: float) -> tuple[Vector, Vector]:
    """w and d at the fixed point of Eq. 9 and 16: w_i = 1/(2 max(d_i, δ)), d_i = ||H_i - K||, K from w and M.

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
    w = self_weights(d, floor)
    return w, distances(w)[0]
