"""Kernel values of samples that lack the kernel's view.

Letters: t (n,) is the weight of what a view says about each sample: 0 where it lacks the sample, 1 if no view lacks it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Mask, Matrix, Vector

__all__ = ["knowledge", "spread"]


def knowledge(present: Mask) -> Matrix:
    """t_vi = 1/sqrt(share of the views that sample i has) where view v has it, else 0: Σ_v t_vi² = v for all i."""
    return np.asarray(present / np.sqrt(present.mean(axis=0)))


def spread(
    H: Matrix, t: Vector, u: Vector, means: tuple[Matrix, Matrix, Vector], dtype: DTypeLike | None = None
) -> Matrix:
    """(1-t_i)(1-u_j) ā + (1-t_i) u_j b_j + t_i (1-u_j) a_i + t_i u_j H_ij for r kernels: H (r, ., .) of known samples.

    The features φ of a sample become μ + t (φ - μ), where μ is their mean: a sample that the view lacks lies at the
    mean. a_i, b_j are the mean kernel values of a sample, <φ_i, μ>, and ā = <μ, μ>. The result is a Gram matrix if H
    is one; t = u = 1 returns H.
    """
    a, b, mean = means
    x, y = np.flatnonzero(t), np.flatnonzero(u)
    rows, cols = np.zeros((len(H), len(t))), np.zeros((len(H), len(u)))
    rows[:, x], cols[:, y] = a * t[x], b * u[y]
    E = (1 - t)[:, None] * ((1 - u) * mean[:, None] + cols)[:, None, :]
    E += rows[:, :, None] * (1 - u)
    E[np.ix_(np.arange(len(H)), x, y)] += H * np.outer(t[x], u[y])
    return np.asarray(E, dtype=H.dtype if dtype is None else dtype)
