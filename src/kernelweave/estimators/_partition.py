"""From an embedding to clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from kernelweave.kernels._types import Matrix

__all__ = ["partition"]


def partition(P: Matrix, n_clusters: int, *, n_init: int, random_state: np.random.RandomState) -> NDArray[np.int32]:
    """Return the best of `n_init` k-means partitions of the rows of P, compared in double precision.

    Partitions are often nearly as good as one another: the sums of single precision would choose another.
    """
    model = KMeans(n_clusters, n_init=n_init, random_state=random_state)
    return np.asarray(model.fit_predict(P.astype(np.float64, copy=False)))
