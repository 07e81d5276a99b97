"""The weights of AASC: the root of one equation, on its positive branch and as the released program takes it."""

from __future__ import annotations

import numpy as np
from scipy import optimize
from scipy.special import expit

from kernelweave._types import Vector

__all__ = ["positive_weights", "released_weights"]


def positive_weights(alpha: Vector, gamma: Vector) -> Vector:
    """Minimise Σ v² αγ over v >= 0, Σv = 1, Σ v²α = 1: v_k ∝ u_k/α_k, u_k = 1/(γ_k - x), (Σ u/α)² = Σ u²/α, x < min γ.

    The equation is solved in t = log(min γ - x): there the terms γ - x = (γ - min γ) + e^t lose no digits. Where it
    has no root below min γ, which is so if Σ 1/α >= 1 over the smallest γ alone, these share the weight.
    """
    delta = gamma - gamma.min()
    smallest = delta == 0
    logs = np.log(delta, out=np.full(len(delta), -np.inf), where=~smallest)

    def terms(t: float) -> Vector:
        # e^t / (δ + e^t) / α: the first factor is 1 for the smallest γ, and for all as t grows
        return np.asarray(expit(t - logs) / alpha)

    def excess(t: float) -> float:
        u = terms(t)
        return float(u.sum() ** 2 - (u**2 * alpha).sum())

    if smallest.all() or (1 / alpha[smallest]).sum() >= 1:
        v = np.where(smallest, 1 / alpha, 0)
        return np.asarray(v / v.sum())
    low, high = logs[~smallest].min() - 40, logs.max() + 40
    if excess(high) <= 0:  # Σ 1/α = 1 up to rounding: the root is at infinity, where all γ count as equal
        v = 1 / alpha
    else:
        v = terms(optimize.brentq(excess, low, high, xtol=1e-13)) if excess(low) < 0 else terms(low)
    return np.asarray(v / v.sum())


def released_weights(alpha: Vector, gamma: Vector) -> Vector:
    """v_k ∝ 1/(α_k(γ_k - x)) at the root x that Levenberg and Marquardt's method finds from -1; v may be negative."""

    def excess(x: Vector) -> Vector:
        u = 1 / (gamma - x)
        return np.array([abs((u / alpha).sum() ** 2 / (u**2 / alpha).sum()) - 1])

    with np.errstate(all="ignore"):  # the solver may evaluate a pole, and continues from there
        x = optimize.root(excess, np.array([-1.0]), method="lm").x
    v = float(np.abs(alpha).max()) / alpha / (gamma - x)  # up to a factor
    return np.asarray(v / v.sum())
