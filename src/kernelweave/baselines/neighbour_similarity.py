"""Similarities scaled by the neighbourhoods of both samples, as SNF and NEMO compute them from distances."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from kernelweave._types import Matrix

__all__ = ["SimilarityScheme", "normal_density", "pair_scales", "strongest_shares"]

SimilarityScheme: TypeAlias = Literal["released", "printed"]


def pair_scales(R: Matrix, k: int) -> Matrix:
    """ε_ij = (m_i + m_j + R_ij)/3 with m_i the mean of the k smallest R_ij, j ≠ i; positive."""
    n = len(R)
    k = min(k, n - 1)
    nearest = np.partition(R, k, axis=1)[:, : k + 1]  # among them the sample itself, at 0
    m = nearest.sum(axis=1) / max(k, 1)
    E = (m[:, None] + m + R) / 3
    # samples that coincide with all their neighbours would be divided by 0
    return np.asarray(np.maximum(E, np.finfo(R.dtype).eps * E.max() or 1))


def normal_density(R: Matrix, sigma: Matrix) -> Matrix:
    """exp(-R² / (2σ²)) / (sqrt(2π) σ)."""
    with np.errstate(over="ignore"):  # exp(-inf) is 0
        exponent = -((R / sigma) ** 2) / 2
    return np.asarray(np.exp(exponent) / (np.sqrt(2 * np.pi).astype(R.dtype) * sigma))


def strongest_shares(W: Matrix, k: int) -> Matrix:
    """W_ij / Σ_{l in N_i} W_il for j in N_i, else 0: the k largest entries of row i, and those equal to the least."""
    k = min(k, len(W))
    least = np.partition(W, len(W) - k, axis=1)[:, len(W) - k, None]
    kept = np.where(least <= W, W, 0)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
