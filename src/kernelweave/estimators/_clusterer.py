"""What the clusterers of the SMKL family share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin

from kernelweave.estimators._base import GraphEstimator
from kernelweave.estimators._input import check_n_clusters
from kernelweave.estimators._partition import partition
from kernelweave.estimators._run import threads
from kernelweave.kernels._types import Matrix
from kernelweave.solve import Problem, Solution, State

__all__ = ["GraphClusterer"]


class GraphClusterer(ClusterMixin, GraphEstimator):
    """Clusters the samples by k-means on the embedding that was learned with the graph."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the graph, the consensus kernel, the weights and the clusters.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The samples; or kernel matrices, if kernels are "precomputed": an array of shape (r, n, n), a list or
            dict of (n, n), or one (n, n).
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        random_state = self._begin()
        with threads(self.n_jobs):
            self._learn(self._problem(self._build_kernels(X), y), random_state)
        return self

    def _problem(self, H: Matrix, y: Any) -> Problem:
        check_n_clusters(self.n_clusters, H.shape[1])
        return Problem(H, self.n_clusters)

    def _learn(self, problem: Problem, random_state: np.random.RandomState, start: State | None = None) -> Solution:
        """Solve the problem and cluster the embedding."""
        solution = self._solve(problem, random_state, start)
        self.labels_ = partition(self.embedding_, self.n_clusters, n_init=self.n_init, random_state=random_state)
        return solution
