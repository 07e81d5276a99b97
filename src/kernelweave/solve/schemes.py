"""The models (SMKL, KGL, PMKL) in the versions that exist of them (printed, released, exact, safeguarded), as data.

A version fixes the order of the steps, the start, how the graph and the kernel are kept admissible, when to stop, and
which k-means clusters the rows of P; a model says which steps there are. The loop has no branches for either.

- "printed" is Algorithm 1 of the paper: S, K, w, P in this order, squared distances of the labels, a random S to start
  with. It differs in one point: the paper's K of Eq. 16 is not symmetric if S is not. Here it is the symmetric part of
  it, with (I - S)(I - S)' for the paper's I - 2S' + SS', which is the minimum over symmetric K.
- "released" is the public program that made the paper's figures, with the labels' rows in the order of the samples.
- "exact" takes the optimum of every sub-problem, with S >= 0 and K positive semidefinite.
- "safeguarded", the default of the estimators, takes optima in closed form, w and K at once, with K >= -γ/2; S >= 0
  is imposed on the last graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from kernelweave.core.algebra.matrices import nearest_psd
from kernelweave.core.paper.closed_forms import perturbation_term, self_weighted_mean, smoothness
from kernelweave.core.partitions.hartigan import best_partition
from kernelweave.errors import InvalidInputError
from kernelweave.solve.loop import (
    Leaps,
    Run,
    SmallChange,
    graph_change,
    joint_change,
    small_change_or_level,
    spectral_change,
    why_still_changing,
)
from kernelweave.solve.problem import Outcome, Problem, State
from kernelweave.solve.scheme import (
    Advance,
    Change,
    Finish,
    GammaLike,
    NeighborsLike,
    Partition,
    Scheme,
    Start,
    Step,
    StopRule,
    still_changing,
    sweeps,
    unchanged,
)
from kernelweave.solve.steps import (
    Beta,
    FirstKernel,
    IdentityStart,
    Infer,
    InferLabels,
    KeepPositiveGraph,
    KernelStart,
    LearnExactGraph,
    LearnFreeGraph,
    LearnGraph,
    ParametriseKernel,
    PerturbKernel,
    PerturbSafely,
    RandomStart,
    RidgeStart,
    SelfWeight,
    SmootherLabels,
    StopIfFar,
    clip_kernel,
    distances_of,
    embed,
    keep_kernel,
    propagate,
    residual_of,
    single_kernel,
    uniform_theta,
)

__all__ = ["VERSIONS", "Terms", "kgl", "pmkl", "smkl"]


def _finish(infer: Infer, n_neighbors: int | None) -> Finish:
    """Return the finish of versions whose S is admissible in every iteration: nothing, unless edges are left out."""
    return unchanged if n_neighbors is None else KeepPositiveGraph(infer, n_neighbors)


@dataclass(frozen=True, slots=True)
class Version:
    """One way to alternate between S, K, w and P: what the models of that version have in common.

    The last fields are what "auto" stands for: whether samples are scaled, how many entries of every row of the last
    graph are kept (None for all), and PMKL's ridge.
    """

    cluster_order: tuple[str, ...]
    classify_order: tuple[str, ...]
    start: Callable[[FirstKernel, Infer, float], Start]
    graph: Callable[[float, float, bool], Step]  # of alpha, gamma, and whether K is fixed
    consensus: Callable[[Beta, float], dict[str, Step]]
    change: Change
    stop: StopRule
    labels: Callable[[Infer], Step] = InferLabels
    finish: Callable[[Infer, int | None], Finish] = _finish
    iterations: Callable[[Run], Advance] = sweeps
    at_max_iter: Callable[[State], Outcome] = still_changing
    partition: Partition | None = None  # plain k-means
    floor: Callable[[Problem], float] = attrgetter("floor")
    scaled: bool = True
    n_neighbors: int | None = 15
    pmkl_gamma: float = 0.001


class Versions(dict[str, Version]):
    """The versions by name; asking for another one is an error that names them."""

    def __missing__(self, name: str) -> Version:
        msg = f"Unknown scheme {name!r}: choose one of {', '.join(self)}."
        raise InvalidInputError(msg)


VERSIONS = Versions(
    {
        # Algorithm 1 as the paper prints it, but with the symmetric part of its K
        "printed": Version(
            cluster_order=("graph", "kernel", "weights", "labels", "guard"),
            classify_order=("graph", "kernel", "weights", "labels", "guard"),
            start=lambda kernel, infer, gamma: RandomStart(kernel, infer),
            graph=lambda alpha, gamma, fixed: LearnGraph(alpha, gamma, fixed, squared=True, symmetric=False),
            consensus=lambda beta, gamma: {"weights": SelfWeight(), "kernel": PerturbKernel(beta, keep_kernel)},
            change=graph_change,
            stop=SmallChange(),
            scaled=False,
            n_neighbors=None,
            pmkl_gamma=0.1,
        ),
        # the public program that made the paper's figures, with the rows of its labels in the right order
        "released": Version(
            cluster_order=("labels", "weights", "graph", "kernel", "guard"),
            classify_order=("weights", "kernel", "graph", "labels", "guard"),
            start=lambda kernel, infer, gamma: IdentityStart(kernel),
            graph=lambda alpha, gamma, fixed: LearnGraph(alpha, gamma, fixed, squared=False, symmetric=True),
            consensus=lambda beta, gamma: {"weights": SelfWeight(), "kernel": PerturbKernel(beta, clip_kernel)},
            change=spectral_change,
            stop=SmallChange(min_iter=6),
            scaled=False,
            n_neighbors=None,
            pmkl_gamma=0.1,
        ),
        # every step the optimum of its sub-problem, K positive semidefinite: the objective never increases
        "exact": Version(
            cluster_order=("graph", "weights", "kernel", "labels"),
            classify_order=("graph", "weights", "kernel", "labels"),
            start=RidgeStart,
            graph=lambda alpha, gamma, fixed: LearnExactGraph(alpha, gamma),
            consensus=lambda beta, gamma: {"weights": SelfWeight(), "kernel": PerturbKernel(beta, nearest_psd)},
            change=graph_change,
            stop=small_change_or_level,
            partition=best_partition,
        ),
        # every step the optimum of its sub-problem in closed form, S >= 0 imposed on the last graph: the default
        "safeguarded": Version(
            cluster_order=("graph", "kernel", "labels"),
            classify_order=("graph", "kernel", "labels"),
            start=lambda kernel, infer, gamma: KernelStart(kernel),
            graph=LearnFreeGraph,
            consensus=lambda beta, gamma: {"kernel": PerturbSafely(beta, gamma)},
            change=joint_change,
            stop=small_change_or_level,
            partition=best_partition,
            labels=SmootherLabels,
            finish=KeepPositiveGraph,
            iterations=Leaps,
            at_max_iter=why_still_changing,
            floor=attrgetter("safeguarded_floor"),
        ),
    }
)


def smkl(
    version: str,
    *,
    alpha: float,
    gamma: float,
    classify: bool,
    beta: float | None = None,
    relative_beta: float | None = None,
    n_neighbors: NeighborsLike = "all",
) -> Scheme:
    """Self-weighted multiple kernel learning, Eq. 10 (clustering) and Eq. 18 (classification).

    With `n_neighbors`, here and below, the last graph keeps only this many entries of every row, the strongest.
    """
    v, b = VERSIONS[version], Beta(beta) if relative_beta is None else Beta(beta, relative_beta)
    terms = Terms(alpha, gamma, b, v.floor)
    return _scheme(
        "SMKL",
        v,
        v.consensus(b, gamma),
        lambda problem: self_weighted_mean(problem.H, v.floor(problem)),
        terms,
        classify=classify,
        n_neighbors=n_neighbors,
    )


def kgl(version: str, *, alpha: float, gamma: float, classify: bool, n_neighbors: NeighborsLike = "all") -> Scheme:
    """Kernel-based graph learning, Eq. 7: one kernel, which stays as it is."""
    v, terms = VERSIONS[version], Terms(alpha, gamma)
    return _scheme("KGL", v, {}, single_kernel, terms, classify=classify, n_neighbors=n_neighbors)


def pmkl(version: str, *, alpha: float, gamma: GammaLike, classify: bool, n_neighbors: NeighborsLike = "all") -> Scheme:
    """Parametrised multiple kernel learning, Eq. 11: K = Σ θ_i H_i, Σ √θ_i = 1."""
    v = VERSIONS[version]
    terms = Terms(alpha, v.pmkl_gamma if isinstance(gamma, str) else gamma)
    steps: dict[str, Step] = {"kernel": ParametriseKernel()}
    return _scheme("PMKL", v, steps, uniform_theta, terms, classify=classify, n_neighbors=n_neighbors)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of the objective, Eq. 10; the perturbation of the kernels in SMKL only, which has a beta."""

    alpha: float
    gamma: float
    beta: Beta | None = None
    floor: Callable[[Problem], float] = attrgetter("floor")

    def __call__(self, problem: Problem, state: State) -> dict[str, float]:
        """Return the terms by name: Tr(K - 2KS + S'KS) = <K, M>, γ||S||²_F, α Tr(P'LP), and β Σ_i ||H_i - K||_F."""
        q = smoothness(state.S, state.P)[0] if state.q is None else state.q
        terms = {
            "fit": float(np.vdot(state.K, residual_of(state))),
            "ridge": self.gamma * float(np.vdot(state.S, state.S)),
            "smoothness": self.alpha * q,
        }
        if self.beta is not None:
            d, beta = distances_of(problem, state), self.beta.value(problem)
            terms["perturbation"] = perturbation_term(d, self.floor(problem), beta=beta)
        return terms


def _scheme(
    name: str,
    version: Version,
    steps: dict[str, Step],
    kernel: FirstKernel,
    terms: Terms,
    *,
    classify: bool,
    n_neighbors: NeighborsLike,
) -> Scheme:
    kept = version.n_neighbors if n_neighbors == "auto" else None if n_neighbors == "all" else int(n_neighbors)
    infer = propagate if classify else embed
    graph = version.graph(terms.alpha, terms.gamma, "kernel" not in steps)
    steps = {**steps, "graph": graph, "labels": version.labels(infer), "guard": StopIfFar()}
    order = version.classify_order if classify else version.cluster_order
    return Scheme(
        name=name,
        start=version.start(kernel, infer, terms.gamma),
        steps=tuple(steps[role] for role in order if role in steps),
        terms=terms,
        change=version.change,
        stop=version.stop,
        alpha=terms.alpha,
        gamma=terms.gamma,
        n_neighbors=kept,
        at_max_iter=version.at_max_iter,
        finish=version.finish(infer, kept),
        iterations=version.iterations,
        partition=version.partition,
    )
