"""`kernelweave cluster`: clusters of the samples in tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kernelweave.cli import _arguments as option
from kernelweave.cli._reading_options import Reading, reads_files
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["cluster"]


@reads_files
def cluster(
    files: option.Files = None,
    clusters: Annotated[str, typer.Option("-k", "--clusters", help="The number of clusters, or auto.")] = "auto",
    view: option.Views = None,
    *,
    reading: Reading,
    kernels: option.Kernels = None,
    method: option.Method = "weave",
    solver: option.Solver = "auto",
    scale: option.Scale = "auto",
    metadata: option.MetadataFile = None,
    metadata_columns: option.MetadataColumns = None,
    compare: option.Compare = None,
    test_features: option.TestFeatures = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; NAME-clusters if not given.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
    seed: option.Seed = 0,
) -> None:
    """Cluster the samples of one table, or of several views, and write labels, features, weights, model and report.

    kernelweave cluster data.csv -k 5 --id name
    """
    from kernelweave._plural import counted
    from kernelweave.cli._as_fitted import reading_of
    from kernelweave.cli._beside import compared, metadata_beside
    from kernelweave.cli._inputs import read_inputs
    from kernelweave.cli._outcome import BESIDE, COMPARED, FILES, keep, tell
    from kernelweave.cli._report_content import Beside, need_report_packages
    from kernelweave.cli._results import check_target, labels_of
    from kernelweave.cli._working import working
    from kernelweave.explain import associate

    columns = metadata_columns or []
    wishes = reading.wishes(without=columns)
    model = _model(method, solver, scale, clusters, seed)
    if kernels:
        model.set_params(kernels=kernels)
    folder = out or Path(f"{_name(files, view)}-clusters")
    more = [name for name, asked in ((BESIDE, metadata or columns), (COMPARED, compare)) if asked]
    check_target(folder, (*FILES, *more), force=force)
    need_report_packages()
    with working("Reading", quiet=quiet):
        mixed, fill = kernels == "mixed", kernels is None and method in option.METHODS
        inputs = read_inputs(files or (), view or (), wishes, mixed=mixed, fill=fill)
        if inputs.kernels is not None:
            model.set_params(kernels=inputs.kernels)
        paths = option.paths_of(files, view)
        beside = metadata_beside(inputs.ids, metadata, columns, paths, wishes)
    with working(f"Clustering {counted(len(inputs.ids), 'sample')}", quiet=quiet):
        model.fit(inputs.X)
        model.file_reading_ = reading_of(wishes, paths, inputs.title)
    with working("Writing the results", quiet=quiet):
        along = None if beside is None else associate(model, beside, random_state=seed)
        other = None if compare is None else compared(labels_of(model), inputs.ids, compare, wishes)
        source = ", ".join(path.name for path in paths)
        known = Beside(source, metadata=along, test=test_features, comparison=other)
        written = keep(model, inputs, folder, known, force=force)
    tell(model, written, as_json=json, beside=known)


def _model(method: str, solver: str, scale: str, clusters: str, seed: int) -> BaseEstimator:
    if option.is_plugin(method):
        from sklearn.base import ClusterMixin

        return option.plugin_model(method, ClusterMixin, solver, n_clusters=_number(clusters), random_state=seed)
    name = option.one_of("--method", method, option.METHODS)
    chosen = option.check_solver(name, solver)
    scaling = option.one_of("--scale", scale, option.SCALES)
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


def _name(files: list[Path] | None, views: list[str] | None) -> str:
    from kernelweave.tabular.intake import stem_of

    return stem_of(files[0]) if files else "views" if views else "data"
