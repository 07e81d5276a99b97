"""Samples that come after `fit`: known ones are answered as in it, new ones through their rows of the graph."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.core.graphs.new_rows import consensus_rows, harmonic_rows, shrinkage
from kernelweave.errors import UndecidedWarning
from kernelweave.estimators._seen import Seen, seen

__all__ = ["NewSamples", "PredictsClusters"]


class NewSamples:
    """A model on a graph that finds the rows of its graph for new samples, and knows its training samples again.

    A model says what is left open here: `_new_rows(X)`, the rows S (m, n) of its graph for new samples, dense or
    sparse; `_fitted_answers()`, the distributions of the training samples and which of them are undecided; and
    `_extend(S)`, the scores that such rows give to new samples, 0 all along where they reach nothing.
    """

    _seen: Seen

    def undecided(self, X: Any) -> Mask:
        """Return which samples have no similarity to any training sample that has an answer.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples, new or not; or kernels with the training samples, as in `predict`.

        Returns
        -------
        array of bool of shape (n_samples,)
            True for the samples that `predict_proba` gives equal probabilities for want of anything to go by.
        """
        check_is_fitted(self)
        return self._answers(X, self._known(X))[1]

    def _answers(self, X: Any, known: NDArray[np.intp]) -> tuple[Matrix, Mask]:
        """Return the distribution of every sample over classes or clusters, and which samples nothing is known of."""
        P, undecided = self._fitted_answers()
        answers, unknown = P[known], undecided[known]
        new = known < 0
        if new.any():
            F = self._extend(self._new_rows(X))
            empty = F.sum(axis=1) <= 0
            F[empty] = 1
            F /= F.sum(axis=1, keepdims=True)
            answers[new], unknown[new] = F[new], empty[new]
        return answers, unknown

    def _warned_answers(self, X: Any, known: NDArray[np.intp]) -> Matrix:
        """Return the distributions, and warn of new samples that have none of their own."""
        answers, unknown = self._answers(X, known)
        empty = np.flatnonzero(unknown & (known < 0))
        if len(empty):
            msg = (
                f"{len(empty)} of {len(unknown)} samples are similar to no training sample with an answer (first: row "
                f"{empty[0]}): they get uniform probabilities. undecided(X) tells which they are."
            )
            warnings.warn(msg, UndecidedWarning, stacklevel=3)
        return answers

    def _known(self, X: Any) -> NDArray[np.intp]:
        """Return the position in the training set of every sample, -1 for new ones."""
        return self._seen.find(self._comparable(X))

    def _remember(self, X: Any, H: Matrix) -> None:
        """Keep what tells a training sample from a new one."""
        content = self._in_precision(H) if self._precomputed else self._samples(X, reset=False)
        self._seen = seen(content, stack=self._precomputed)

    def _comparable(self, X: Any) -> Any:
        """Return samples in the form in which `_remember` saw them."""
        return self._cross_kernels(X) if self._precomputed else self._samples(X, reset=False)

    def _consensus_rows(self, X: Any) -> Matrix:
        """Return the consensus kernel of new samples with the training samples."""
        return consensus_rows(self._cross_kernels(X), self._row_weights())

    def _row_weights(self) -> Vector:
        """Return the weights with which the kernels enter the consensus."""
        return self.kernel_shares_


class PredictsClusters(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NewSamples):
    """A clusterer that says how sure it is, and where new samples belong."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the cluster of every sample: that of `fit` for training samples, the likeliest one for new ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples; or, if kernels are "precomputed", those of `fit`, or the kernels of new samples with the training
            samples: (r, m, n), a list or dict of (m, n), or one (m, n).

        Returns
        -------
        array of shape (n_samples,)
            Clusters, numbered as in `labels_`. A sample that is similar to nothing is in cluster 0, with a warning.
        """
        check_is_fitted(self)
        known = self._known(X)
        answers = self._warned_answers(X, known).argmax(axis=1).astype(self.labels_.dtype)
        return np.where(known >= 0, self.labels_[known], answers)

    def predict_proba(self, X: Any) -> Matrix:
        """Return how far every sample belongs to every cluster: `membership_` of training samples, votes for new ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples, as in `predict`.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            Rows sum to one. A new sample that is similar to nothing has equal entries, with a warning.
        """
        check_is_fitted(self)
        return self._warned_answers(X, self._known(X))

    def transform(self, X: Any) -> Matrix:
        """Return every sample in the embedding: `embedding_` of training samples, the mean of neighbours for new ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples, as in `predict`.

        Returns
        -------
        array of shape (n_samples, n_components)
            Coordinates; 0 for a new sample that is similar to nothing.
        """
        check_is_fitted(self)
        known = self._known(X)
        coordinates = self.embedding_[known]
        new = known < 0
        if new.any():
            coordinates[new] = self._place(self._new_rows(X))[0][new]
        return coordinates

    def _place(self, S: Any) -> tuple[Matrix, Mask]:
        """Return the coordinates that rows of the graph give to new samples, and which reach any sample."""
        P, reached = harmonic_rows(S, self.embedding_)
        return P / shrinkage(self.graph_, self.embedding_), reached

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _keep_membership(self, M: Matrix) -> None:
        """Keep how far every sample belongs to every cluster, and what that says of its own one."""
        everyone = np.arange(len(M))
        others = M.copy()
        others[everyone, self.labels_] = -np.inf
        self.membership_ = M
        self.confidence_ = M[everyone, self.labels_]
        self.margin_ = self.confidence_ - others.max(axis=1) if M.shape[1] > 1 else self.confidence_

    def _fitted_answers(self) -> tuple[Matrix, Mask]:
        return self.membership_, np.zeros(len(self.membership_), dtype=bool)

    def _extend(self, S: Any) -> Matrix:
        votes = np.eye(self.membership_.shape[1], dtype=self.membership_.dtype)[self.labels_]
        return harmonic_rows(S, votes)[0]
