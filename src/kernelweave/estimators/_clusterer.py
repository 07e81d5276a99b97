"""What clusterers on a graph share: answers for new samples, with their confidence."""

from __future__ import annotations

from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Graph, Mask, Matrix, Vector
from kernelweave.core.graphs.coordinates import margins
from kernelweave.estimators._estimator import KernelModel
from kernelweave.runtime import threads
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.reader import SamplesLike
from kernelweave.samples.views import Views
from kernelweave.weave.graph_model import Answers, chunked_coordinates

__all__ = ["GraphClusterer"]


class GraphClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelModel):  # type: ignore[misc]
    """Clusters samples by a graph, says how sure it is, and where new samples belong."""

    _only_kernels = True
    _fitted_always = (*KernelModel._fitted_always, "labels_", "kernel_names_", "_membership", "_graph_model")

    labels_: NDArray[np.int32]
    _membership: Matrix  # if the clusters stand out
    embedding_: Matrix
    graph_: Graph
    consensus_kernel_: Matrix
    kernel_weights_: Vector

    def predict(self, X: SamplesLike) -> NDArray[np.int32]:
        """Return the cluster of every sample: that of `fit` for training samples, the likeliest one for new ones.

        Parameters
        ----------
        X : samples, as in `fit`
            New ones or not; if kernels are "precomputed", the kernels of the samples with the training samples:
            (r, m, n), a list or dict of (m, n), or one (m, n).

        Returns
        -------
        array of shape (n_samples,)
            Clusters, numbered as in `labels_`. A sample that is similar to nothing is in cluster 0, with a warning.
        """
        check_is_fitted(self)
        return self._labels_of(self._answers(X))

    def predict_proba(self, X: SamplesLike) -> Matrix:
        """Return how far every sample belongs to every cluster: `membership_` of training samples, else by neighbours.

        Parameters
        ----------
        X : samples, as in `fit`
            As in `predict`.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            Rows sum to one. A new sample that is similar to nothing has equal entries, with a warning.
        """
        check_is_fitted(self)
        return self._shares_of(self._answers(X))

    def transform(self, X: SamplesLike) -> Matrix:
        """Return every sample in the embedding: `embedding_` of training samples, the mean of neighbours for new ones.

        Parameters
        ----------
        X : samples, as in `fit`
            As in `predict`.

        Returns
        -------
        array of shape (n_samples, n_components)
            Coordinates; 0 for a new sample that is similar to nothing.
        """
        check_is_fitted(self)
        samples, model = self._read_again(X), self._graph_model
        if model.joiner.chunked or isinstance(samples, Chunks):  # which kernel matrices never are
            given = cast(Views | Chunks, samples)
            return chunked_coordinates(model, given, self.n_features_in_, self.n_jobs, self._progress())
        with threads(1 if self.n_jobs is None else self.n_jobs):
            return model.transform(samples)

    def undecided(self, X: SamplesLike) -> Mask:
        """Return which samples are similar to no training sample.

        Parameters
        ----------
        X : samples, as in `fit`
            As in `predict`.

        Returns
        -------
        array of bool of shape (n_samples,)
            True for the samples that `predict_proba` gives equal probabilities.
        """
        check_is_fitted(self)
        return self._answers(X, warn=False).undecided

    @cached_property
    def membership_(self) -> Matrix:
        """How far every sample belongs to every cluster, of shape (n_samples, n_clusters)."""
        check_is_fitted(self)
        return self._doubted(self._membership)

    @cached_property
    def confidence_(self) -> Vector:
        """The membership of every sample in its own cluster."""
        return margins(self.membership_, self.labels_)[0]

    @cached_property
    def margin_(self) -> Vector:
        """The membership of every sample in its own cluster minus that in the next likely one."""
        return margins(self.membership_, self.labels_)[1]

    def _clear(self) -> float:
        """Return how far the clusters stand out, from 0 to 1."""
        return 1.0

    def _doubted(self, M: Matrix) -> Matrix:
        """Return memberships drawn towards equal shares, the more the less the clusters stand out."""
        clear = self._clear()
        return M if clear == 1 else clear * M + (1 - clear) / M.shape[1]

    def _labels_of(self, found: Answers) -> NDArray[np.int32]:
        """Return the clusters of samples whose distributions are known."""
        likeliest = found.distributions.argmax(axis=1).astype(np.int32)
        return np.where(found.known >= 0, self.labels_[found.known], likeliest)

    def _shares_of(self, found: Answers) -> Matrix:
        """Return how far samples whose distributions are known belong to every cluster."""
        return self._doubted(found.distributions)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])
