"""k-means on the rows of an embedding, started on a part of them where they are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from kernelweave._types import Matrix

__all__ = ["partition_many"]

_STARTS_ON = 20_000  # rows that tell a good start from a bad one


def partition_many(
    P: Matrix, n_clusters: int, *, n_init: int, random_state: np.random.RandomState
) -> NDArray[np.int32]:
    """Return a k-means partition of the rows: the best of `n_init` on 20,000 of them, carried on with all."""
    n = len(P)
    if n <= _STARTS_ON:
        return np.asarray(KMeans(n_clusters, n_init=n_init, random_state=random_state).fit_predict(P))
    part = P[random_state.choice(n, _STARTS_ON, replace=False)]
    start = KMeans(n_clusters, n_init=n_init, random_state=random_state).fit(part).cluster_centers_
    return np.asarray(KMeans(n_clusters, init=start, n_init=1, random_state=random_state).fit_predict(P))
