"""Repeats that differ in k-means alone share one fit: the embedding is learned once and clustered for every seed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelweave.baselines import AASC, SSR, KernelSpectralClustering
from kernelweave.baselines._spectral_step import cluster_rows
from kernelweave.estimators._clusterer import GraphClusterer

__all__ = ["labels_for_seed", "shares_a_fit"]

_SPECTRAL = (AASC, SSR, KernelSpectralClustering)


def shares_a_fit(cls: type, parameters: dict[str, Any]) -> bool:
    """Whether all that a seed changes in this estimator is k-means on an embedding; "printed" starts at random."""
    return issubclass(cls, (*_SPECTRAL, GraphClusterer)) and parameters.get("scheme") != "printed"


def labels_for_seed(model: Any, seed: int) -> NDArray[np.int32]:
    """Return the labels that the fitted model would have found with another random_state."""
    random_state = np.random.RandomState(seed)
    if isinstance(model, _SPECTRAL):
        return cluster_rows(
            model.embedding_, model.n_clusters, init=model.init, n_init=model.n_init, random_state=random_state
        )
    random_state.randint(np.iinfo(np.int32).max)  # the solver takes one number before k-means does
    return np.asarray(model._partition(random_state))
