"""The array types that kernels, core and solver share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.floating[Any]]
Vector: TypeAlias = NDArray[np.floating[Any]]
Mask: TypeAlias = NDArray[np.bool_]
Samples: TypeAlias = Any  # (n, d): a numpy array, or a scipy sparse matrix or array
