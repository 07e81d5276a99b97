"""The over-relaxed updates that the ADMM iterations of sparse and low-rank codes share."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix

__all__ = ["over_relaxed", "soft_threshold"]

_RELAXATION = 1.7


def over_relaxed(a: Matrix, c: Matrix, u: Matrix) -> Matrix:
    """1.7 a - 0.7 c + u: the argument of the proximal step, from the codes a, their copy c and its multiplier u."""
    return np.asarray(_RELAXATION * a + (1 - _RELAXATION) * c + u)


def soft_threshold(z: Matrix, t: Matrix) -> tuple[Matrix, Matrix]:
    """soft(z, t) = sign(z) max(|z| - t, 0), and what it removes, clip(z, -t, t), which is the new multiplier."""
    removed = np.clip(z, -t, t)
    return np.asarray(z - removed), removed
