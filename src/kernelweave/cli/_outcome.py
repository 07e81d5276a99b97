"""What a command has found: its files, and what it prints."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kernelweave.cli._results import labels_of, rows_writer, write_all

if TYPE_CHECKING:
    from kernelweave.cli._samples import Samples

__all__ = ["FILES", "keep", "tell"]

FILES = ("labels.csv", "weights.csv", "model.kw", "report.html")


def keep(model: Any, samples: Samples, folder: Path, **content: Any) -> dict[str, Path]:
    """Write labels.csv, weights.csv, model.kw and report.html of a fitted model."""
    from kernelweave.report import write_report

    shares = [(name, f"{share:.6f}") for name, share in zip(model.kernel_names_, model.kernel_shares_, strict=True)]
    content |= {"X": samples.X, "ids": samples.ids, "command": shlex.join(["kernelweave", *sys.argv[1:]])}
    return write_all(
        folder,
        {
            "labels.csv": rows_writer(("id", "label", "confidence"), labels_of(model, samples.ids)),
            "weights.csv": rows_writer(("kernel", "share"), shares),
            "model.kw": model.save,
            "report.html": lambda path: write_report(model, path, **content),
        },
    )


def tell(model: Any, files: dict[str, Path], *, as_json: bool, **more: Any) -> None:
    """Print what was found and where it lies."""
    import numpy as np

    kind = "clusters" if hasattr(model, "labels_") else "classes"
    labels = np.asarray(model.labels_ if kind == "clusters" else model.transduction_).astype(str)
    names, sizes = np.unique(labels, return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    if as_json:
        found = {
            "model": type(model).__name__,
            "n_samples": len(labels),
            kind: {str(names[k]): int(sizes[k]) for k in order},
            "weights": dict(zip(model.kernel_names_, map(float, model.kernel_shares_), strict=True)),
            **more,
            "files": {name: str(path) for name, path in files.items()},
        }
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(f"{len(labels)} samples in {len(names)} {kind}:")
    for k in order[:20]:
        typer.echo(f"  {names[k]:>12} {sizes[k]:6} samples")
    if len(names) > 20:
        typer.echo(f"  ... and {len(names) - 20} more")
    for path in files.values():
        typer.echo(str(path))
