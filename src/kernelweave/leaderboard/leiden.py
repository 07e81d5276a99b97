"""Leiden communities of the graph of nearest neighbours, by the package igraph."""

from __future__ import annotations

import random
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_random_state

from kernelweave._types import Matrix, RandomStateLike

__all__ = ["Leiden"]


class Leiden(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Communities of largest modularity in the graph of nearest neighbours (Traag, Waltman and van Eck, 2019).

    Parameters
    ----------
    n_neighbors : int, default=15
        The number of neighbours of every sample; a pair is joined if either is a neighbour of the other.
    resolution : float, default=1.0
        Larger values give more communities.
    random_state : int, RandomState or None, default=None
        Seed of the search.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The community of every sample.
    """

    def __init__(self, n_neighbors: int = 15, *, resolution: float = 1.0, random_state: RandomStateLike = None) -> None:
        self.n_neighbors = n_neighbors
        self.resolution = resolution
        self.random_state = random_state

    def fit(self, X: Matrix, y: object = None) -> Self:
        """Find the communities."""
        igraph: Any = import_module("igraph")
        k = min(self.n_neighbors, len(X) - 1)
        near = kneighbors_graph(X, k, mode="connectivity")
        rows, columns = near.maximum(near.T).nonzero()
        once = rows < columns
        graph = igraph.Graph(n=len(X), edges=np.column_stack([rows[once], columns[once]]).tolist())
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        igraph.set_random_number_generator(random.Random(seed))
        try:
            found = graph.community_leiden(objective_function="modularity", resolution=self.resolution, n_iterations=-1)
        finally:
            igraph.set_random_number_generator(random)  # its own default
        self.labels_ = np.asarray(found.membership)
        return self
