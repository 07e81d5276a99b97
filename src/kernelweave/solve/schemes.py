"""The models (SMKL, KGL, PMKL) in the versions that exist of them (printed, released, exact), as data.

A version fixes the order of the steps, the start, how the graph and the kernel are kept admissible, and when to
stop; a model says which steps there are. Neither is a branch in the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from kernelweave._types import Matrix, Vector
from kernelweave.core.algebra.matrices import nearest_psd
from kernelweave.core.paper.objective import fit_term, perturbation_term, ridge_term
from kernelweave.errors import InvalidInputError
from kernelweave.solve import starts
from kernelweave.solve.problem import Problem, State
from kernelweave.solve.result import Outcome
from kernelweave.solve.scheme import Change, Scheme, graph_change, joint_change, spectral_change, still_changing
from kernelweave.solve.steps import (
    Beta,
    Embed,
    Infer,
    InferLabels,
    KeepPositiveGraph,
    LearnExactGraph,
    LearnFreeGraph,
    LearnGraph,
    ParametriseKernel,
    PerturbKernel,
    PerturbSafely,
    SelfWeight,
    SmootherLabels,
    Step,
    clip_kernel,
    distances_of,
    keep_kernel,
    residual_of,
    smoothness_of,
)

__all__ = ["VERSIONS", "kgl", "pmkl", "smkl"]

_NO_GRAPH = 2.0
_Kernel = tuple[Matrix, Vector]  # a consensus kernel and the weights that go with it


def _why_unsettled(state: State) -> Outcome:
    """Return why a safeguarded run is still moving: without labels no entry of S = I - γ(K + γI)^-1 is beyond ±1."""
    if max(float(state.S.max()), -float(state.S.min())) > _NO_GRAPH:
        return Outcome.OVERRULED
    return Outcome.ON_BOUND if state.on_bound else Outcome.MAX_ITER


def _as_inferred(infer: Infer) -> Step:
    return infer


@dataclass(frozen=True, slots=True)
class Version:
    """One way in which the algorithm was published, or should have been."""

    cluster_order: tuple[str, ...]
    classify_order: tuple[str, ...]
    start: Callable[[Problem, _Kernel, Step, float, np.random.Generator], State]
    graph: Callable[[float, float, bool], Step]  # of alpha, gamma, and whether K stays as it is
    consensus: Callable[[Beta, float], dict[str, Step]]
    change: Change
    min_iter: int
    labels: Callable[[Infer], Step] = _as_inferred
    finish: Callable[[Infer], Step] | None = None
    monotone: bool = False
    accelerated: bool = False
    unsettled: Callable[[State], Outcome] = still_changing
    floor: Callable[[Problem], float] = attrgetter("floor")


VERSIONS: dict[str, Version] = {
    # Algorithm 1 as the paper prints it
    "printed": Version(
        cluster_order=("graph", "kernel", "weights", "labels"),
        classify_order=("graph", "kernel", "weights", "labels"),
        start=lambda problem, kernel, infer, gamma, rng: starts.random_start(problem, kernel, infer, rng),
        graph=lambda alpha, gamma, fixed: LearnGraph(alpha, gamma, fixed, squared=True, symmetric=False),
        consensus=lambda beta, gamma: {"weights": SelfWeight(), "kernel": PerturbKernel(beta, keep_kernel)},
        change=graph_change,
        min_iter=1,
    ),
    # the public program that made the paper's figures, without its misaligned rows
    "released": Version(
        cluster_order=("labels", "weights", "graph", "kernel"),
        classify_order=("weights", "kernel", "graph", "labels"),
        start=lambda problem, kernel, infer, gamma, rng: starts.identity_start(problem, kernel),
        graph=lambda alpha, gamma, fixed: LearnGraph(alpha, gamma, fixed, squared=False, symmetric=True),
        consensus=lambda beta, gamma: {"weights": SelfWeight(), "kernel": PerturbKernel(beta, clip_kernel)},
        change=spectral_change,
        min_iter=6,
    ),
    # every step the optimum of its sub-problem, K a positive semidefinite matrix: the objective never rises
    "exact": Version(
        cluster_order=("graph", "weights", "kernel", "labels"),
        classify_order=("graph", "weights", "kernel", "labels"),
        start=lambda problem, kernel, infer, gamma, rng: starts.ridge_start(problem, kernel, infer, gamma),
        graph=lambda alpha, gamma, fixed: LearnExactGraph(alpha, gamma),
        consensus=lambda beta, gamma: {"weights": SelfWeight(), "kernel": PerturbKernel(beta, nearest_psd)},
        change=graph_change,
        min_iter=1,
        monotone=True,
    ),
    # every step the optimum of its sub-problem in closed form, S >= 0 imposed on the graph at the end: the one to use
    "safeguarded": Version(
        cluster_order=("graph", "kernel", "labels"),
        classify_order=("graph", "kernel", "labels"),
        start=lambda problem, kernel, infer, gamma, rng: starts.ridge_start(problem, kernel, infer, gamma),
        graph=LearnFreeGraph,
        labels=SmootherLabels,
        finish=KeepPositiveGraph,
        consensus=lambda beta, gamma: {"kernel": PerturbSafely(beta, gamma)},
        change=joint_change,
        min_iter=1,
        monotone=True,
        accelerated=True,
        unsettled=_why_unsettled,
        floor=attrgetter("rounding_floor"),
    ),
}


def smkl(
    version: str,
    *,
    alpha: float,
    gamma: float,
    classify: bool,
    beta: float | None = None,
    relative_beta: float | None = None,
) -> Scheme:
    """Self-weighted multiple kernel learning, Eq. 10 (clustering) and Eq. 18 (classification)."""
    v, stiffness = _version(version), Beta(beta, relative_beta)

    def perturbation(problem: Problem, state: State) -> dict[str, float]:
        d = distances_of(problem, state)
        return {"perturbation": perturbation_term(d, v.floor(problem), beta=stiffness.value(problem))}

    steps = v.consensus(stiffness, gamma)
    return _scheme("SMKL", v, steps, starts.self_weighted_mean, perturbation, alpha, gamma, classify=classify)


def kgl(version: str, *, alpha: float, gamma: float, classify: bool) -> Scheme:
    """Kernel-based graph learning, Eq. 7: one kernel, which stays as it is."""

    def single(problem: Problem) -> _Kernel:
        return problem.H[0], np.ones(1)

    return _scheme("KGL", _version(version), {}, single, _no_more_terms, alpha, gamma, classify=classify)


def pmkl(version: str, *, alpha: float, gamma: float, classify: bool) -> Scheme:
    """Parametrised multiple kernel learning, Eq. 11: K = Σ θ_i H_i, Σ √θ_i = 1."""
    steps: dict[str, Step] = {"kernel": ParametriseKernel()}
    v = _version(version)
    return _scheme("PMKL", v, steps, starts.uniform_theta, _no_more_terms, alpha, gamma, classify=classify)


def _scheme(
    name: str,
    version: Version,
    steps: dict[str, Step],
    kernel: Callable[[Problem], _Kernel],
    more_terms: Callable[[Problem, State], dict[str, float]],
    alpha: float,
    gamma: float,
    *,
    classify: bool,
) -> Scheme:
    infer: Infer = InferLabels() if classify else Embed()
    steps = {**steps, "graph": version.graph(alpha, gamma, "kernel" not in steps), "labels": version.labels(infer)}
    order = version.classify_order if classify else version.cluster_order

    def terms(problem: Problem, state: State) -> dict[str, float]:
        return {
            "fit": fit_term(state.K, residual_of(state)),
            "ridge": ridge_term(state.S, gamma=gamma),
            "smoothness": alpha * smoothness_of(state),
            **more_terms(problem, state),
        }

    return Scheme(
        name=name,
        start=lambda problem, rng: version.start(problem, kernel(problem), infer, gamma, rng),
        steps=tuple(steps[role] for role in order if role in steps),
        terms=terms,
        change=version.change,
        min_iter=version.min_iter,
        finish=version.finish(infer) if version.finish else None,
        monotone=version.monotone,
        accelerated=version.accelerated,
        unsettled=version.unsettled,
    )


def _no_more_terms(problem: Problem, state: State) -> dict[str, float]:
    return {}


def _version(name: str) -> Version:
    if name not in VERSIONS:
        msg = f"Unknown scheme {name!r}: choose one of {', '.join(VERSIONS)}."
        raise InvalidInputError(msg)
    return VERSIONS[name]
