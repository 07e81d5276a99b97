"""`kernelweave cluster`: clusters of the samples in tables."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kernelweave.cli import _arguments as option
from kernelweave.cli._fitting import FitOptions, prepare, read_samples
from kernelweave.cli._option_groups import Reading, with_groups
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave.cli._inputs import Frames, Inputs

__all__ = ["cluster"]

_CLASSES = re.compile(
    r"(true|known)?[ _.\-]?(class(es)?|cls|labels?|target|species|diagnosis|clusters?)", re.IGNORECASE
)
_BATCHES = re.compile(
    r"((sample|library|lib|seq|sequencing|assay|study|hospital|lab|laboratory|processing|extraction)[ _.\-]?)?"
    r"(batch(es)?|plate|run|lane|site|cent(er|re)|operator|technician|instrument|sequencer|scanner|machine|chip|slide"
    r"|flow[ _.\-]?cell)([ _.\-]?(ids?|no\.?|nr|num|number|name|code))?",
    re.IGNORECASE,
)


@with_groups
def cluster(
    files: option.Files = None,
    clusters: Annotated[str, typer.Option("-k", "--clusters", help="The number of clusters, or auto.")] = "auto",
    view: option.Views = None,
    *,
    reading: Reading,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; NAME-clusters if not given.")] = None,
    compare: option.Compare = None,
    options: FitOptions,
) -> None:
    """Cluster the samples of one table, or of several views, and write labels, features, weights, model and report.

    kernelweave cluster data.csv -k 5 --id name
    """
    from kernelweave._plural import counted
    from kernelweave.cli._against_fit import reading_of
    from kernelweave.cli._other_tables import compared_with, read_clustering
    from kernelweave.cli._outcome import COMPARISON, FILES, METADATA, keep, tell
    from kernelweave.cli._report_content import ResultContext
    from kernelweave.cli._results import labels_of
    from kernelweave.cli._working import working
    from kernelweave.explain import associate

    files, view = files or [], view or []
    paths = option.paths_of(files, view)
    read_options = reading.options(paths, without=options.columns)
    model = _model(options, clusters)
    folder = out or Path(f"{_name(files, view)}-clusters")
    more = [name for name, asked in ((METADATA, options.has_metadata), (COMPARISON, compare is not None)) if asked]
    prepare(model, options, folder, (*FILES, *more))
    with working("Reading", quiet=options.quiet):
        inputs, metadata = read_samples(model, options, files, view, read_options)
        clustering = [] if compare is None else read_clustering(inputs.ids, compare, read_options)
        _say_classes(inputs.X)
        _say_batches(inputs.X)
        inputs = _say_unrelated(inputs, paths)
    with working(f"Clustering {counted(len(inputs.ids), 'sample')}", quiet=options.quiet):
        model.fit(inputs.X)
        model.file_reading_ = reading_of(read_options, paths, inputs)
    with working("Writing the results", quiet=options.quiet):
        associations = None if metadata is None else associate(model, metadata, random_state=options.seed)
        comparison = None if compare is None else compared_with(labels_of(model), clustering, compare)
        source = ", ".join(path.name for path in paths)
        context = ResultContext(source, metadata=associations, test=options.test_features, comparison=comparison)
        written = keep(model, inputs, folder, context, force=options.force)
    tell(model, written, as_json=options.json, context=context)


def _model(options: FitOptions, clusters: str) -> BaseEstimator:
    method, seed = options.method, options.seed
    if option.is_plugin(method):
        from sklearn.base import ClusterMixin

        settings = {"n_clusters": _number(clusters), "random_state": seed}
        return option.plugin_model(method, ClusterMixin, options.solver, options.given, **settings)
    name = option.one_of("--method", method, option.METHODS)
    chosen = option.check_solver(name, options.solver)
    scaling = option.one_of("--scale", options.scale, option.SCALES)
    number = _number(clusters)
    from kernelweave import SMKLClustering, WeaveClustering

    if name == "weave":
        return WeaveClustering(number, solver=chosen, scale=scaling, random_state=seed)
    if number == "auto":
        msg = "--method smkl needs the number of clusters, such as -k 5; only weave can choose it (auto)."
        raise InvalidInputError(msg)
    return SMKLClustering(number, scale=scaling, random_state=seed)


def _number(text: str) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal() or int(text) < 1:
        msg = f"-k must be a positive whole number, or auto; got {text!r}."
        raise InvalidInputError(msg)
    return int(text)


def _say_classes(X: Frames) -> None:
    """Issue a warning for every feature whose name suggests known classes, and whose values repeat."""
    for frame in X.values() if isinstance(X, dict) else [X]:
        for name in filter(_CLASSES.fullmatch, map(str, frame)):
            if frame[name].nunique() <= len(frame) / 2:
                msg = (
                    f"The name of column {name!r} suggests known classes. It is a feature, so the clusters depend on "
                    f'it. To compare it with the clusters instead, pass --metadata-columns "{name}".'
                )
                warnings.warn(msg, UserWarning, stacklevel=2)


def _say_batches(X: Frames) -> None:
    """Issue a warning for every feature whose name suggests batches, and whose values repeat and are no fractions."""
    for frame in X.values() if isinstance(X, dict) else [X]:
        for name in filter(_BATCHES.fullmatch, map(str, frame)):
            column = frame[name].dropna()
            whole = column.dtype.kind not in "fc" or not (column % 1).any()
            if whole and 2 <= column.nunique() <= len(frame) / 2:
                msg = (
                    f"The name of column {name!r} suggests batches: where, when or how samples were measured. It is a "
                    f'feature, so the clusters may follow it. To leave it out, pass --drop "{name}"; to compare it '
                    f'with the clusters instead, pass --metadata-columns "{name}".'
                )
                warnings.warn(msg, UserWarning, stacklevel=2)


def _say_unrelated(inputs: Inputs, paths: list[Path]) -> Inputs:
    """Issue a warning for numbers with few values that are related to nothing else, and add it to the notes."""
    from kernelweave.cli._unrelated_numbers import unrelated_numbers

    frames = inputs.X if isinstance(inputs.X, dict) else {str(paths[0]): inputs.X}
    told = tuple(note for source, frame in frames.items() for note in unrelated_numbers(frame, source))
    for note in told:
        warnings.warn(note, UserWarning, stacklevel=2)
    return replace(inputs, notes=(*inputs.notes, *told))


def _name(files: list[Path], views: list[str]) -> str:
    from kernelweave.tabular.table_reader import stem_of

    return stem_of(files[0]) if files else "views" if views else "data"
