"""Samples that a kernel does not tell apart although they differ, as in tables of all combinations of some values."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Labels, Matrix
from kernelweave.core.graphs.affinity import row_blocks

__all__ = ["has_alike_rows"]

# by the bytes of a number: the relative difference of sums that counts as rounding, which is about 1e-12 in double and
# 1e-7 in single precision; between two samples of ordinary tables of a thousand rows it is 1e-5 or more
_ALIKE = {8: 1e-9, 4: 1e-6}


def has_alike_rows(K: Matrix, rows: Labels) -> bool:
    """Whether two of these rows of K have the same Σ_j (K_ij - mean) and the same Σ_j (K_ij - mean)².

    If some permutation of the samples does not change K, rows that it exchanges have; others very rarely do.
    """
    mean, sums, squares = K.mean(dtype=np.float64), np.empty(len(K)), np.empty(len(K))
    for block in row_blocks(len(K)):
        centred = K[block] - mean
        sums[block] = centred.sum(axis=1)
        squares[block] = np.einsum("ij,ij->i", centred, centred)
    most = float(squares[rows].max(initial=0)) or 1.0
    found = np.column_stack([squares[rows] / most, sums[rows] / np.sqrt(len(K) * most)])
    ascending = found[np.argsort(found[:, 0], kind="stable")]
    return bool((np.abs(np.diff(ascending, axis=0)) <= _ALIKE[K.itemsize]).all(axis=1).any())
