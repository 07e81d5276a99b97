"""What the classifiers of the SMKL family share."""

from __future__ import annotations

from typing import Any, Self

from kernelweave.core.labels import reached
from kernelweave.estimators._base import GraphEstimator
from kernelweave.estimators._run import threads
from kernelweave.estimators._transductive import TransductiveClassifier
from kernelweave.solve import Problem

__all__ = ["GraphClassifier"]


class GraphClassifier(TransductiveClassifier, GraphEstimator):
    """Classifies unlabelled samples from a few labels by harmonic functions on the learned graph."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the graph, the consensus kernel, the weights and the classes of the unlabelled samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Labelled and unlabelled samples in any order; or kernel matrices, if kernels are "precomputed": an
            array of shape (r, n, n), a list or dict of (n, n), or one (n, n).
        y : array of shape (n_samples,)
            The class of every labelled sample, and -1 for the unlabelled ones.

        Returns
        -------
        self
        """
        random_state = self._begin()
        with threads(self.n_jobs):
            H = self._build_kernels(X)
            Y, labelled = self._read_labels(y, H)
            self._solve(Problem(H, len(self.classes_), Y, labelled), random_state)
        self._keep_labels(self.embedding_, ~reached(self.graph_, labelled))
        self._remember(X, H)
        return self
