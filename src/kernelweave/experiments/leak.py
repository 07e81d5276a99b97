"""The leak in the program released with the paper, shown and nowhere used: rows of labels in the wrong order.

The released semi-supervised program keeps the label scores as F = [labelled; unlabelled] and then takes row i of F for
sample i. Unless the labelled samples come first in the file, that is the row of another sample. In a file sorted by
class neighbours in F are neighbours in the file, so the graph is pulled towards the order of the file: towards the
classes that were to be found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave._types import Mask, Matrix
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.solve import Problem, Scheme, State, Workspace, minimise, smkl
from kernelweave.solve.steps import InferLabels

__all__ = ["ORDERS", "MisalignedSMKL", "misaligned"]

ORDERS = ("file", "labelled-first", "shuffled")


def stacked(P: Matrix, labelled: Mask) -> Matrix:
    """F = [P_l; P_u], the rows as the released program keeps them."""
    return np.concatenate([P[labelled], P[~labelled]])


@dataclass(frozen=True, slots=True)
class InferMisaligned:
    """P for classification, then its rows stacked: what the next graph step takes for the rows of the samples."""

    infer: InferLabels

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the labels inferred on its graph, in the wrong order."""
        return replace(state, P=stacked(self.infer(problem, state, work).P, problem.labelled))


def misaligned(scheme: Scheme) -> Scheme:
    """Return a scheme for classification with the row order of the released program, from the start on."""

    def start(problem: Problem, rng: np.random.Generator, work: Workspace) -> State:
        state = scheme.start(problem, rng, work)
        return replace(state, P=stacked(state.P, problem.labelled))

    steps = tuple(InferMisaligned(step) if isinstance(step, InferLabels) else step for step in scheme.steps)
    return replace(scheme, name=f"{scheme.name} with misaligned rows", start=start, steps=steps)


class MisalignedSMKL(BaseEstimator):
    """The released semi-supervised SMKL with its bug: for the demonstration of the leak, never for use.

    Parameters
    ----------
    alpha, beta, gamma : float
        As in `kernelweave.SMKLClassifier`.
    order : {"file", "labelled-first", "shuffled"}, default="file"
        In which order the program sees the samples: as they are given; the labelled ones first, where the bug has no
        effect; or at random, where it has nothing to leak.
    max_iter : int, default=30
        The most iterations, as released.
    tol : float, default=1e-5
        Stop when the relative change of the graph falls below it.
    random_state : int, default=0
        Seed of the order "shuffled".

    Attributes
    ----------
    transduction_ : array of shape (n_samples,)
        The class of every sample, in the order in which they were given.
    n_iter_ : int
        The number of iterations.
    outcome_ : Outcome
        Why the solver stopped.
    """

    def __init__(
        self,
        alpha: float = 0.1,
        beta: float = 25,
        gamma: float = 1,
        *,
        order: str = "file",
        max_iter: int = 30,
        tol: float = 1e-5,
        random_state: int = 0,
    ) -> None:
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.order = order
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, H: Any, y: Any) -> Self:
        """Run the released program, bug and all, on kernel matrices (r, n, n); y is -1 where it is not known."""
        H, y = np.asarray(H), np.asarray(y)
        order = self._order(y != -1)
        self.classes_, codes = np.unique(y[y != -1], return_inverse=True)
        Y = np.zeros((len(y), len(self.classes_)), dtype=H.dtype)
        Y[np.flatnonzero(y != -1), codes] = 1
        problem = Problem(H[:, order][:, :, order], len(self.classes_), Y[order], (y != -1)[order])
        scheme = misaligned(smkl("released", alpha=self.alpha, beta=self.beta, gamma=self.gamma, classify=True))
        rng = np.random.default_rng(self.random_state)
        solution = minimise(problem, scheme, max_iter=self.max_iter, tol=self.tol, rng=rng)
        if solution.outcome.failed:
            msg = f"{scheme.name} stopped in iteration {solution.n_iter + 1}. {solution.outcome.value}"
            raise NotFiniteError(msg)
        # The program reads its predictions off the stack in the right order: only what it learns from is wrong.
        rows = np.concatenate([order[problem.labelled], order[~problem.labelled]])
        self.embedding_ = np.empty_like(solution.state.P)
        self.embedding_[rows] = solution.state.P
        self.transduction_ = self.classes_[self.embedding_.argmax(axis=1)]
        self.n_iter_, self.outcome_ = solution.n_iter, solution.outcome
        return self

    def _order(self, labelled: Mask) -> Any:
        if self.order == "file":
            return np.arange(len(labelled))
        if self.order == "labelled-first":
            return np.argsort(~labelled, kind="stable")
        if self.order == "shuffled":
            return np.random.default_rng(self.random_state).permutation(len(labelled))
        msg = f"order must be one of {', '.join(ORDERS)}, got {self.order!r}."
        raise InvalidInputError(msg)
