"""Numbers that are equal but for rounding: what is chosen among them must not depend on the machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from kernelweave._types import Matrix

__all__ = ["level_ties", "tie_of"]

# of numbers of 8 and 4 bytes. Scores of SMKL on BA that are equal differ by up to 4e-12 in double precision (with
# gamma=0.01), and by up to 2e-5 in single precision (with gamma=1; a smaller gamma needs double precision)
_TIE = {8: 1e-9, 4: 1e-4}


def tie_of(dtype: DTypeLike) -> float:
    """Return the relative difference below which two computed numbers of this type count as equal."""
    return _TIE[np.dtype(dtype).itemsize]


def level_ties(F: Matrix) -> Matrix:
    """Raise the entries of every row that equal its maximum but for rounding to the maximum, in place; F >= 0.

    The first of them is then the one that argmax finds. Rounding would choose another one on every machine, for every
    order of the samples.
    """
    largest = F.max(axis=1, keepdims=True)
    least = (1 - tie_of(F.dtype)) * largest
    np.copyto(F, largest, where=least <= F)
    return F
