"""`kernelweave classify`: classes of all samples, from the few labels in a column."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelweave.cli import _arguments as option
from kernelweave.cli._fitting import FitOptions, prepare, read_samples
from kernelweave.cli._option_groups import Reading, with_groups
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave._types import Array
    from kernelweave.cli._inputs import Frames
    from kernelweave.explain import LabelCheck

__all__ = ["classify"]


@with_groups
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
    folds: Annotated[
        int, typer.Option(help="Parts of the labels that are predicted from the others; 0 for no cross-validation.")
    ] = 5,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; NAME-classes if not given.")] = None,
    options: FitOptions,
) -> None:
    """Predict the class of every sample from a few labels, and write labels, features, weights, model and report.

    kernelweave classify data.csv --labels species
    """
    from kernelweave.cli._outcome import FILES, METADATA
    from kernelweave.tabular.table_reader import stem_of

    _check_options(labels, labels_file, folds)
    if labels is not None and labels_file is None:
        _check_column(labels, reading, options)
    files, view = files or [], view or []
    model = _model(options)
    folder = out or Path(f"{stem_of(files[0]) if files else 'views'}-classes")
    prepare(model, options, folder, (*FILES, METADATA) if options.has_metadata else FILES)
    _classified(model, (files, view), reading, (labels, labels_file), options, folder, folds)


def _classified(
    model: BaseEstimator,
    sources: tuple[list[Path], list[str]],
    reading: Reading,
    given: tuple[str | None, Path | None],
    options: FitOptions,
    folder: Path,
    folds: int,
) -> None:
    """Read the samples and their labels, fit the model, check it, and write its results."""
    from kernelweave._plural import counted
    from kernelweave.cli._against_fit import reading_of
    from kernelweave.cli._given_labels import options_beside_labels, partial_labels, refuse_copies, say_alike
    from kernelweave.cli._other_tables import labels_of_samples, read_labels
    from kernelweave.cli._outcome import keep, tell
    from kernelweave.cli._report_content import ResultContext
    from kernelweave.cli._working import working
    from kernelweave.explain import associate

    column, file = given
    paths = option.paths_of(*sources)
    read_options = reading.options(paths, column if file is None else None, without=options.columns)
    with working("Reading", quiet=options.quiet):
        labels_table = None if file is None else read_labels(file, column, read_options)
        if labels_table is not None:
            read_options = options_beside_labels(read_options, str(labels_table.columns[0]), named=column is not None)
        inputs, metadata = read_samples(model, options, *sources, read_options)
        known = inputs.labels or []
        if labels_table is not None and file is not None:
            known = labels_of_samples(inputs.ids, labels_table, file)
        refuse_copies(inputs.X, known, inputs.ids, str(paths[0]))
        say_alike(known)
    y, n = partial_labels(known), sum(label is not None for label in known)
    with working(f"Classifying {counted(len(known), 'sample')} from {counted(n, 'label')}", quiet=options.quiet):
        model.fit(inputs.X, y)
        model.file_reading_ = reading_of(read_options, paths, inputs)
    with working("Checking the labels", quiet=options.quiet):
        check = _checked(model, inputs.X, y, folds)
    with working("Writing the results", quiet=options.quiet):
        associations = None if metadata is None else associate(model, metadata)
        context = ResultContext(
            ", ".join(path.name for path in paths), known, y, check, associations, options.test_features
        )
        written = keep(model, inputs, folder, context, force=options.force)
    tell(model, written, as_json=options.json, context=context)


def _check_options(labels: str | None, labels_file: Path | None, folds: int) -> None:
    if labels is None and labels_file is None:
        msg = "classify needs labels: name their column with --labels, or a file of ids and classes with --labels-file."
        raise InvalidInputError(msg)
    if folds < 0 or folds == 1:
        msg = f"--folds must be 0, or 2 or more; got {folds}."
        raise InvalidInputError(msg)


def _check_column(labels: str, reading: Reading, options: FitOptions) -> None:
    """Refuse a column of labels that another option names too."""
    others = {"--drop": reading.drop, "--metadata-columns": options.columns, "--id": [reading.id]}
    twice = [flag for flag, columns in others.items() if labels in (columns or ())]
    if twice:
        msg = (
            f"--labels and {twice[0]} both name the column {labels!r}. Leave {twice[0]} out: labels have no other use."
        )
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


def _model(options: FitOptions) -> BaseEstimator:
    method, seed = options.method, options.seed
    if option.is_plugin(method):
        from sklearn.base import ClassifierMixin

        return option.plugin_model(method, ClassifierMixin, options.solver, options.given, random_state=seed)
    name = option.one_of("--method", method, option.METHODS)
    chosen = option.check_solver(name, options.solver)
    scaling = option.one_of("--scale", options.scale, option.SCALES)
    from kernelweave import SMKLClassifier, WeaveClassifier

    if name == "weave":
        return WeaveClassifier(solver=chosen, scale=scaling, random_state=seed)
    return SMKLClassifier(scale=scaling, random_state=seed)
