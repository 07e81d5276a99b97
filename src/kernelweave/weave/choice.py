"""The choice of a solver, with its reason; parameters that a solver does not support are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from kernelweave._plural import listed
from kernelweave.core.graphs.affinity import GraphKind, GraphRule
from kernelweave.errors import InvalidInputError, NotEnoughMemoryError
from kernelweave.runtime import gib
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.reader import SampleSet
from kernelweave.samples.views import Views
from kernelweave.weave.dense import Dense
from kernelweave.weave.landmark.landmark_solver import Landmark
from kernelweave.weave.local.local_solver import Local
from kernelweave.weave.plan import Classes, Clusters, ClusterTask, LabelTask, Plan

__all__ = ["SOLVERS", "Size", "Solver", "SolverChoice", "SolverLike", "choose_solver", "plan_fit", "refuse_gaps"]

_GAMMA, _NEIGHBOURS = 0.1, 10  # what "auto" stands for
_CHOSEN = ("graph", "gamma", "embedding")  # parameters that "auto" leaves to the solver


class Solver(Protocol):
    """Builds the graph of a Weave model.

    A solver declares in `supports` which of these it supports: "views" (several), "gaps" in them, "precomputed"
    kernels, "mixed" tables, "chunks", "auto" number of clusters, a "graph" kind, "gamma", an "embedding", and "float64"
    for double precision.
    """

    name: ClassVar[str]
    supports: ClassVar[frozenset[str]]

    def unsuited(self, n: int) -> str | None:
        """Return why "auto" should not choose it for n samples; None if it may."""

    def memory(self, samples: Any, n_neighbors: int, n_groups: int) -> int:
        """Return about how many bytes a fit needs beyond its samples; 0 if their number is not known yet."""

    def cluster(self, samples: Any, plan: Plan, task: ClusterTask, rng: np.random.RandomState) -> Clusters:
        """Return the clusters of the samples."""

    def classify(self, samples: Any, plan: Plan, task: LabelTask, rng: np.random.RandomState) -> Classes:
        """Return the classes of the samples."""


SOLVERS: dict[str, Solver] = {solver.name: solver for solver in (Dense(), Local(), Landmark())}
SolverLike: TypeAlias = Literal["auto", "dense", "local", "landmark"] | Solver


@dataclass(frozen=True, slots=True)
class SolverChoice:
    """The solver of a fit, and why it was chosen.

    Parameters
    ----------
    solver : Dense, Local or Landmark
        The solver.
    reason : str
        Why it was chosen.
    """

    solver: Solver
    reason: str

    @property
    def name(self) -> str:
        """The name of the solver."""
        return self.solver.name


class Size(NamedTuple):
    """What the memory of a solver depends on besides the samples."""

    n_neighbors: int
    n_groups: int


def plan_fit(
    given: Mapping[str, Any],
    samples: SampleSet,
    free: int | None,
    say: Callable[[str], None],
    *,
    n_groups: int,
    graph: GraphKind,
) -> tuple[SolverChoice, Plan]:
    """Return the solver for these samples, with its reason, and its plan.

    Parameters
    ----------
    given : mapping of name to value
        The parameters of the estimator.
    samples : Views, Chunks or KernelStack
        The samples.
    free : int or None
        The bytes of memory that are available; None where the system does not say.
    say : callable of str
        Called with every line of progress.
    n_groups : int
        The number of clusters or classes, or a guess.
    graph : {"ridge", "knn", "both"}
        What "auto" stands for.
    """
    required = {name: f"{name}={given[name]!r}" for name in _CHOSEN if given.get(name, "auto") != "auto"}
    if given.get("n_clusters") == "auto":
        required["auto"] = 'n_clusters="auto"'
    if given["dtype"] is not None and np.dtype(given["dtype"]) == np.float64:
        required["float64"] = 'dtype="float64"'
    counted = given["n_neighbors"] != "auto"
    k = int(given["n_neighbors"]) if counted else _NEIGHBOURS
    choice = choose_solver(given["solver"], samples, required, Size(k, n_groups), free)
    say(f"solver: {choice.solver.name}, since {choice.reason}")
    gamma = _GAMMA if given["gamma"] == "auto" else float(given["gamma"])
    rule = GraphRule(graph if given["graph"] == "auto" else given["graph"], gamma, k)
    asked = {name: given[name] for name in ("kernels", "weights", "scale", "graph", "dtype", "n_jobs")}
    return choice, Plan(**asked, rule=rule, many=not counted and rule.graph != "both", say=say, counted=counted)


def choose_solver(
    solver: SolverLike, samples: SampleSet, required: Mapping[str, str], size: Size, free: int | None
) -> SolverChoice:
    """Return the requested solver, or the first that supports the samples and parameters and fits in memory.

    Parameters
    ----------
    solver : str or solver
        As the parameter of the estimators.
    samples : Views, Chunks or KernelStack
        The samples.
    required : mapping of capability to text
        The parameters that differ from their defaults, such as {"gamma": "gamma=0.5"}.
    size : Size
        What the memory of a solver depends on besides the samples.
    free : int or None
        The bytes of memory that are available; None where the system does not say.
    """
    required = {**required, **samples.requirements}
    able = [one for one in SOLVERS.values() if required.keys() <= one.supports]
    if solver != "auto":
        given = SOLVERS[solver] if isinstance(solver, str) else solver
        if not required.keys() <= given.supports:
            raise _lacking(given, required, able)
        if free is not None and given.memory(samples, *size) > free:
            raise _too_large(given, samples, required, size, free)
        return SolverChoice(given, "it was asked for")
    if not able:
        msg = f"No solver takes {listed(required.values())} together: leave one of them out{_or_load(required)}."
        raise InvalidInputError(msg)
    if isinstance(samples, Chunks):
        return SolverChoice(able[0], "the samples are read in chunks")
    n, why = samples.n_samples, ""
    for one in able:
        reason, need = one.unsuited(n), one.memory(samples, *size)
        if reason is None and free is not None and need > free:
            reason = f"{_what(one, n)} needs {gib(need)}, more than the {gib(free)} available"
        if reason is None:
            why = why or f"{n} samples are few enough to compare each with all others"
            return SolverChoice(one, f"it takes {listed(required.values())}" if len(able) == 1 else why)
        why = reason
    smallest = min(able, key=lambda one: one.memory(samples, *size))
    if free is not None and smallest.memory(samples, *size) > free:
        raise _too_large(smallest, samples, required, size, free)
    return SolverChoice(smallest, f"it takes {listed(required.values())}")


def refuse_gaps(choice: SolverChoice, samples: Views) -> None:
    """Refuse new samples that lack a view if the solver of the fit does not take them, and name one that does."""
    if "gaps" not in choice.solver.supports:
        able = " or ".join(f'"{one.name}"' for one in SOLVERS.values() if "gaps" in one.supports)
        lacking = [name for name, known in zip(samples.names, samples.present, strict=True) if not known.all()]
        msg = (
            f"Some new samples lack the view {lacking[0]!r}, but the model was fitted with "
            f'solver="{choice.solver.name}", which does not take {samples.requirements["gaps"]}: fit it with '
            f"solver={able}, or pass all views."
        )
        raise InvalidInputError(msg)


def _lacking(solver: Solver, required: Mapping[str, str], able: list[Solver]) -> InvalidInputError:
    lacking = [words for name, words in required.items() if name not in solver.supports]
    names = " or ".join(f'"{one.name}"' for one in able)
    cure = f"use solver={names}" if able else f"leave out {lacking[0]}{_or_load(required)}"
    return InvalidInputError(f'solver="{solver.name}" does not take {listed(lacking, "or")}: {cure}.')


def _what(solver: Solver, n: int) -> str:
    return f"The {solver.name} graph of {n} samples"


def _too_large(
    solver: Solver, samples: SampleSet, required: Mapping[str, str], size: Size, free: int
) -> NotEnoughMemoryError:
    need, advice = solver.memory(samples, *size), _advice(solver, samples, required, size, free)
    return NotEnoughMemoryError(
        f"{_what(solver, samples.n_samples or 0)} needs about {gib(need)} of memory, more than the {gib(free)} "
        f"available: {advice}."
    )


def _or_load(required: Mapping[str, str]) -> str:
    """Return the advice to load samples that are read in chunks, if a solver supports everything else."""
    others = {name: words for name, words in required.items() if name != "chunks"}
    able = [one.name for one in SOLVERS.values() if others.keys() <= one.supports]
    if "chunks" not in required or not able:
        return ""
    names = " or ".join(f'"{name}"' for name in able)
    return f", or load X as a table in memory, of which solver={names} takes {listed(others.values())}"


def _advice(solver: Solver, samples: SampleSet, required: Mapping[str, str], size: Size, free: int) -> str:
    """Return what to do if a solver needs too much memory: a choice that fits, or else fewer samples."""
    need = solver.memory(samples, *size)
    single = False
    lowered = "float64" in solver.supports and "float64" not in required
    if lowered and not isinstance(samples, Chunks) and samples.dtype == np.float64:
        same = {name: getattr(samples, name) for name in ("n_samples", "shape", "n_numbers")}
        half = SimpleNamespace(**same, dtype=np.dtype(np.float32))
        single = solver.memory(half, *size) <= free
    precision = ', or dtype="float32"' if single else ""
    needs = [(one.memory(samples, *size), one) for one in SOLVERS.values()]
    able = [(other, one) for other, one in needs if other < need and required.keys() <= one.supports]
    for other, one in able:
        if other <= free:
            return f'use solver="{one.name}"{precision}'
    for other, one in needs:
        if other <= free:
            lacking = [words for name, words in required.items() if name not in one.supports]
            return (
                f'take fewer samples{precision}, or solver="{one.name}", which needs less memory but does not take '
                f"{listed(lacking, 'or')}"
            )
    if able and not single:
        leanest = min(able, key=lambda pair: pair[0])[1]
        return f'take fewer samples, and solver="{leanest.name}", which needs less memory'
    return f"take fewer samples{precision}"
