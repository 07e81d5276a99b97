"""Kernels that do not know every sample: what they say about the others.

Letters: t (n,) is how far a kernel knows a sample: 0 where it is missing; 1 where nothing is missing anywhere.
"""

from __future__ import annotations

import numpy as np

from kernelweave._types import Mask, Matrix, Vector

__all__ = ["knowledge", "spread"]


def knowledge(present: Mask) -> Matrix:
    """t_vi = 1/sqrt(share of the views that sample i has) where view v has it, else 0: Σ_v t_vi² = v for all i."""
    return np.asarray(present / np.sqrt(present.mean(axis=0)))


def spread(
    H: Matrix, t: Vector, u: Vector, means: tuple[Matrix, Matrix, Vector], dtype: np.dtype[np.floating] | None = None
) -> Matrix:
    """(1-t_i)(1-u_j) ā + (1-t_i) u_j b_j + t_i (1-u_j) a_i + t_i u_j H_ij for r kernels: H (r, ., .) of known samples.

    The features of a sample become μ + t (φ - μ), μ their mean: a kernel that knows nothing of a sample tells it from
    no other, and what is known of it counts in full. a_i, b_j are the mean kernel values of a sample, <φ_i, μ>, and
    ā = <μ, μ>: a Gram matrix stays one. t = u = 1 gives H back.
    """
    a, b, mean = means
    x, y = np.flatnonzero(t), np.flatnonzero(u)
    rows, cols = np.zeros((len(H), len(t))), np.zeros((len(H), len(u)))
    rows[:, x], cols[:, y] = a * t[x], b * u[y]
    E = (1 - t)[:, None] * ((1 - u) * mean[:, None] + cols)[:, None, :]
    E += rows[:, :, None] * (1 - u)
    E[np.ix_(np.arange(len(H)), x, y)] += H * np.outer(t[x], u[y])
    return np.asarray(E, dtype=H.dtype if dtype is None else dtype)
