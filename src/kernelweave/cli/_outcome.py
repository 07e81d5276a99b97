"""The outcome of a fit: the files of a command, and what it prints."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from kernelweave._plural import counted
from kernelweave.cli._report_content import CONTENT, content_writer
from kernelweave.cli._results import confidence_of, label_rows, labels_of, rows_writer, write_all

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave.cli._inputs import Inputs

__all__ = ["FILES", "keep", "tell"]

FILES = ("labels.csv", "weights.csv", "model.kw", "report.html", CONTENT)
_SHOWN = 20  # groups that are printed


def keep(
    model: BaseEstimator, inputs: Inputs, folder: Path, *, labelled: Sequence[bool] | None = None
) -> dict[str, Path]:
    """Write the files of a fitted model; return their paths."""
    from kernelweave.report import group_features, write_report

    features = group_features(model, inputs.X)
    command = shlex.join(["kernelweave", *sys.argv[1:]])

    def write_page(path: Path) -> None:
        write_report(model, path, features=features, ids=inputs.ids, labelled=labelled, command=command)

    return write_all(
        folder,
        {
            "labels.csv": rows_writer(
                ("id", "label", "confidence"), label_rows(inputs.ids, labels_of(model), confidence_of(model))
            ),
            "weights.csv": rows_writer(("view", "kernel", "share"), _weights(model)),
            "model.kw": model.save,
            "report.html": write_page,
            CONTENT: content_writer(features, labelled, command),
        },
    )


def _weights(model: BaseEstimator) -> list[tuple[str, str, str]]:
    """Return the rows of weights.csv: every kernel, then every view if there are several, with "all" its kernels."""
    several = len(model.view_names_) > 1
    kernels = zip(model.kernel_views_, model.kernel_names_, model.kernel_shares_, strict=True)
    rows = [(view if several else "", name, f"{share:.6f}") for view, name, share in kernels]
    views = zip(model.view_names_, model.view_shares_, strict=True) if several else ()
    return rows + [(view, "all", f"{share:.6f}") for view, share in views]


def tell(model: BaseEstimator, files: dict[str, Path], *, as_json: bool, n_labelled: int | None = None) -> None:
    """Print the sizes of the clusters or classes, and the paths of the files."""
    import numpy as np

    labels = labels_of(model).astype(str)
    names, sizes = np.unique(labels, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    noun = "cluster" if hasattr(model, "labels_") else "class"
    evidence = getattr(model, "cluster_evidence_", None)
    if as_json:
        found = {
            "model": type(model).__name__,
            "n_samples": len(labels),
            "clusters" if noun == "cluster" else "classes": {str(names[k]): int(sizes[k]) for k in order},
            **({} if evidence is None else {"chosen": evidence.words, "runners_up": list(evidence.runners_up)}),
            "weights": dict(zip(model.kernel_names_, map(float, model.kernel_shares_), strict=True)),
            **({} if n_labelled is None else {"n_labelled": n_labelled}),
            "files": {name: str(path) for name, path in files.items()},
        }
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(f"{counted(len(labels), 'sample')} in {counted(len(names), noun)}:")
    if evidence is not None:
        typer.echo(f"The number was chosen from the data; {evidence.words}.")
    for k in order[:_SHOWN]:
        typer.echo(f"  {names[k]:>12} {sizes[k]:6} {'sample' if sizes[k] == 1 else 'samples'}")
    if len(names) > _SHOWN:
        typer.echo(f"  ... and {len(names) - _SHOWN} more")
    for path in files.values():
        typer.echo(str(path))
