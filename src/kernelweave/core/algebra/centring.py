"""Kernel matrices with the mean of their samples at the origin."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix

__all__ = ["centre"]


def centre(K: Matrix) -> Matrix:
    """(I - 11'/n) K (I - 11'/n) for a symmetric K, written into K: distances do not change, but their digits count.

    A flat kernel is 1 - d with d small: single precision keeps four digits of d in K, and as many as it has here.
    """
    means = K.mean(axis=1, dtype=np.float64)
    K -= means[:, None].astype(K.dtype)
    K -= (means - means.mean()).astype(K.dtype)
    return K
