"""`kernelweave classify`: classes from a few labels in a column."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernelweave.cli import _arguments as option
from kernelweave.errors import InvalidInputError

__all__ = ["classify"]


def classify(
    labels: Annotated[str, typer.Option(metavar="COLUMN", help="The column with the classes; blank is unlabelled.")],
    files: option.Files = None,
    view: option.Views = None,
    id: option.Id = None,
    one_hot: option.OneHot = None,
    drop: option.Drop = None,
    no_header: option.NoHeader = False,
    kernels: option.Kernels = None,
    method: Annotated[str, typer.Option(help="weave, the practical default, or smkl, the paper's method.")] = "weave",
    out: Annotated[Path | None, typer.Option(help="Folder for the results; NAME-classes if not given.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
) -> None:
    """Give every sample a class, from the few whose class a column tells, and write labels, weights, model and report.

    kernelweave classify data.csv --labels species
    """
    from kernelweave.cli._outcome import FILES, keep, tell
    from kernelweave.cli._results import check_target
    from kernelweave.cli._samples import partial_labels, read_samples
    from kernelweave.cli._working import working

    folder = out or Path(f"{files[0].stem if files else 'views'}-classes")
    model = _model(method, kernels)
    check_target(folder, FILES, force=force)
    with working("Reading", quiet=quiet):
        samples = read_samples(
            files or (), view or (), id=id, labels=labels, one_hot=one_hot or (), drop=drop or (), header=not no_header
        )
    given = [label is not None for label in samples.labels or ()]
    with working(f"Classifying {len(given)} samples from {sum(given)} labels", quiet=quiet):
        model.fit(samples.X, partial_labels(samples.labels or []))
    with working("Writing the results", quiet=quiet):
        written = keep(model, samples, folder, labelled=given)
    tell(model, written, as_json=json, n_labelled=sum(given))


def _model(method: str, kernels: str | None) -> Any:
    from kernelweave import SMKLClassifier, WeaveClassifier

    if method not in ("weave", "smkl"):
        msg = f"--method must be weave or smkl; got {method!r}."
        raise InvalidInputError(msg)
    return (WeaveClassifier if method == "weave" else SMKLClassifier)(**({"kernels": kernels} if kernels else {}))
