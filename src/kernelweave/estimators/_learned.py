"""What SMKL, KGL and PMKL share: kernels built, the solver run, its solution kept."""

from __future__ import annotations

import sys
import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from kernelweave._types import Array, LabelsLike, RandomStateLike
from kernelweave.core.graphs.coordinates import nearness, shrinkage, votes
from kernelweave.core.graphs.propagation import one_hot, reached
from kernelweave.core.partitions.kmeans import cluster_means
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.estimators._classifier import GraphClassifier, class_attributes
from kernelweave.estimators._clusterer import GraphClusterer
from kernelweave.estimators._copies import warn_of_split_copies
from kernelweave.estimators._estimator import AT_LEAST_ONE, RIDGE, KernelModel, Number
from kernelweave.kernels.view_bank import Bank
from kernelweave.runtime import Reporter, threads
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.digests import Seen
from kernelweave.samples.partial_labels import read_labels
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.reader import SamplesLike
from kernelweave.samples.scaling import SCALES, Version, fit_by_view
from kernelweave.samples.views import Views
from kernelweave.solve import VERSIONS, History, Outcome, Problem, Record, Scheme, Solution, State, minimise
from kernelweave.solve.steps import RandomStart
from kernelweave.weave.consensus_kernel import Consensus, VersionKernels
from kernelweave.weave.graph_model import Centres, GraphModel
from kernelweave.weave.graph_partitions import kmeans
from kernelweave.weave.learned_rows import LearnedRows
from kernelweave.weave.plan import KernelShares

__all__ = [
    "PMKL_CONSTRAINTS",
    "Learnable",
    "LearnedClassifier",
    "LearnedClusterer",
    "SchemeName",
    "learnable",
]

SchemeName: TypeAlias = Literal["safeguarded", "released", "printed", "exact"]

_LARGEST = np.iinfo(np.int32).max  # seed of random numbers
_MATRICES = 8.2  # of size n x n that a run holds at once, besides the kernels
_BETA = Number(Real, 1e-100, 1e100, closed="both")  # it multiplies and divides squares of kernels
_CONSTRAINTS: dict[str, list[Any]] = {
    "beta": [_BETA, None],
    "relative_beta": [_BETA, None],
    "n_neighbors": [AT_LEAST_ONE, StrOptions({"auto", "all"})],
    "scale": [StrOptions(set(SCALES)), Mapping],
    "scheme": [StrOptions(set(VERSIONS))],
}
PMKL_CONSTRAINTS: dict[str, list[Any]] = {
    **KernelModel._parameter_constraints,
    **_CONSTRAINTS,
    "gamma": [RIDGE, StrOptions({"auto"})],
}


@dataclass(frozen=True, slots=True)
class Learnable:
    """What a run starts from, and what several runs can share: the samples, their kernels, the labels.

    The kernels are fixed on the samples after the scalings of `version`, which has none for kernel matrices.
    """

    samples: Views | KernelStack
    seen: Seen
    version: Version
    bank: Bank
    problem: Problem
    classes: Array | None = None


class LearnedClusterer(GraphClusterer):
    """Clusters the samples by k-means on the embedding that was learned with the graph."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**KernelModel._parameter_constraints, **_CONSTRAINTS}
    _matrices = _MATRICES
    _weights_sum_to_one: ClassVar[bool] = True  # with which the kernels enter the consensus

    history_: History
    n_iter_: int
    outcome_: Outcome
    scaling_: tuple[Version, ...]

    @abstractmethod
    def _scheme(self) -> Scheme:
        """Return the steps of this model with its parameters."""

    def fit(self, X: SamplesLike, y: object = None) -> Self:
        """Learn the graph, the consensus kernel, the weights and the clusters.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            The samples; a dict or list of tables, or `Views`, which samples may be missing from; or kernel matrices,
            if kernels are "precomputed": an array of shape (r, n, n), a list or dict of (n, n), or one (n, n).
        y : ignored
            There for scikit-learn's convention.

        Returns
        -------
        self
        """
        self._check_parameters()
        given = learnable(self, X)
        with threads(self.n_jobs, given.samples.n_samples):
            self._learn(given)
        name = type(self).__name__
        warn_of_split_copies(self.labels_, given.seen.digests, self.n_clusters, name, stacklevel=2)
        return self

    def labels_for(self, random_state: RandomStateLike) -> NDArray[np.int32]:
        """Return the labels that the fitted model would have found with another `random_state`.

        Parameters
        ----------
        random_state : int, RandomState or None
            In place of the parameter. Not with a scheme whose start depends on it too, such as "printed".

        Returns
        -------
        array of shape (n_samples,)
            Clusters of the embedding.
        """
        check_is_fitted(self)
        scheme = self._scheme()
        if isinstance(scheme.start, RandomStart):
            how = f'scheme="{self.scheme}" starts from a random graph'
            msg = f"{how}, which random_state decides too: fit the model again."
            raise InvalidInputError(msg)
        rng = check_random_state(random_state)
        rng.randint(_LARGEST)  # as in `fit`, where the solver draws first
        P = self.embedding_
        return (scheme.partition or kmeans)(P, P.shape[1], n_init=self.n_init, rng=rng)

    def _learn(self, given: Learnable, start: State | None = None) -> Solution:
        """Solve the problem, cluster the embedding and keep both."""
        rng = check_random_state(self.random_state)
        scheme, solution = _solve(self, given, rng, start)
        S, P, c = solution.state.S, solution.state.P, int(self.n_clusters)
        labels = (scheme.partition or kmeans)(P, c, n_init=self.n_init, rng=rng)
        (means,), (sizes,) = cluster_means(P, labels[None], c)
        M = ((votes(S, labels, c) + nearness(P, means, sizes)) / 2).astype(P.dtype, copy=False)
        coordinates = P / shrinkage(S, P)
        found, kernels, joiner = _found(self, scheme, given, solution)
        model = GraphModel(
            joiner,
            coordinates,
            # not by neighbours: on a dense graph these are all samples, and most of them are in large clusters
            centres=Centres(means, sizes),
            seen=given.seen,
            distributions=M,
            undecided=np.zeros(len(labels), dtype=bool),
            embedding=P,
        )
        self._keep({**found, "labels_": labels, "_membership": M, "_graph_model": model}, given.samples, kernels)
        return solution

    def __getstate__(self) -> dict[str, Any]:
        return _with_outcome_name(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_with_outcome(state))


class LearnedClassifier(GraphClassifier):
    """Classifies unlabelled samples from a few labels by harmonic functions on the learned graph."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**KernelModel._parameter_constraints, **_CONSTRAINTS}
    _matrices = _MATRICES
    _weights_sum_to_one: ClassVar[bool] = True  # with which the kernels enter the consensus

    history_: History
    n_iter_: int
    outcome_: Outcome
    scaling_: tuple[Version, ...]

    @abstractmethod
    def _scheme(self) -> Scheme:
        """Return the steps of this model with its parameters."""

    def fit(self, X: SamplesLike, y: LabelsLike) -> Self:
        """Learn the graph, the consensus kernel, the weights and the classes of the unlabelled samples.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or several of them
            Labelled and unlabelled samples in any order; a dict or list of tables, or `Views`, which samples may be
            missing from; or kernel matrices, if kernels are "precomputed": an array of shape (r, n, n), a list or dict
            of (n, n), or one (n, n).
        y : array of shape (n_samples,)
            The class of every labelled sample; -1, None, NaN or an empty text for the unlabelled ones.

        Returns
        -------
        self
        """
        self._check_parameters()
        given = learnable(self, X, y)
        with threads(self.n_jobs, given.samples.n_samples):
            self._learn(given)
        return self

    def _learn(self, given: Learnable, start: State | None = None) -> Solution:
        """Solve the problem and read the classes off the label scores."""
        scheme, solution = _solve(self, given, check_random_state(self.random_state), start)
        S, P = solution.state.S, solution.state.P
        undecided = ~reached(S, np.asarray(given.problem.labelled)) | (np.maximum(P, 0).sum(axis=1) == 0)
        values = np.where(undecided[:, None], 0, P)
        found, kernels, joiner = _found(self, scheme, given, solution)
        model = GraphModel(joiner, values, values, seen=given.seen)
        found |= class_attributes(np.asarray(given.classes), P, undecided, model)
        self._keep(found, given.samples, kernels)
        return solution

    def __getstate__(self) -> dict[str, Any]:
        return _with_outcome_name(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(_with_outcome(state))


Learner = LearnedClusterer | LearnedClassifier


def learnable(model: Learner, X: SamplesLike, y: LabelsLike | None = None) -> Learnable:
    """Return the samples, how they are scaled, their kernels and the problem; y are the labels of a classifier."""
    clusters = isinstance(model, LearnedClusterer)
    samples = model._read(X, None if clusters else y)
    if isinstance(samples, Chunks):
        raise model._no_chunks()
    known = None if clusters else read_labels(y, samples, X)
    seen, version = Seen(samples.digests()), Version("given", {})  # kernel matrices are not scaled
    if isinstance(samples, Views):
        papers = f'scheme="{model.scheme}" takes samples as they are, as the paper does'
        version = fit_by_view(samples, model.scale, as_they_are=None if VERSIONS[model.scheme].scaled else papers)
    if model.verbose:
        say = Reporter(type(model).__name__, model.verbose)
        for name, one in version.scalings.items():
            say(f"scale of {name}: {one.method}, since {one.reason}")
    bank, H = model._build_kernels(samples.scaled(version.scalings))
    if not H.any():
        raise _no_similarity(bank)
    if known is None:
        return Learnable(samples, seen, version, bank, Problem(H, int(model.n_clusters)))
    classes, codes = known
    problem = Problem(H, len(classes), *one_hot(codes, len(classes), H.dtype))
    return Learnable(samples, seen, version, bank, problem, classes)


def _no_similarity(bank: Bank) -> InvalidInputError:
    """Return the error for kernels that are all 0: their weights would be infinite."""
    names = ", ".join(bank.names)
    return InvalidInputError(
        f"All values of the kernels {names} are 0 for these samples, so that there is nothing to learn from: scale the "
        "samples, or choose other kernels."
    )


def _solve(
    model: Learner, given: Learnable, rng: np.random.RandomState, start: State | None
) -> tuple[Scheme, Solution]:
    """Return the scheme and its solution; warn if it did not converge, raise if there is none."""
    scheme, generator = model._scheme(), np.random.default_rng(rng.randint(_LARGEST))
    watch = _progress(scheme.name, model.max_iter) if model.verbose else None
    try:
        solution = minimise(
            given.problem, scheme, max_iter=model.max_iter, tol=model.tol, rng=generator, watch=watch, start=start
        )
    except np.linalg.LinAlgError as error:
        msg = f"{scheme.name} could not start. {Outcome.NOT_FINITE.value}"
        raise NotFiniteError(msg) from error
    if solution.outcome.failed:
        msg = f"{scheme.name} stopped in iteration {solution.n_iter + 1}. {solution.outcome.value}"
        raise NotFiniteError(msg)
    if not solution.outcome.converged:
        plural = "s" if model.max_iter != 1 else ""
        msg = (
            f"{scheme.name} stopped after {model.max_iter} iteration{plural} with a relative change of "
            f"{solution.history[-1].change:.2g} (tol={model.tol:g}). {solution.outcome.value}"
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=4)
    return scheme, solution


def _progress(name: str, max_iter: int) -> Callable[[int, State, Record], None]:
    def watch(iteration: int, state: State, record: Record) -> None:
        sys.stderr.write(
            f"[{name}] iteration {iteration}/{max_iter}: objective {record.objective:.8g}, "
            f"change {record.change:.2e}, {record.seconds:.2f} s\n"
        )

    return watch


def _found(
    model: Learner, scheme: Scheme, given: Learnable, solution: Solution
) -> tuple[dict[str, Any], KernelShares, LearnedRows]:
    """Return the fitted attributes that describe the solution, its kernels, and what joins new samples to its graph."""
    state, bank = solution.state, given.bank
    shares = state.w / state.w.sum()
    weights = shares if model._weights_sum_to_one else state.w
    consensus = Consensus((VersionKernels(bank, given.version.scalings, weights),), state.K)
    fitted = {
        "graph_": state.S,
        "consensus_kernel_": state.K,
        "embedding_": state.P,
        "history_": solution.history,
        "n_iter_": len(solution.history.records),
        "outcome_": solution.outcome,
    }
    kernels = KernelShares(bank.names, bank.views, shares, state.w, (given.version,))
    joiner = LearnedRows(consensus, solution.P, scheme.alpha, scheme.gamma, scheme.n_neighbors, state.factors)
    return fitted, kernels, joiner


def _with_outcome_name(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state whose outcome is its name: skops cannot restore a member of an enumeration."""
    return {**state, "outcome_": state["outcome_"].name} if "outcome_" in state else dict(state)


def _with_outcome(state: dict[str, Any]) -> dict[str, Any]:
    return {**state, "outcome_": Outcome[state["outcome_"]]} if "outcome_" in state else state
