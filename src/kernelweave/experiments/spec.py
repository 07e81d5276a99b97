"""The definition of an experiment: data sets, methods, grids, repeats, label protocol and selection rule."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kernelweave.errors import InvalidInputError
from kernelweave.experiments._toml import TomlTable, read_toml
from kernelweave.experiments.choices import (
    INPUTS,
    KINDS,
    PREPROCESSINGS,
    SELECTIONS,
    SPLITS,
    Input,
    Kind,
    Parameters,
    Preprocessing,
    Selection,
    Split,
)  # fmt: skip
from kernelweave.experiments.data import known_datasets
from kernelweave.experiments.methods import accepted_parameters, known_estimators
from kernelweave.kernels.recipes import RECIPES
from kernelweave.plugins import plugin_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Coarse", "Grid", "Method", "Spec", "Stage", "available_specs", "load_spec"]

CLASSIFIES: tuple[Kind, ...] = ("classification", "leak")


@dataclass(frozen=True)
class Grid:
    """Values of parameters for some data sets and presets; with `path`, each alpha starts from the one before.

    Every combination of values is run on the samples under each of the `preprocessing` methods and, for a method that
    takes kernels, on those of each recipe in `kernels`; none means the recipe of the method. With `all_draws`, a coarse
    stage runs it on all draws.
    """

    values: dict[str, tuple[Any, ...]]
    datasets: tuple[str, ...]
    presets: tuple[str, ...]
    path: bool
    preprocessing: tuple[Preprocessing, ...] = ("none",)
    kernels: tuple[str, ...] = ()
    all_draws: bool = False

    @property
    def searches(self) -> bool:
        """Whether there is more than one setting."""
        return len(self.settings()) * len(self.preprocessing) * max(1, len(self.kernels)) > 1

    def settings(self) -> list[Parameters]:
        """Return every combination of the values."""
        return [dict(zip(self.values, chosen, strict=True)) for chosen in product(*self.values.values())]


class Stage(NamedTuple):
    """The coarse stage of a search: every setting on the first `draws`, and the best `keep` of them on all draws."""

    draws: int
    keep: int


@dataclass(frozen=True)
class Method:
    """One column of a table: an estimator, its input, its parameters, and the rule that chooses its figure."""

    name: str
    estimator: str
    selection: Selection
    input: Input
    kernels: str
    parameters: Parameters
    grids: tuple[Grid, ...]
    repeats: int
    batch: int
    confirm: bool = False  # run again with twice max_iter what stopped there, and count the labels that change
    coarse: Stage | None = None  # the most draws and settings of a coarse stage, for a slow method

    def grids_for(self, dataset: str, preset: str) -> tuple[Grid, ...]:
        """Return the grids that apply; a method without grids has one setting, its fixed parameters."""
        if not self.grids:
            return (Grid({}, (), (), path=False),)
        return tuple(g for g in self.grids if dataset in g.datasets and preset in g.presets)


@dataclass(frozen=True)
class Coarse:
    """The coarse stage of a preset, by data set."""

    draws: dict[str, int]
    keep: dict[str, int]


@dataclass(frozen=True)
class Spec:
    """An experiment under one of its presets."""

    name: str
    title: str
    kind: Kind
    preset: str
    path: Path
    datasets: tuple[str, ...]
    methods: tuple[Method, ...]
    protocol: Split | None
    fractions: tuple[float, ...]
    draws: dict[str, int]
    most_repeats: int | None
    coarse: Coarse | None = None

    @property
    def classifies(self) -> bool:
        """Whether the methods are given a part of the labels."""
        return self.kind in CLASSIFIES

    @cached_property
    def sha256(self) -> str:
        """Checksum of the file and the preset."""
        return hashlib.sha256(self.content + self.preset.encode()).hexdigest()

    @property
    def filename(self) -> str:
        """The name of the file."""
        return self.path.name

    @property
    def content(self) -> bytes:
        """The file."""
        return self.path.read_bytes()

    def seeds(self, method: Method, dataset: str) -> range:
        """Return the seeds of a method's repeats, or of the draws of labels."""
        if self.classifies:
            return range(self.draws[dataset])
        return range(min(method.repeats, self.most_repeats or method.repeats))

    def coarse_stage(self, method: Method, dataset: str) -> Stage | None:
        """Return the coarse stage of a method's search on a data set; None if the preset has none."""
        if self.coarse is None:
            return None
        stage = Stage(self.coarse.draws[dataset], self.coarse.keep[dataset])
        slow = method.coarse or stage
        return Stage(min(stage.draws, slow.draws), min(stage.keep, slow.keep))

    def narrowed(self, datasets: Iterable[str] | None = None, methods: Iterable[str] | None = None) -> Spec:
        """Return the experiment for some of its data sets and methods, in its own order; case is ignored."""
        kept = _chosen(self.path, "data set", datasets, self.datasets)
        names = _chosen(self.path, "method", methods, tuple(m.name for m in self.methods))
        return replace(self, datasets=kept, methods=tuple(m for m in self.methods if m.name in names))

    def with_rows(self, rows: pd.DataFrame) -> Spec:
        """Return the experiment for the data sets and methods that a table of rows has."""
        present = None if self.kind == "data" else set(rows["method"])
        return self.narrowed(set(rows["dataset"]), present)


def available_specs() -> dict[str, Path]:
    """Return the experiments that come with the package, by name."""
    folder = Path(str(resources.files("kernelweave.experiments"))) / "specs"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_spec(name: str, preset: str = "quick") -> Spec:
    """Read an experiment: one of the package's by its name, or your own by the path of its TOML file.

    Parameters
    ----------
    name : str
        "table1", "table2", "table3", "figure1", "leak", or a path that ends in ".toml".
    preset : str, default="quick"
        A table of ``[presets]`` in the file; "full" is the whole protocol of the paper.

    Returns
    -------
    Spec

    Raises
    ------
    InvalidInputError
        If there is no such experiment, or a value in the file is invalid; the message names its key.
    """
    known = available_specs()
    if name not in known and not (name.endswith(".toml") or Path(name).is_file()):
        msg = f"There is no experiment {name!r}: choose one of {', '.join(known)}, or give the path of a TOML file."
        raise InvalidInputError(msg)
    return _read(read_toml(known.get(name, Path(name))), preset)


def _read(table: TomlTable, preset: str) -> Spec:
    table.only(("name", "title", "kind", "presets", "labels", "methods"))
    kind = table.word("kind", KINDS)
    presets = table.table("presets")
    if preset not in presets:
        table.fail("presets", f"there is no preset {preset!r}; possible are {', '.join(presets.values)}.")
    chosen = presets.table(preset)
    chosen.only(("datasets", "draws", "repeats", "coarse"))
    datasets = chosen.words("datasets", known_datasets())
    if not datasets:
        chosen.fail("datasets", "names no data set.")
    labels: tuple[Split | None, tuple[float, ...], dict[str, int]] = (None, (), {})
    if kind in CLASSIFIES:
        labels = _labels(table, chosen, datasets)
    elif "labels" in table:
        table.fail("labels", f"only a classification draws labels; the kind is {kind!r}.")
    methods = tuple(_method(m, kind, tuple(presets.values)) for m in table.tables("methods"))
    spec = Spec(
        name=table.take("name", str, table.path.stem),
        title=table.take("title", str, ""),
        kind=kind,
        preset=preset,
        path=table.path,
        datasets=datasets,
        methods=methods,
        protocol=labels[0],
        fractions=labels[1],
        draws=labels[2],
        most_repeats=chosen.count("repeats", None),
        coarse=_coarse(chosen, kind, datasets),
    )
    _check_methods(table, spec)
    return spec


def _labels(
    table: TomlTable, preset: TomlTable, datasets: tuple[str, ...]
) -> tuple[Split, tuple[float, ...], dict[str, int]]:
    labels = table.table("labels")
    labels.only(("protocol", "fractions"))
    fractions = labels.take("fractions", list)
    if not fractions or not all(isinstance(f, float) and 0 < f < 1 for f in fractions):
        labels.fail("fractions", f"expected numbers between 0 and 1, got {fractions!r}.")
    protocol = labels.word("protocol", SPLITS)
    return protocol, tuple(fractions), _counts(preset, "draws", datasets)


def _counts(table: TomlTable, key: str, datasets: tuple[str, ...]) -> dict[str, int]:
    """Return a number for every data set, from one number for all or a table."""
    if isinstance(table.take(key, (int, dict)), int):
        return dict.fromkeys(datasets, table.count(key))
    counts = table.table(key)
    counts.only(datasets)
    return {name: counts.count(name) for name in datasets}


def _coarse_table(table: TomlTable, kind: Kind) -> TomlTable | None:
    """Return the table of the coarse stage, checked; None if there is none."""
    if "coarse" not in table:
        return None
    if kind not in CLASSIFIES:
        table.fail("coarse", f"only a search over draws of labels has a coarse stage; the kind is {kind!r}.")
    coarse = table.table("coarse")
    coarse.only(("draws", "keep"))
    return coarse


def _coarse(preset: TomlTable, kind: Kind, datasets: tuple[str, ...]) -> Coarse | None:
    table = _coarse_table(preset, kind)
    return None if table is None else Coarse(_counts(table, "draws", datasets), _counts(table, "keep", datasets))


_METHOD_KEYS = (
    "name", "estimator", "selection", "input", "kernels", "parameters", "grid", "repeats", "batch", "confirm",
    "coarse",
)  # fmt: skip


def _method(table: TomlTable, kind: Kind, presets: tuple[str, ...]) -> Method:
    table.only(_METHOD_KEYS)
    estimator = table.word("estimator", known_estimators(kind))
    accepted = accepted_parameters(estimator, kind)
    parameters = table.table("parameters", {})
    parameters.only(accepted)
    given = table.word("input", INPUTS, "kernels" if "kernels" in accepted else "features")
    if kind != "leak" and given != "features" and not {"kernel", "kernels"} & set(accepted):
        table.fail("input", f"{estimator} takes no kernels; possible is 'features'.")
    if given in ("each-kernel", "mean-kernel") and "kernel" not in accepted:
        table.fail("input", f"{estimator} takes no single kernel; possible are 'kernels' and 'features'.")
    grids = tuple(_grid(g, accepted, presets, given) for g in table.tables("grid"))
    selection = table.word("selection", SELECTIONS, "oracle" if grids or given == "each-kernel" else "fixed")
    if selection == "fixed" and (any(grid.searches for grid in grids) or given == "each-kernel"):
        table.fail("selection", "'fixed' chooses nothing: give each grid one setting, and no search over kernels.")
    return Method(
        name=table.take("name", str, estimator),
        estimator=estimator,
        selection=selection,
        input=given,
        kernels=table.word("kernels", _recipes(), _usual_kernels(kind)),
        parameters=dict(parameters.values),
        grids=grids,
        repeats=table.count("repeats", 1),
        batch=table.count("batch", 1),
        confirm=_confirm(table, accepted, grids),
        coarse=_most(table, kind),
    )


def _most(table: TomlTable, kind: Kind) -> Stage | None:
    coarse = _coarse_table(table, kind)
    return None if coarse is None else Stage(coarse.count("draws"), coarse.count("keep"))


def _recipes() -> tuple[str, ...]:
    return (*RECIPES, *plugin_names("kernels"))


def _usual_kernels(kind: Kind) -> str:
    return "released-7" if kind in CLASSIFIES else "released-12"


def _confirm(table: TomlTable, accepted: tuple[str, ...], grids: tuple[Grid, ...]) -> bool:
    confirm = table.take("confirm", bool, False)
    if confirm and any(grid.path for grid in grids):
        table.fail("confirm", "the runs of a path start from each other and are not repeated: remove path or confirm.")
    if confirm and "max_iter" not in accepted:
        table.fail("confirm", "the estimator has no max_iter to raise.")
    return confirm


def _grid(table: TomlTable, accepted: tuple[str, ...], presets: tuple[str, ...], given: Input) -> Grid:
    reserved = ("datasets", "presets", "path", "preprocessing", "kernels", "all_draws")
    table.only((*reserved, *accepted))
    values = {}
    for key, value in table.values.items():
        if key not in reserved:
            values[key] = tuple(value) if isinstance(value, list) else (value,)
            if not values[key]:
                table.fail(key, "the list is empty, so there is no setting to run.")
    path = table.take("path", bool, False)
    if path and ("alpha" not in values or "scheme" not in accepted):
        table.fail("path", "a path runs over values of alpha of an SMKL, KGL or PMKL estimator.")
    datasets = table.words("datasets", known_datasets(), known_datasets())
    preprocessing = table.words("preprocessing", PREPROCESSINGS, ("none",))
    if not preprocessing:
        table.fail("preprocessing", "the list is empty, so there is no setting to run.")
    kernels = table.words("kernels", _recipes(), ())
    if kernels and given == "features":
        table.fail("kernels", "the input of the method is 'features': remove the key, or give another input.")
    chosen = table.words("presets", presets, presets)
    return Grid(values, datasets, chosen, path, preprocessing, kernels, table.take("all_draws", bool, False))


def _check_methods(table: TomlTable, spec: Spec) -> None:
    names = [method.name for method in spec.methods]
    if spec.kind != "data" and not names:
        table.fail("methods", "there is no [[methods]] table: add one.")
    for method in spec.methods:
        if names.count(method.name) > 1:
            table.fail("methods", f"two methods have the name {method.name!r}.")
        for dataset in spec.datasets:
            if not method.grids_for(dataset, spec.preset):
                problem = (
                    f"no grid of {method.name!r} is for the data set {dataset!r} under the preset {spec.preset!r}."
                )
                table.fail("methods.grid", problem)


def _chosen(path: Path, what: str, wanted: Iterable[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if wanted is None:
        return known
    folded = {name.casefold(): name for name in known}
    unknown = [name for name in wanted if name.casefold() not in folded]
    if unknown:
        cure = f"choose of {', '.join(known)}" if known else f"it has no {what} at all, so give none"
        msg = f"{path} has no {what} {unknown[0]!r} under this preset: {cure}."
        raise InvalidInputError(msg)
    kept = {folded[name.casefold()] for name in wanted}
    return tuple(name for name in known if name in kept)
