"""The outcome of a fit: the files of a command, and what it prints."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kernelweave._plural import counted, sentence
from kernelweave._shares import percent
from kernelweave.cli._report_content import CONTENT, PageContent, ResultContext
from kernelweave.cli._results import confidence_of, frame_writer, labels_of, rows_writer, write_all

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave.cli._inputs import Inputs

__all__ = ["COMPARISON", "FILES", "METADATA", "keep", "tell"]

FILES = ("labels.csv", "features.csv", "weights.csv", "model.kw", "report.html", CONTENT)
METADATA = "metadata.csv"
COMPARISON = "comparison.csv"
_SHOWN = 20  # groups that are printed


def keep(model: BaseEstimator, inputs: Inputs, folder: Path, context: ResultContext, *, force: bool) -> dict[str, Path]:
    """Write the files of a fitted model; return their paths."""
    from kernelweave.explain import explain_clusters
    from kernelweave.report import write_report

    features = explain_clusters(model, inputs.X, context.y, test=context.test, units=inputs.units)
    content = PageContent(features, context, shlex.join(["kernelweave", *sys.argv[1:]]), inputs.notes)
    names = context.columns(labels_of(model), confidence_of(model), getattr(model, "undecided_", None))
    writers: dict[str, Callable[[Path], object]] = {
        "labels.csv": rows_writer(("id", *names), list(zip(inputs.ids, *names.values(), strict=True))),
        "features.csv": frame_writer(features.features),
        "weights.csv": rows_writer(("view", "kernel", "share"), _weights(model)),
        "model.kw": model.save,
        "report.html": lambda path: write_report(model, path, **content.of_report(inputs.ids)),
        CONTENT: content.write,
    }
    if context.metadata is not None:
        writers[METADATA] = frame_writer(context.metadata.table)
    if context.comparison is not None:
        writers[COMPARISON] = frame_writer(context.comparison.table.reset_index(names="cluster"))
    written = write_all(folder, writers, force=force)
    for name in (METADATA, COMPARISON):
        if name not in written and (folder / name).exists():  # not removed: it may be a file of the user
            msg = f"{folder / name} was there before, and is not of these results: remove it, or move it elsewhere."
            warnings.warn(msg, UserWarning, stacklevel=2)
    return written


def _weights(model: BaseEstimator) -> list[tuple[str, str, str]]:
    """Return the rows of weights.csv: every kernel, then every view if there are several, with "all" its kernels."""
    several = len(model.view_names_) > 1
    kernels = zip(model.kernel_views_, model.kernel_names_, model.kernel_shares_, strict=True)
    rows = [(view if several else "", name, f"{share:.6f}") for view, name, share in kernels]
    views = zip(model.view_names_, model.view_shares_, strict=True) if several else ()
    return rows + [(view, "all", f"{share:.6f}") for view, share in views]


def tell(model: BaseEstimator, files: dict[str, Path], *, as_json: bool, context: ResultContext) -> None:
    """Print the sizes of the clusters or classes, the accuracy on hidden labels, and the paths of the files."""
    import numpy as np

    labels = labels_of(model).astype(str)
    names, sizes = np.unique(labels, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    noun = "cluster" if hasattr(model, "labels_") else "class"
    if as_json:
        found = {
            "model": type(model).__name__,
            "n_samples": len(labels),
            "clusters" if noun == "cluster" else "classes": {str(names[k]): int(sizes[k]) for k in order},
            **_said(model),
            "weights": dict(zip(model.kernel_names_, map(float, model.kernel_shares_), strict=True)),
            **context.as_json(),
            "files": {name: str(path) for name, path in files.items()},
        }
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(f"{counted(len(labels), 'sample')} in {counted(len(names), noun)}:")
    for k in order[:_SHOWN]:
        typer.echo(f"  {names[k]:>12} {sizes[k]:6} {'sample' if sizes[k] == 1 else 'samples'}")
    if len(names) > _SHOWN:
        typer.echo(f"  ... and {len(names) - _SHOWN} more")
    for line in _sentences(model):
        typer.echo(line)
    if context.check is not None:
        low, high = context.check.interval
        labels_used = counted(context.check.n_labels, "given label")
        parts = counted(context.check.n_splits, "part")  # fewer than asked for if a class has fewer labels
        right = f"{percent(context.check.accuracy, 1)} of {labels_used} ({percent(low)} to {percent(high)}), in {parts}"
        typer.echo(f"Predicted without using them: {right}")
    if context.comparison is not None:
        other, shared = context.comparison, int(context.comparison.counts.sum())
        typer.echo(f"Compared with {other.names[1]}: adjusted Rand index {other.ari:.2f}, {counted(shared, 'sample')}")
    for path in files.values():
        typer.echo(str(path))


def _sentences(model: BaseEstimator) -> list[str]:
    """Return why there are so many clusters, a warning if they are not clear, and how the samples were scaled."""
    from kernelweave.report._words import clarity_words
    from kernelweave.samples.scaling import scaling_words

    evidence = getattr(model, "cluster_evidence_", None)
    number = [] if evidence is None else [f"The number was chosen. {sentence(evidence.words)}"]
    return number + clarity_words(model) + scaling_words(getattr(model, "scaling_", ()))


def _said(model: BaseEstimator) -> dict[str, Any]:
    """Return the same for --json."""
    evidence = getattr(model, "cluster_evidence_", None)
    number = None
    if evidence is not None:
        number = {"chosen": evidence.chosen, "by": evidence.found, "words": evidence.words}
        number["runners_up"] = list(evidence.runners_up)
    versions = [
        {
            "version": version.name,
            "share": version.share,
            "methods": {view: one.method for view, one in version.scalings.items()},
        }
        for version in getattr(model, "scaling_", ())
    ]
    found: dict[str, Any] = {} if number is None else {"number": number}
    if hasattr(model, "clarity_"):
        found["clarity"] = model.clarity_
    return {**found, "scaling": versions}
