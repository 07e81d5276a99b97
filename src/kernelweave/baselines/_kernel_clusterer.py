"""What the clusterers among the baselines share."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning

from kernelweave._types import Matrix, Vector
from kernelweave.estimators._base import KernelEstimator
from kernelweave.estimators._input import check_n_clusters
from kernelweave.estimators._run import threads

__all__ = ["KernelClusterer", "generator"]


def generator(random_state: np.random.RandomState) -> np.random.Generator:
    """Return a generator for the pure functions, seeded by the estimator's source of randomness."""
    return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))


class KernelClusterer(ClusterMixin, KernelEstimator):
    """Clusters the samples that it sees through one kernel or several."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters of the samples, and what the model learns with them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The samples; or kernel matrices, if kernels are "precomputed": one of shape (n, n), or, for a model of
            several, an array of shape (r, n, n) or a list or dict of (n, n).
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        random_state = self._begin()
        with threads(self.n_jobs):
            H = self._build_kernels(X)
            check_n_clusters(self.n_clusters, H.shape[1])
            self._cluster(H, random_state)
        return self

    @abstractmethod
    def _cluster(self, H: Matrix, random_state: np.random.RandomState) -> None:
        """Set `labels_` and the other attributes from the kernel matrices H (r, n, n), which may be overwritten."""

    def _keep_weights(self, weights: Vector, coefficients: Vector) -> None:
        """Keep the weights as their problem defines them, and every kernel's share in the combination."""
        self.kernel_weights_ = weights
        self.kernel_shares_ = coefficients / coefficients.sum()

    def _keep_history(self, history: Vector) -> None:
        """Keep the objective of every iteration."""
        self.objective_history_ = history
        self.objective_ = float(history[-1])
        self.n_iter_ = len(history)

    def _warn_cut_short(self, what: str) -> None:
        """Say that the iterations were too few. Called by `_cluster`: the warning points at the caller of `fit`."""
        msg = f"{type(self).__name__} stopped after {self.max_iter} iterations, {what}: raise max_iter."
        warnings.warn(msg, ConvergenceWarning, stacklevel=4)
