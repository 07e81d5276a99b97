"""Squared distances of the samples in every view, from Gram matrices or as they are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelweave._types import Mask, Matrix
from kernelweave.errors import InvalidInputError

__all__ = ["checked_distances", "gap_distances", "gram_distances"]


def gram_distances(K: Matrix) -> Matrix:
    """K_ii + K_jj - 2 K_ij; raises where that is negative, as it cannot be for a Gram matrix."""
    D = K.diagonal()[:, None] + K.diagonal() - 2 * K
    if D.min() < -np.sqrt(np.finfo(K.dtype).eps) * np.abs(K).max():
        i, j = np.unravel_index(D.argmin(), D.shape)
        msg = (
            f"This is not a Gram matrix: samples {i} and {j} would be at a squared distance of {D.min():.3g}. For "
            "squared distances use kernel='distances'."
        )
        raise InvalidInputError(msg)
    np.fill_diagonal(D, 0)
    return np.maximum(D, 0)


def gap_distances(parts: Sequence[Matrix], present: Mask) -> Matrix:
    """D_vij of the samples that view v has, times the number of views over that of those with both i and j; else 0.

    Two samples without a common view are as far apart as the farthest pair of every view.
    """
    common = present.T.astype(np.intp) @ present
    D = np.zeros((len(parts), *common.shape), dtype=np.result_type(*parts))
    for Dv, part, known in zip(D, parts, present, strict=True):
        both = np.ix_(known, known)
        Dv[both] = part * (len(parts) / common[both])
        Dv[common == 0] = part.max(initial=0)
    return D


def checked_distances(D: Matrix) -> Matrix:
    """D (v, n, n), if it can hold squared distances."""
    if D.min() < 0 or D.diagonal(axis1=1, axis2=2).any():
        msg = (
            f"Squared distances must be at least 0, and 0 on the diagonal; got a minimum of {D.min():.3g} and up to "
            f"{D.diagonal(axis1=1, axis2=2).max():.3g} on the diagonal. For Gram matrices use kernel='precomputed'."
        )
        raise InvalidInputError(msg)
    return D
