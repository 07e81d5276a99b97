"""What the classifiers of this library share beyond transduction: answers for new samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Mask, Matrix
from kernelweave.core.graphs.new_rows import harmonic_rows
from kernelweave.estimators._new_samples import NewSamples
from kernelweave.estimators._transductive import TransductiveClassifier

__all__ = ["InductiveClassifier"]


class InductiveClassifier(NewSamples, TransductiveClassifier):
    """Classifies the samples that it is fitted on, and new ones by the harmonic extension of their scores."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of every sample: that of `fit` for training samples, the likeliest one for new ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples; or, if kernels are "precomputed", those of `fit`, or the kernels of new samples with the training
            samples: (r, m, n), a list or dict of (m, n), or one (m, n).

        Returns
        -------
        array of shape (n_samples,)
            One of `classes_` for every sample; the first for a new sample that is similar to nothing, with a warning.
        """
        check_is_fitted(self)
        return self.classes_[self._warned_answers(X, self._known(X)).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Matrix:
        """Return the probability of every class: that of `fit` for training samples, that of neighbours for new ones.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Samples, as in `predict`.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one; the columns follow `classes_`. A new sample that is similar to no sample with a class has
            equal entries, with a warning.
        """
        check_is_fitted(self)
        return self._warned_answers(X, self._known(X))

    def _fitted_answers(self) -> tuple[Matrix, Mask]:
        return self.label_distributions_, self.undecided_

    def _extend(self, S: Any) -> Matrix:
        scores = np.where(self.undecided_[:, None], 0, self.embedding_)
        return np.maximum(harmonic_rows(S, scores)[0], 0)
