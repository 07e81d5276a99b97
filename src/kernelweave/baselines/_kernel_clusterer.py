"""What the clusterers among the baselines share."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from kernelweave._types import Matrix, Vector
from kernelweave.estimators._copies import warn_of_split_copies
from kernelweave.estimators._estimator import KernelModel
from kernelweave.runtime import threads
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.reader import SamplesLike
from kernelweave.weave.plan import KernelShares

__all__ = ["KernelClusterer", "generator", "objective_attributes", "warn_cut_short", "weight_attributes"]


def generator(random_state: np.random.RandomState) -> np.random.Generator:
    """Return a generator for the pure functions, seeded by the estimator's source of randomness."""
    return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))


class KernelClusterer(ClusterMixin, KernelModel):  # type: ignore[misc]
    """Clusters samples that are compared by one kernel or several."""

    _fitted_always = (*KernelModel._fitted_always, "labels_")

    labels_: NDArray[np.int32]

    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Find the clusters of the samples, and what the model learns with them.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            The samples; for a model of several kernels also a dict or list of tables, or `Views`, which samples may be
            missing from; or kernel matrices, if kernels are "precomputed": one of shape (n, n), or, for a model of
            several, an array of shape (r, n, n) or a list or dict of (n, n).
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        self._validate_params()
        rng = check_random_state(self.random_state)
        samples = self._read(X)
        if isinstance(samples, Chunks):
            raise self._no_chunks()
        with threads(self.n_jobs, samples.n_samples):
            bank, H = self._build_kernels(samples)
            found = self._cluster(H, bank.names, rng)
        found["labels_"] = found["labels_"].astype(np.int32, copy=False)
        self._keep(found, samples, KernelShares.equal(bank))
        name = type(self).__name__
        warn_of_split_copies(self.labels_, samples.digests(), self.n_clusters, name, stacklevel=2)
        self._warn_of_graph()
        return self

    @abstractmethod
    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        """Return the fitted attributes, `labels_` among them, from kernel matrices H (r, n, n) and their names.

        H may be overwritten.
        """

    def _warn_of_graph(self) -> None:
        """Warn of a graph that does not determine the clusters. Called by `fit`, at whose caller the warning points."""

    def _warn_cut_short(self, what: str) -> None:
        """Warn that the iterations were too few. Called by `_cluster`: the warning points at the caller of `fit`."""
        warn_cut_short(self, what, stacklevel=5)


def warn_cut_short(model: KernelModel, what: str, *, stacklevel: int = 4) -> None:
    """Warn that the iterations were too few. Called by `_cluster`: the warning points at the caller of `fit`."""
    plural = "s" if model.max_iter != 1 else ""
    msg = f"{type(model).__name__} stopped after {model.max_iter} iteration{plural}, {what}: raise max_iter."
    warnings.warn(msg, ConvergenceWarning, stacklevel=stacklevel)


def weight_attributes(weights: Vector, coefficients: Vector) -> dict[str, Any]:
    """Return the weights as their problem defines them, and every kernel's share in the combination."""
    return {"kernel_weights_": weights, "kernel_shares_": coefficients / coefficients.sum()}


def objective_attributes(history: Vector) -> dict[str, Any]:
    """Return the objective of every iteration, and of the last."""
    return {"objective_history_": history, "objective_": float(history[-1]), "n_iter_": len(history)}
