"""The leak in the program released with the paper: rows of label scores in the wrong order. For demonstration only.

The released semi-supervised program stores the label scores as F = [labelled; unlabelled] and then uses row i of F for
sample i. Unless the labelled samples come first in the file, that is the row of another sample. In a file sorted by
class, neighbours in F are neighbours in the file, so the graph is biased towards the order of the file, which is the
order of the classes to be predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from kernelweave._types import Mask, Matrix
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.solve import Problem, Scheme, State, Workspace, minimise, smkl
from kernelweave.solve.steps import InferLabels

__all__ = ["ORDERS", "MisalignedSMKL", "misaligned"]

Order: TypeAlias = Literal["file", "labelled-first", "shuffled"]
ORDERS: tuple[Order, ...] = get_args(Order)


def stacked(P: Matrix, problem: Problem) -> Matrix:
    """F = [P_l; P_u], the rows in the order of the released program."""
    if problem.labelled is None:
        msg = "The rows of P can only be stacked for a Problem with the mask of labelled samples: pass `labelled`."
        raise InvalidInputError(msg)
    return np.concatenate([P[problem.labelled], P[~problem.labelled]])


@dataclass(frozen=True, slots=True)
class InferMisaligned:
    """P for classification with its rows stacked; the next graph step uses them as the rows of the samples."""

    infer: InferLabels

    def __call__(self, problem: Problem, state: State, work: Workspace) -> State:
        """Return the state with the labels inferred on its graph, in the wrong order."""
        return replace(state, P=stacked(self.infer(problem, state, work).P, problem))


def misaligned(scheme: Scheme) -> Scheme:
    """Return a scheme for classification with the row order of the released program, including its start."""

    def start(problem: Problem, rng: np.random.Generator, work: Workspace) -> State:
        state = scheme.start(problem, rng, work)
        return replace(state, P=stacked(state.P, problem))

    steps = tuple(InferMisaligned(step) if isinstance(step, InferLabels) else step for step in scheme.steps)
    return replace(scheme, name=f"{scheme.name} with misaligned rows", start=start, steps=steps)


class MisalignedSMKL(BaseEstimator):  # type: ignore[misc]
    """The released semi-supervised SMKL with its bug, to demonstrate the leak. Do not use it on data.

    Parameters
    ----------
    alpha, beta, gamma : float
        As in `kernelweave.SMKLClassifier`.
    order : {"file", "labelled-first", "shuffled"}, default="file"
        The order of the samples in the program: as given; the labelled ones first, where the bug has no effect; or
        at random, where the order tells nothing about the classes.
    max_iter : int, default=30
        The maximum number of iterations, as released.
    tol : float, default=1e-5
        Stop when the relative change of the graph is below it.
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
        order: Order = "file",
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

    def fit(self, H: ArrayLike, y: ArrayLike) -> Self:
        """Run the released program, including its bug, on kernel matrices (r, n, n); y is -1 for unlabelled samples."""
        H, y = np.asarray(H), np.asarray(y)
        order = self._order(y != -1)
        self.classes_, codes = np.unique(y[y != -1], return_inverse=True)
        Y = np.zeros((len(y), len(self.classes_)), dtype=H.dtype)
        Y[np.flatnonzero(y != -1), codes] = 1
        labelled = (y != -1)[order]
        # kernel by kernel: indexing all at once leaves an array in another order, which every sum copies again
        ordered = np.stack([h[np.ix_(order, order)] for h in H])
        problem = Problem(ordered, len(self.classes_), Y[order], labelled)
        scheme = misaligned(smkl("released", alpha=self.alpha, beta=self.beta, gamma=self.gamma, classify=True))
        rng = np.random.default_rng(self.random_state)
        solution = minimise(problem, scheme, max_iter=self.max_iter, tol=self.tol, rng=rng)
        if solution.outcome.failed:
            msg = f"{scheme.name} stopped in iteration {solution.n_iter + 1}. {solution.outcome.value}"
            raise NotFiniteError(msg)
        # The program reads its predictions from F in the right order: only the rows that it learns from are wrong.
        rows = np.concatenate([order[labelled], order[~labelled]])
        self.embedding_ = np.empty_like(solution.state.P)
        self.embedding_[rows] = solution.state.P
        self.transduction_ = self.classes_[self.embedding_.argmax(axis=1)]
        self.n_iter_, self.outcome_ = solution.n_iter, solution.outcome
        return self

    def _order(self, labelled: Mask) -> NDArray[np.intp]:
        if self.order == "file":
            return np.arange(len(labelled))
        if self.order == "labelled-first":
            return np.argsort(~labelled, kind="stable")
        if self.order == "shuffled":
            return np.random.default_rng(self.random_state).permutation(len(labelled))
        msg = f"order must be one of {', '.join(ORDERS)}, got {self.order!r}."
        raise InvalidInputError(msg)
