"""`kernelweave predict`: what a fitted model says of new samples."""

from __future__ import annotations

import csv
import json as jsonlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelweave.cli import _arguments as option

__all__ = ["predict"]


def predict(
    model: Annotated[Path, typer.Argument(help="model.kw, or the folder that holds it.")],
    files: option.Files = None,
    view: option.Views = None,
    id: option.Id = None,
    one_hot: option.OneHot = None,
    drop: option.Drop = None,
    no_header: option.NoHeader = False,
    out: Annotated[Path | None, typer.Option(help="CSV file to write; else they are printed.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
) -> None:
    """Say the cluster or class of new samples, with its confidence.

    kernelweave predict data-clusters new.csv --id name
    """
    import kernelweave
    from kernelweave.cli._results import check_target, label_rows, model_path, rows_writer, write_all
    from kernelweave.cli._samples import read_samples
    from kernelweave.cli._working import working

    if out is not None:
        check_target(out.parent, [out.name], force=force)
    with working("Reading", quiet=quiet):
        fitted = kernelweave.load(model_path(model))
        samples = read_samples(
            files or (),
            view or (),
            id=id,
            one_hot=one_hot or (),
            drop=drop or (),
            header=not no_header,
            columns=_features(fitted),
            least=1,
        )
    with working(f"Predicting {len(samples.ids)} samples", quiet=quiet):
        found = label_rows(samples.ids, fitted.predict(samples.X), fitted.predict_proba(samples.X).max(axis=1))
    head = ("id", "label", "confidence")
    if out is not None:
        write_all(out.parent, {out.name: rows_writer(head, found)})
    elif json:
        rows = [{"id": row[0], "label": row[1], "confidence": float(row[2])} for row in found]
        typer.echo(jsonlib.dumps(rows, indent=2))
    else:
        csv.writer(sys.stdout, lineterminator="\n").writerows([head, *found])


def _features(fitted: Any) -> list[str] | None:
    names = getattr(fitted, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
