"""Supervised classifiers of scikit-learn on the labelled samples alone, as a reference for methods that use all."""

from __future__ import annotations

from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from kernelweave._types import Array, Matrix

__all__ = ["OnLabelled"]


class OnLabelled(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that is fitted to the labelled samples; -1 marks the others.

    Parameters
    ----------
    method : {"neighbour", "logistic"}, default="neighbour"
        The nearest labelled sample, or logistic regression.

    Attributes
    ----------
    transduction_ : array of shape (n_samples,)
        The class of every sample.
    """

    def __init__(self, method: Literal["neighbour", "logistic"] = "neighbour") -> None:
        self.method = method

    def fit(self, X: Matrix, y: Array) -> Self:
        """Fit the classifier to the labelled samples and predict all."""
        known = np.asarray(y) != -1
        model = KNeighborsClassifier(1) if self.method == "neighbour" else LogisticRegression(max_iter=1000)
        self.transduction_ = model.fit(X[known], np.asarray(y)[known]).predict(X)
        self.classes_ = model.classes_
        return self
