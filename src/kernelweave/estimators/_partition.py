"""From an embedding to clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from kernelweave._types import Matrix
from kernelweave.core.partitions.hartigan import best_partition

__all__ = ["partition", "settled_partition"]


def partition(P: Matrix, n_clusters: int, *, n_init: int, random_state: np.random.RandomState) -> NDArray[np.int32]:
    """Return the best of `n_init` k-means partitions of the rows of P, compared in double precision.

    Partitions are often nearly as good as one another: the sums of single precision would choose another.
    """
    model = KMeans(n_clusters, n_init=n_init, random_state=random_state)
    return np.asarray(model.fit_predict(P.astype(np.float64, copy=False)))


def settled_partition(
    P: Matrix, n_clusters: int, *, n_init: int, random_state: np.random.RandomState
) -> NDArray[np.int32]:
    """Return the best of `n_init` partitions of the rows of P which no single sample can better by moving.

    Plain k-means rests in so many partitions that embeddings with equal digits get different ones; these are fewer.
    """
    rng = np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
    X = P.astype(np.float64, copy=False)
    return best_partition(X, n_clusters, runs=n_init, rng=rng).astype(np.int32)
