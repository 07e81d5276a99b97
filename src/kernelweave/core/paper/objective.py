"""The terms of the objective, Eq. 10, with the weights eliminated."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix, Vector

__all__ = ["fit_term", "perturbation_term", "ridge_term", "smoothness"]


def fit_term(K: Matrix, M: Matrix) -> float:
    """Tr(K - 2KS + S'KS) = <K, M>."""
    return float(np.vdot(K, M))


def ridge_term(S: Matrix, *, gamma: float) -> float:
    """γ ||S||²_F."""
    return gamma * float(np.vdot(S, S))


def smoothness(S: Matrix, *labels: Matrix) -> list[float]:
    """Tr(P'LP) = Σ_i d_i ||P_i||² - <P, SP> for every P, d the mean of the degrees by row and by column."""
    ones = np.ones((len(S), 1), dtype=S.dtype)
    *products, by_row = np.split(S @ np.hstack([*labels, ones]), np.cumsum([P.shape[1] for P in labels]), axis=1)
    d = (by_row.ravel() + ones.ravel() @ S) / 2
    return [float(d @ np.einsum("ij,ij->i", P, P) - np.vdot(P, SP)) for P, SP in zip(labels, products, strict=True)]


def perturbation_term(d: Vector, floor: float, *, beta: float) -> float:
    """β Σ_i ||H_i - K||_F, what self-weighting minimises; below the floor δ it is (d²/δ + δ)/2."""
    return beta * float(np.where(d >= floor, d, (d**2 / floor + floor) / 2).sum())
