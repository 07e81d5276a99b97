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
    header: option.Header = None,
    sep: option.Sep = None,
    decimal: option.Decimal = None,
    thousands: option.Thousands = None,
    encoding: option.Encoding = None,
    transpose: option.Transpose = False,
    kernels: option.Kernels = None,
    method: option.Method = "weave",
    solver: option.Solver = "auto",
    scale: option.Scale = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for the results; NAME-classes if not given.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
    seed: option.Seed = 0,
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
    from kernelweave.tabular import Wishes
    from kernelweave.tabular.intake import stem_of

    wishes = Wishes(
        id, labels, frozenset(one_hot or ()), frozenset(drop or ()), header, sep, decimal, thousands, encoding
    )
    model = _model(method, solver, scale, seed)
    if kernels:
        model.set_params(kernels=kernels)
    folder = out or Path(f"{stem_of(files[0]) if files else 'views'}-classes")
    check_target(folder, FILES, force=force)
    need_report_packages()
    with working("Reading", quiet=quiet):
        inputs = read_inputs(files or (), view or (), wishes, one_hot=one_hot or (), transpose=transpose)
    known = inputs.labels or []
    given = [label is not None for label in known]
    text = f"Classifying {counted(len(given), 'sample')} from {counted(sum(given), 'label')}"
    with working(text, quiet=quiet):
        model.fit(inputs.X, partial_labels(known))
    with working("Writing the results", quiet=quiet):
        written = keep(model, inputs, folder, labelled=given)
    tell(model, written, as_json=json, n_labelled=sum(given))


def _model(method: str, solver: str, scale: str, seed: int) -> BaseEstimator:
    name = option.one_of("--method", method, option.METHODS)
    chosen = option.check_solver(name, solver)
    scaling = option.check_scale(name, scale)
    from kernelweave import SMKLClassifier, WeaveClassifier

    if name == "weave":
        return WeaveClassifier(solver=chosen, scale=scaling, random_state=seed)
    return SMKLClassifier(random_state=seed)
