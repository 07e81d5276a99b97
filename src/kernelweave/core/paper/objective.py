"""The terms of the objective, Eq. 10, with the weights eliminated."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix, Vector

__all__ = ["graph_terms", "perturbation_term", "smoothness"]


def graph_terms(K: Matrix, S: Matrix, M: Matrix, q: float, *, alpha: float, gamma: float) -> dict[str, float]:
    """The fit Tr(K - 2KS + S'KS) = <K, M>, the ridge γ ||S||²_F and the smoothness αq, q = Tr(P'LP)."""
    return {"fit": float(np.vdot(K, M)), "ridge": gamma * float(np.vdot(S, S)), "smoothness": alpha * q}


def smoothness(S: Matrix, *labels: Matrix) -> list[float]:
    """q = Tr(P'LP) = Σ_i D_ii ||P_i||² - <P, SP> for every P, D_ii the mean of the degrees by row and by column."""
    ones = np.ones((len(S), 1), dtype=S.dtype)
    *products, by_row = np.split(S @ np.hstack([*labels, ones]), np.cumsum([P.shape[1] for P in labels]), axis=1)
    degrees = (by_row.ravel() + ones.ravel() @ S) / 2
    pairs = zip(labels, products, strict=True)
    return [float(degrees @ np.einsum("ij,ij->i", P, P) - np.vdot(P, SP)) for P, SP in pairs]


def perturbation_term(d: Vector, floor: float, *, beta: float) -> float:
    """β Σ_i ||H_i - K||_F, which self-weighting minimises; (d²/δ + δ)/2 for distances below δ."""
    return beta * float(np.where(d >= floor, d, (d**2 / floor + floor) / 2).sum())
