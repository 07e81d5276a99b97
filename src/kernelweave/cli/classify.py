"""`kernelweave classify`: classes of all samples, from the few labels in a column."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelweave.cli import _arguments as option

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["classify"]


def classify(
    labels: Annotated[str, typer.Option(metavar="COLUMN", help="The column of the classes; empty means unlabelled.")],
    files: option.Files = None,
    view: option.Views = None,
    id: option.Id = None,
    one_hot: option.OneHot = None,
    drop: option.Drop = None,
    no_header: option.NoHeader = False,
    kernels: option.Kernels = None,
    method: option.Method = "weave",
    solver: option.Solver = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for the results; NAME-classes if not given.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
) -> None:
    """Predict the class of every sample from a column with few labels, and write labels, weights, model and report.

    kernelweave classify data.csv --labels species
    """
    from kernelweave._plural import counted
    from kernelweave.cli._inputs import partial_labels, read_inputs
    from kernelweave.cli._outcome import FILES, keep, tell
    from kernelweave.cli._report_content import need_report_packages
    from kernelweave.cli._results import check_target
    from kernelweave.cli._working import working

    model = _model(method, solver)
    if kernels:
        model.set_params(kernels=kernels)
    folder = out or Path(f"{files[0].stem if files else 'views'}-classes")
    check_target(folder, FILES, force=force)
    need_report_packages()
    with working("Reading", quiet=quiet):
        inputs = read_inputs(
            files or (), view or (), id=id, labels=labels, one_hot=one_hot or (), drop=drop or (), header=not no_header
        )
    known = inputs.labels or []
    given = [label is not None for label in known]
    text = f"Classifying {counted(len(given), 'sample')} from {counted(sum(given), 'label')}"
    with working(text, quiet=quiet):
        model.fit(inputs.X, partial_labels(known))
    with working("Writing the results", quiet=quiet):
        written = keep(model, inputs, folder, labelled=given)
    tell(model, written, as_json=json, n_labelled=sum(given))


def _model(method: str, solver: str) -> BaseEstimator:
    if option.is_plugin(method):
        from sklearn.base import ClassifierMixin

        return option.plugin_model(method, ClassifierMixin, solver)
    name = option.one_of("--method", method, option.METHODS)
    chosen = option.check_solver(name, solver)
    from kernelweave import SMKLClassifier, WeaveClassifier

    return WeaveClassifier(solver=chosen) if name == "weave" else SMKLClassifier()
