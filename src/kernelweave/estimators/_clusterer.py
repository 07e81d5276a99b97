"""What the clusterers of the SMKL family share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin

from kernelweave._types import Matrix
from kernelweave.core.graphs.membership import cluster_means, memberships, nearness
from kernelweave.estimators._base import GraphEstimator
from kernelweave.estimators._input import check_n_clusters
from kernelweave.estimators._new_samples import PredictsClusters
from kernelweave.estimators._partition import partition, settled_partition
from kernelweave.estimators._run import threads
from kernelweave.solve import Problem, Solution, State

__all__ = ["GraphClusterer"]

_OF_THE_PAPER = ("released", "printed")


class GraphClusterer(ClusterMixin, PredictsClusters, GraphEstimator):
    """Clusters the samples by k-means on the embedding that was learned with the graph."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the graph, the consensus kernel, the weights and the clusters.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            The samples; a dict or list of tables, or `Views`, which samples may be missing from; or kernel matrices,
            if kernels are "precomputed": an array of shape (r, n, n), a list or dict of (n, n), or one (n, n).
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        random_state = self._begin()
        with threads(self.n_jobs):
            problem = self._problem(self._build_kernels(X), y)
            self._learn(problem, random_state)
        self._remember(X, problem.H)
        return self

    def _problem(self, H: Matrix, y: Any) -> Problem:
        check_n_clusters(self.n_clusters, H.shape[1])
        return Problem(H, self.n_clusters)

    def _learn(self, problem: Problem, random_state: np.random.RandomState, start: State | None = None) -> Solution:
        """Solve the problem and cluster the embedding."""
        solution = self._solve(problem, random_state, start)
        self.labels_ = self._partition(random_state)
        self._keep_membership(memberships(self.graph_, self.embedding_, self.labels_, self.n_clusters))
        return solution

    def _partition(self, random_state: np.random.RandomState) -> NDArray[np.int32]:
        """Return the clusters of the embedding; the paper's schemes keep the plain k-means of the paper."""
        find = partition if self.scheme in _OF_THE_PAPER else settled_partition
        return find(self.embedding_, self.n_clusters, n_init=self.n_init, random_state=random_state)

    def _extend(self, S: Any) -> Matrix:
        """Return the nearness to the clusters' means."""
        # no votes: on a dense graph every sample has one, and large clusters would win
        P, reached = self._place(S)
        F = nearness(P, *cluster_means(self.embedding_, self.labels_, self.n_clusters))
        return np.where(reached[:, None], F, 0).astype(P.dtype)
