"""What every semi-supervised classifier shares: labels in and out, and samples that no label reaches."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Mask, Matrix
from kernelweave.errors import UndecidedWarning
from kernelweave.estimators._base import KernelEstimator
from kernelweave.estimators._input import kernel_stack
from kernelweave.estimators._seen import seen
from kernelweave.estimators._views import labels_in_order
from kernelweave.samples.partial_labels import encode_partial_labels

__all__ = ["TransductiveClassifier"]


class TransductiveClassifier(ClassifierMixin, KernelEstimator):
    """Classifies the unlabelled samples among those it is fitted on, and answers for these."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of samples that were part of `fit`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Training samples, in any order and number; the same kernel matrices as in `fit` if they were precomputed.

        Returns
        -------
        array of shape (n_samples,)
            One of `classes_` for every sample.
        """
        probabilities = self.predict_proba(X)  # first: it says so if the model is not fitted
        return self.classes_[probabilities.argmax(axis=1)]

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of every class for samples that were part of `fit`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Training samples, in any order and number; the same kernel matrices as in `fit` if they were precomputed.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one; the columns follow `classes_`.
        """
        check_is_fitted(self)
        samples = kernel_stack(X)[0] if self._precomputed else self._read_samples(X, reset=False)
        return self.label_distributions_[self._seen.rows(samples)]

    def _read_labels(self, y: Any, H: Matrix) -> tuple[Matrix, Mask]:
        """Return one-hot labels Y (n, c), rows of unlabelled samples 0, and the mask of labelled samples."""
        n = H.shape[1]
        self.classes_, codes = encode_partial_labels(labels_in_order(self, y), n_samples=n)
        labelled = codes >= 0
        Y = np.zeros((n, len(self.classes_)), dtype=H.dtype)
        Y[labelled, codes[labelled]] = 1
        return Y, labelled

    def _keep_labels(
        self, F: Matrix, undecided: Mask, *, advice: str = "choose parameters that cut fewer edges"
    ) -> None:
        """Turn scores into distributions; samples out of every label's reach get the uniform one and are marked."""
        F = np.maximum(F, 0)
        undecided = undecided | (F.sum(axis=1) == 0)  # scores may underflow at the end of a chain of weak edges
        F[undecided] = 1
        self.undecided_ = undecided
        self.label_distributions_ = F / F.sum(axis=1, keepdims=True)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        if (count := np.count_nonzero(undecided)) > 0:
            msg = (
                f"{count} of {len(undecided)} samples lie in parts of the learned graph that hold no label (first such "
                f"sample: {np.flatnonzero(undecided)[0]}), so their class is undefined: they get uniform "
                "probabilities and are marked in undecided_. Label at least one sample in each part, or "
                f"{advice}."
            )
            warnings.warn(msg, UndecidedWarning, stacklevel=3)

    def _remember(self, X: Any, H: Matrix) -> None:
        """Keep what tells a training sample from a new one."""
        self._seen = seen(H if self._precomputed else self._read_samples(X, reset=False), stack=self._precomputed)

    def _read_samples(self, X: Any, *, reset: bool) -> Any:
        """Return the samples as one checked table."""
        return self._samples(X, reset=reset)
