"""The choice of a solver, with its reason; parameters that a solver does not support are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from kernelweave.errors import InvalidInputError, NotEnoughMemoryError
from kernelweave.memory import available_memory, gib
from kernelweave.samples.chunks import Chunks
from kernelweave.samples.reader import SampleSet
from kernelweave.samples.views import Views
from kernelweave.weave.dense import Dense
from kernelweave.weave.landmark.landmark_solver import Landmark
from kernelweave.weave.local.local_solver import Local
from kernelweave.weave.plan import Classes, Clusters, ClusterTask, LabelTask, Plan

__all__ = ["SOLVERS", "Size", "Solver", "SolverChoice", "SolverLike", "choose_solver", "refuse_gaps"]


class Solver(Protocol):
    """Builds the graph of a Weave model.

    A solver declares in `supports` which of these it supports: "views" (several), "gaps" in them, "precomputed"
    kernels, "mixed" tables, "chunks", "auto" number of clusters, a "graph" kind, "gamma", an "embedding", and "float64"
    for double precision.
    """

    name: ClassVar[str]
    supports: ClassVar[frozenset[str]]
    up_to: ClassVar[float]  # the largest number of samples for which "auto" chooses it

    def unsuited(self, n: int) -> str | None:
        """Return why "auto" should not choose it for n samples, up to `up_to`; None if it may."""

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


def choose_solver(solver: SolverLike, samples: SampleSet, required: Mapping[str, str], size: Size) -> SolverChoice:
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
    """
    required = {**required, **samples.requirements}
    able = [one for one in SOLVERS.values() if required.keys() <= one.supports]
    if solver != "auto":
        given = SOLVERS[solver] if isinstance(solver, str) else solver
        if not required.keys() <= given.supports:
            raise _lacking(given, required, able)
        need = given.memory(samples, *size)
        free = available_memory(need)
        if free is not None and need > free:
            raise _too_large(given, samples, need, free, _advice(given, samples, required, size))
        return SolverChoice(given, "it was asked for")
    if not able:
        msg = f"No solver takes {' and '.join(required.values())} together: leave one of them out{_or_load(required)}."
        raise InvalidInputError(msg)
    return _automatic(samples, required, able, size)


def _automatic(samples: SampleSet, required: Mapping[str, str], able: list[Solver], size: Size) -> SolverChoice:
    """Return the first solver that is suited to the number of samples and fits in memory."""
    if isinstance(samples, Chunks):
        return SolverChoice(able[0], "the samples are read in chunks")
    n = samples.n_samples
    passed: list[str] = []
    tried: list[tuple[int, Solver]] = []
    for solver in able:
        need = solver.memory(samples, *size)
        free = available_memory(need)
        tried.append((need, solver))
        reason = ""
        if n > solver.up_to:
            reason = f"{n} samples are more than {int(solver.up_to)}"
        elif free is not None and need > free:
            reason = f"{_what(solver, n)} needs {gib(need)}, more than the {gib(free)} available"
        else:
            reason = solver.unsuited(n) or ""
        if not reason:
            why = passed[-1] if passed else f"{n} samples are few enough to compare each with all others"
            why = f"it takes {' and '.join(required.values())}" if len(able) == 1 else why
            return SolverChoice(solver, why)
        passed.append(reason)
    need, smallest = min(tried, key=lambda pair: pair[0])
    free = available_memory(need)
    if free is not None and need > free:
        raise _too_large(smallest, samples, need, free, _advice(smallest, samples, required, size))
    return SolverChoice(smallest, f"it takes {' and '.join(required.values())}")


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
    return InvalidInputError(f'solver="{solver.name}" does not take {" or ".join(lacking)}: {cure}.')


def _what(solver: Solver, n: int) -> str:
    return f"The {solver.name} graph of {n} samples"


def _too_large(solver: Solver, samples: SampleSet, need: int, free: int, advice: str) -> NotEnoughMemoryError:
    n = samples.n_samples or 0
    return NotEnoughMemoryError(
        f"{_what(solver, n)} needs about {gib(need)} of memory, more than the {gib(free)} available: {advice}."
    )


def _or_load(required: Mapping[str, str]) -> str:
    """Return the advice to load samples that are read in chunks, if a solver supports everything else."""
    others = {name: words for name, words in required.items() if name != "chunks"}
    able = [one.name for one in SOLVERS.values() if others.keys() <= one.supports]
    if "chunks" not in required or not able:
        return ""
    names = " or ".join(f'"{name}"' for name in able)
    return f", or load X as a table in memory, of which solver={names} takes {' and '.join(others.values())}"


def _advice(solver: Solver, samples: SampleSet, required: Mapping[str, str], size: Size) -> str:
    """Return what to do if a solver needs too much memory: a choice that fits, or else fewer samples."""
    need = solver.memory(samples, *size)
    free = available_memory(need) or 0
    # in single precision arrays take half of the memory
    single = (
        "float64" in solver.supports and "float64" not in required and getattr(samples, "dtype", None) == np.float64
    ) and need / 2 <= free
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
                f"{' or '.join(lacking)}"
            )
    if able and not single:
        leanest = min(able, key=lambda pair: pair[0])[1]
        return f'take fewer samples, and solver="{leanest.name}", which needs less memory'
    return f"take fewer samples{precision}"
