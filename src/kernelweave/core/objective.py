"""The terms of the objective, Eq. 10, with the weights eliminated."""

from __future__ import annotations

import numpy as np

from kernelweave.kernels._types import Matrix, Vector

__all__ = ["fit_term", "perturbation_term", "ridge_term", "smoothness", "smoothness_term"]


def fit_term(K: Matrix, M: Matrix) -> float:
    """Tr(K - 2KS + S'KS) = <K, M>."""
    return float(np.vdot(K, M))


def ridge_term(S: Matrix, *, gamma: float) -> float:
    """γ ||S||²_F."""
    return gamma * float(np.vdot(S, S))


def smoothness_term(S: Matrix, P: Matrix, *, alpha: float) -> float:
    """α Tr(P'LP)."""
    return alpha * smoothness(S, P)[0]


def smoothness(S: Matrix, *labels: Matrix) -> list[float]:
    """Tr(P'LP) = Σ_i d_i ||P_i||² - <P, SP> for every P, d the mean of the degrees by row and by column."""
    degrees = (S.sum(axis=0) + S.sum(axis=1)) / 2
    return [float(degrees @ np.einsum("ij,ij->i", P, P) - np.vdot(P, S @ P)) for P in labels]


def perturbation_term(d: Vector, floor: float, *, beta: float) -> float:
    """β Σ_i ||H_i - K||_F, what self-weighting minimises; below the floor δ it is (d²/δ + δ)/2."""
    return beta * float(np.where(d >= floor, d, (d**2 / floor + floor) / 2).sum())
