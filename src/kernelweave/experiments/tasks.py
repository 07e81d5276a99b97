"""An experiment as a list of tasks in a fixed order, each with the rows that it computes."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, product
from typing import Any, TypeAlias

from kernelweave.experiments.choices import Kind, Parameters, Preprocessing, Split
from kernelweave.experiments.data import Identity, identify
from kernelweave.experiments.methods import estimator_class, shares_a_fit
from kernelweave.experiments.spec import Grid, Method, Spec, Stage
from kernelweave.kernels import recipe

__all__ = ["Place", "Point", "Setting", "Task", "expand", "expand_best", "n_settings", "two_stages"]

Setting: TypeAlias = tuple[str, str, str]  # parameters as JSON, kernel, preprocessing
Place: TypeAlias = tuple[str, str, float | None]  # data set, method, share of labels


@dataclass(frozen=True)
class Point:
    """One row to compute: a setting, the kernel if there is a single one, and the seed of the repeat or draw."""

    parameters: Parameters
    kernel: str
    seed: int


@dataclass(frozen=True)
class Task:
    """Rows that are computed together: they share a fit or a path of warm starts, or are batched as they are short."""

    experiment: str
    preset: str
    kind: Kind
    data: Identity
    method: Method | None
    points: tuple[Point, ...]
    protocol: Split | None = None
    fraction: float | None = None
    path: bool = False
    preprocessing: Preprocessing = "none"

    @cached_property
    def row_keys(self) -> tuple[str, ...]:
        """A digest that identifies each row by data, method, parameters, kernel, seed and split."""
        return tuple(_digest(self._identity(point)) for point in self.points)

    @cached_property
    def name(self) -> str:
        """The stem of the file that stores the rows."""
        slug = re.sub(r"[^a-z0-9]+", "-", f"{self.data.name}-{self.label}".lower())
        return f"{slug}-{_digest(self.row_keys)[:16]}"

    @property
    def label(self) -> str:
        """The method, or the kind of experiment without one."""
        return self.method.name if self.method else self.kind

    @property
    def place(self) -> Place:
        """The cell of the table that the rows belong to."""
        return self.data.name, self.method.name if self.method else "", self.fraction

    def setting(self, point: Point) -> Setting:
        """Return what is searched over: parameters, kernel and preprocessing."""
        given = self.method.parameters if self.method else {}
        return json.dumps({**given, **point.parameters}, sort_keys=True), point.kernel, self.preprocessing

    @property
    def cost(self) -> float:
        """A rough estimate of the work, for the remaining time."""
        fits = len({json.dumps(p.parameters, sort_keys=True) + p.kernel for p in self.points})
        if self.fraction is not None:
            fits = len(self.points)
        return fits * math.pow(max(self.data.n_samples, 100), 2.5)

    def _identity(self, point: Point) -> dict[str, Any]:
        method = self.method
        if method is None:
            return {"data": self.data.sha256, "kind": self.kind}
        identity = {
            "data": self.data.sha256,
            "method": [method.name, method.estimator, method.input, method.kernels],
            "parameters": {**method.parameters, **point.parameters},
            "kernel": point.kernel,
            "seed": point.seed,
            "split": [self.protocol, self.fraction],
        }
        if self.preprocessing != "none":
            identity["preprocessing"] = self.preprocessing
        if self.path:  # with warm starts a row depends on the rows before it in its block
            identity["path"] = [p.parameters for p in self.points]
        return identity


def expand(spec: Spec) -> list[Task]:
    """Return the tasks of an experiment, small data sets first, otherwise in the order of the file.

    With a coarse stage, a method that has more settings than the stage keeps gets its first draws only: `expand_best`
    returns the rest once their rows are known.
    """
    tasks = []
    for data in _identities(spec):
        if spec.kind == "data":
            tasks.append(Task(spec.name, spec.preset, spec.kind, data, None, (Point({}, "", 0),)))
            continue
        for method in spec.methods:
            seeds = spec.seeds(method, data.name)
            stage = two_stages(spec, method, data.name)
            tasks += _of_method(spec, data, method, seeds[: stage.draws] if stage else seeds)
    return _without_repetition(tasks)


def expand_best(spec: Spec, best: Mapping[Place, Sequence[Setting]]) -> list[Task]:
    """Return the tasks of the second stage: the remaining draws of the best settings of every place."""
    tasks = []
    for data in _identities(spec):
        for method in spec.methods:
            if stage := two_stages(spec, method, data.name):
                rest = spec.seeds(method, data.name)[stage.draws :]
                every = _of_method(spec, data, method, rest)
                tasks += [t for t in every if any(t.setting(p) in best.get(t.place, ()) for p in t.points)]
    return _without_repetition(tasks)


def two_stages(spec: Spec, method: Method, dataset: str) -> Stage | None:
    """Return the coarse stage of a method that has more settings and draws than this stage keeps, else None."""
    stage = spec.coarse_stage(method, dataset)
    if stage is None or len(spec.seeds(method, dataset)) <= stage.draws:
        return None
    return stage if n_settings(method, dataset, spec.preset) > stage.keep else None


def n_settings(method: Method, dataset: str, preset: str) -> int:
    """Return the number of settings that an experiment's file gives a method on a data set."""
    found = {
        (json.dumps(setting, sort_keys=True), way, kernel)
        for grid in method.grids_for(dataset, preset)
        for setting in grid.settings()
        for way in grid.preprocessing
        for bank in grid.kernels or (method.kernels,)
        for kernel in _kernel_names(method, bank)
    }
    return len(found)


def _identities(spec: Spec) -> list[Identity]:
    return sorted((identify(name) for name in spec.datasets), key=lambda identity: identity.n_samples)


def _of_method(spec: Spec, data: Identity, method: Method, seeds: range) -> Iterator[Task]:
    searched = [
        (grid, way, bank, kernel)
        for grid in method.grids_for(data.name, spec.preset)
        for way in grid.preprocessing
        for bank in grid.kernels or (method.kernels,)
        for kernel in _kernel_names(method, bank)
    ]
    for fraction, (grid, way, bank, kernel) in product(spec.fractions or (None,), searched):
        given = replace(method, kernels=bank)
        protocol = spec.protocol if fraction is not None else None
        wanted = spec.seeds(method, data.name) if grid.all_draws else seeds
        for block in _blocks(grid):
            for some in _seed_groups(spec, method, wanted, block, path=grid.path):
                points = tuple(Point(parameters, kernel, seed) for parameters in block for seed in some)
                yield Task(
                    spec.name, spec.preset, spec.kind, data, given, points, protocol, fraction, grid.path, way
                )  # fmt: skip


def _kernel_names(method: Method, bank: str) -> tuple[str, ...]:
    """Return the names of the inputs that a method is run on; kernels of a recipe that is not its own name it."""
    if method.input == "each-kernel":
        of_bank = "" if bank == method.kernels else f" of {bank}"
        return tuple(f"{name}{of_bank}" for name in recipe(bank).names)
    return ({"kernels": bank, "mean-kernel": f"mean of {bank}"}.get(method.input, ""),)


def _blocks(grid: Grid) -> list[list[Parameters]]:
    """Return the settings in blocks of one task each: a path over alpha, or single settings."""
    settings = grid.settings()
    if not grid.path:
        return [[setting] for setting in settings]
    settings.sort(key=lambda s: (_others(s), s["alpha"]))
    return [list(block) for _, block in groupby(settings, key=_others)]


def _others(setting: Parameters) -> str:
    return json.dumps({name: value for name, value in setting.items() if name != "alpha"}, sort_keys=True)


def _seed_groups(
    spec: Spec, method: Method, seeds: range, block: list[Parameters], *, path: bool
) -> list[tuple[int, ...]]:
    """Return the seeds in groups of one task each: all of them if they share a fit, else `batch`, or one on a path."""
    cls = estimator_class(method.estimator, spec.kind)
    if not spec.classifies and all(shares_a_fit(cls, {**method.parameters, **setting}) for setting in block):
        return [tuple(seeds)]
    size = 1 if path else method.batch
    return [tuple(seeds[i : i + size]) for i in range(0, len(seeds), size)]


def _without_repetition(tasks: list[Task]) -> list[Task]:
    """Drop tasks whose rows are all in earlier tasks, since the grids of a method may overlap."""
    seen: set[str] = set()
    kept = []
    for task in tasks:
        if not seen.issuperset(task.row_keys):
            kept.append(task)
            seen.update(task.row_keys)
    return kept


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
