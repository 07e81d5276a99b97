"""Adaptive neighbours: a row-stochastic graph S from squared distances D, its steps and its objective."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.algebra.matrices import largest_columns
from kernelweave.core.algebra.simplex import project_simplex
from kernelweave.core.paper.closed_forms import label_distances

__all__ = [
    "neighbour_gaps",
    "neighbour_objective",
    "neighbour_ridge",
    "neighbour_start",
    "neighbour_step",
    "shares_of",
    "view_weights",
]


def neighbour_ridge(D: Matrix, k: int) -> float:
    """γ = mean_i (k d_{i,k+1} - Σ_{h<=k} d_ih)/2, with which a sample has about k neighbours; positive."""
    gaps, _, _ = neighbour_gaps(D, k)
    gamma = float(gaps.mean()) / 2
    # if all distances are equal, there is no gap, and any ridge that is small compared with them can be used
    return gamma if gamma > 0 else float(D.mean() * np.finfo(D.dtype).eps) or 1.0


def neighbour_start(D: Matrix, k: int) -> Matrix:
    """s_ij = (d_{i,k+1} - d_ij)_+ / (k d_{i,k+1} - Σ_{h<=k} d_ih) over the k nearest; equal shares where all tie."""
    return shares_of(D, *neighbour_gaps(D, k))


def shares_of(D: Matrix, gaps: Vector, nearest: Labels, reach: Matrix) -> Matrix:
    """Return the rows s_i of the start, from the gaps of D, the samples that are nearest, and how far these reach."""
    k = nearest.shape[1]
    values = np.take_along_axis(D, nearest, axis=1)
    shares = np.divide(reach - values, gaps[:, None], out=np.full_like(values, 1 / k), where=gaps[:, None] > 0)
    S = np.zeros_like(D)
    np.put_along_axis(S, nearest, shares, axis=1)
    return S


def neighbour_step(D: Matrix, gamma: float) -> Matrix:
    """Return argmin <D, S> + γ||S||², S >= 0, S1 = 1, diag S = 0, for a symmetric D: s_i = Π(-d_i / 2γ)."""
    others = ~np.eye(len(D), dtype=bool)
    return np.ascontiguousarray(project_simplex(D / (-2 * gamma), free=others).T)


def view_weights(D: Matrix, S: Matrix) -> Vector:
    """w_v = 1/(2 sqrt(<D_v, S>)) for D (v, n, n); one view weighs 1, as its problem is <D, S> itself."""
    if len(D) == 1:
        return np.ones(1, dtype=D.dtype)
    costs = np.einsum("vij,ij->v", D, S)
    # a view in which neighbours coincide has cost 0, and without a lower bound an infinite weight
    floor = np.finfo(D.dtype).eps * D.sum(axis=(1, 2)).max() or np.finfo(D.dtype).tiny  # all samples may coincide
    return np.asarray(1 / (2 * np.sqrt(np.maximum(costs, floor))))


def neighbour_objective(D: Matrix, S: Matrix, F: Matrix, *, gamma: float, lam: float) -> float:
    """<D, S> (of several views: Σ_v sqrt(<D_v, S>)) + γ||S||² + λ Σ s_ij ||f_i - f_j||²."""
    costs = np.einsum("vij,ij->v", D, S)
    fit = costs[0] if len(D) == 1 else np.sqrt(costs).sum()
    return float(fit + gamma * np.vdot(S, S) + lam * np.vdot(S, label_distances(F, squared=True)))


def neighbour_gaps(D: Matrix, k: int) -> tuple[Vector, Labels, Matrix]:
    """Return k d_{i,k+1} - Σ_{h<=k} d_ih; which are the k nearest; d_{i,k+1} as a column."""
    far = D.copy()
    np.fill_diagonal(far, np.inf)
    order = largest_columns(-far, k + 1)
    nearest, reach = order[:, :k], np.take_along_axis(far, order[:, k:], axis=1)
    gaps = k * reach[:, 0] - np.take_along_axis(far, nearest, axis=1).sum(axis=1)
    return np.asarray(gaps), nearest, reach
