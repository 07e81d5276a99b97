"""How well the nearest samples predict labels: with labels, the parts of a consensus are weighted by it."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Labels, Matrix

__all__ = ["nearest_agreement"]


def nearest_agreement(D: Matrix, codes: Labels) -> float:
    """(a + 1) / (m + 2), a the number of the m samples whose nearest other one, by distances D, has the same code.

    Samples that are the only one with their code are left out. Of several that are equally near, the share that has the
    code counts. One right and one wrong sample are added, since the share is uncertain if there are few labels.
    """
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    least = D.min(axis=1, initial=np.inf)
    near = np.isfinite(least)[:, None] & (least[:, None] >= D)
    same = codes[:, None] == codes
    right = np.count_nonzero(near & same, axis=1) / np.maximum(np.count_nonzero(near, axis=1), 1)
    return float((right.sum() + 1) / (np.count_nonzero(same.sum(axis=1) > 1) + 2))
