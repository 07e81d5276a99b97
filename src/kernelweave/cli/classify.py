"""`kernelweave classify`: classes of all samples, from the few labels in a column."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelweave.cli import _arguments as option
from kernelweave.cli._reading_options import Reading, reads_files
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave._types import Array
    from kernelweave.cli._inputs import Frames
    from kernelweave.explain import LabelCheck

__all__ = ["classify"]


@reads_files
def classify(
    files: option.Files = None,
    labels: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column of the classes; empty means unlabelled.")
    ] = None,
    labels_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A table of ids and classes, if the classes are in a file of their own."),
    ] = None,
    view: option.Views = None,
    *,
    reading: Reading,
    kernels: option.Kernels = None,
    method: option.Method = "weave",
    solver: option.Solver = "auto",
    scale: option.Scale = "auto",
    metadata: option.MetadataFile = None,
    metadata_columns: option.MetadataColumns = None,
    test_features: option.TestFeatures = False,
    folds: Annotated[
        int, typer.Option(help="Parts of the labels that are predicted from the others; 0 for no cross-validation.")
    ] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; NAME-classes if not given.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
    seed: option.Seed = 0,
) -> None:
    """Predict the class of every sample from a few labels, and write labels, features, weights, model and report.

    kernelweave classify data.csv --labels species
    """
    from kernelweave._plural import counted
    from kernelweave.cli._as_fitted import reading_of
    from kernelweave.cli._beside import labels_beside, metadata_beside
    from kernelweave.cli._inputs import partial_labels, read_inputs
    from kernelweave.cli._outcome import BESIDE, FILES, keep, tell
    from kernelweave.cli._report_content import Beside, need_report_packages
    from kernelweave.cli._results import check_target
    from kernelweave.cli._working import working
    from kernelweave.explain import associate
    from kernelweave.tabular.intake import stem_of

    _check_options(labels, labels_file, folds)
    columns = metadata_columns or []
    wishes = reading.wishes(labels if labels_file is None else None, without=columns)
    model = _model(method, solver, scale, seed)
    if kernels:
        model.set_params(kernels=kernels)
    folder = out or Path(f"{stem_of(files[0]) if files else 'views'}-classes")
    check_target(folder, (*FILES, BESIDE) if metadata or columns else FILES, force=force)
    need_report_packages()
    with working("Reading", quiet=quiet):
        mixed, fill = kernels == "mixed", kernels is None and method in option.METHODS
        inputs = read_inputs(files or (), view or (), wishes, mixed=mixed, fill=fill)
        if inputs.kernels is not None:
            model.set_params(kernels=inputs.kernels)
        known = inputs.labels or []
        if labels_file is not None:
            known = labels_beside(inputs.ids, labels_file, labels, wishes)
        paths = option.paths_of(files, view)
        beside = metadata_beside(inputs.ids, metadata, columns, paths, wishes)
    y = partial_labels(known)
    given = sum(label is not None for label in known)
    with working(f"Classifying {counted(len(known), 'sample')} from {counted(given, 'label')}", quiet=quiet):
        model.fit(inputs.X, y)
        model.file_reading_ = reading_of(wishes, paths, inputs.title)
    with working("Checking the labels", quiet=quiet):
        check = _checked(model, inputs.X, y, folds)
    with working("Writing the results", quiet=quiet):
        compared = None if beside is None else associate(model, beside)
        name = ", ".join(path.name for path in paths)
        told = Beside(name, known, y, check, compared, test_features)
        written = keep(model, inputs, folder, told, force=force)
    tell(model, written, as_json=json, beside=told)


def _check_options(labels: str | None, labels_file: Path | None, folds: int) -> None:
    if labels is None and labels_file is None:
        msg = "classify needs labels: name their column with --labels, or a file of ids and classes with --labels-file."
        raise InvalidInputError(msg)
    if folds < 0 or folds == 1:
        msg = f"--folds must be 0, or 2 or more; got {folds}."
        raise InvalidInputError(msg)


def _checked(model: BaseEstimator, X: Frames, y: Array, folds: int) -> LabelCheck | None:
    """Return the cross-validated accuracy; None if it was not asked for, or if a class has too few labels."""
    from kernelweave.explain import check_labels

    if folds == 0:
        return None
    try:
        return check_labels(model, X, y, n_splits=folds)
    except InvalidInputError as error:
        warnings.warn(f"No cross-validated accuracy: {error}", UserWarning, stacklevel=2)
        return None


def _model(method: str, solver: str, scale: str, seed: int) -> BaseEstimator:
    if option.is_plugin(method):
        from sklearn.base import ClassifierMixin

        return option.plugin_model(method, ClassifierMixin, solver)
    name = option.one_of("--method", method, option.METHODS)
    chosen = option.check_solver(name, solver)
    scaling = option.one_of("--scale", scale, option.SCALES)
    from kernelweave import SMKLClassifier, WeaveClassifier

    if name == "weave":
        return WeaveClassifier(solver=chosen, scale=scaling, random_state=seed)
    return SMKLClassifier(scale=scaling, random_state=seed)
