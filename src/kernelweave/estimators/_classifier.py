"""What the classifiers of the SMKL family share."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.graphs.propagation import reached
from kernelweave.estimators._base import GraphEstimator
from kernelweave.estimators._inductive import InductiveClassifier
from kernelweave.estimators._run import threads
from kernelweave.solve import Problem, Solution, State

__all__ = ["GraphClassifier"]


class GraphClassifier(InductiveClassifier, GraphEstimator):
    """Classifies unlabelled samples from a few labels by harmonic functions on the learned graph."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the graph, the consensus kernel, the weights and the classes of the unlabelled samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            Labelled and unlabelled samples in any order; a dict or list of tables, or `Views`, which samples may be
            missing from; or kernel matrices, if kernels are "precomputed": an array of shape (r, n, n), a list or dict
            of (n, n), or one (n, n).
        y : array of shape (n_samples,)
            The class of every labelled sample, and -1 for the unlabelled ones.

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
        Y, labelled = self._read_labels(y, H)
        return Problem(H, len(self.classes_), Y, labelled)

    def _learn(self, problem: Problem, random_state: np.random.RandomState, start: State | None = None) -> Solution:
        """Solve the problem and read the classes off the label scores."""
        solution = self._solve(problem, random_state, start)
        self._keep_labels(self.embedding_, ~reached(self.graph_, problem.labelled))
        return solution
