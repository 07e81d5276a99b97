"""`kernelweave predict`: clusters or classes of new samples from a fitted model."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelweave.cli import _arguments as option
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

__all__ = ["predict"]

_HEAD = ("id", "label", "confidence")


def predict(
    model: Annotated[Path, typer.Argument(help="model.kw, or the folder that holds it.")],
    files: option.Files = None,
    view: option.Views = None,
    id: option.Id = None,
    drop: option.Drop = None,
    header: option.Header = None,
    sep: option.Sep = None,
    decimal: option.Decimal = None,
    thousands: option.Thousands = None,
    encoding: option.Encoding = None,
    transpose: option.Transpose = False,
    out: Annotated[Path | None, typer.Option(help="CSV file to write; printed if not given.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
) -> None:
    """Predict the cluster or class of new samples, with its confidence.

    kernelweave predict data-clusters new.csv --id name
    """
    from kernelweave._plural import counted
    from kernelweave.cli._inputs import read_inputs
    from kernelweave.cli._results import check_target, label_rows, model_path, rows_writer, write_all
    from kernelweave.cli._working import working
    from kernelweave.tabular import Wishes

    wishes = Wishes(id, None, frozenset(), frozenset(drop or ()), header, sep, decimal, thousands, encoding)
    if out is not None:
        check_target(out.parent, [out.name], force=force)
    with working("Reading", quiet=quiet):
        fitted = _predictor(model_path(model))
        inputs = read_inputs(
            files or (),
            view or (),
            wishes,
            transpose=transpose,
            fitted=fitted,
            least=1,
        )
    with working(f"Predicting {counted(len(inputs.ids), 'sample')}", quiet=quiet):
        found = label_rows(inputs.ids, fitted.predict(inputs.X), fitted.predict_proba(inputs.X).max(axis=1))
    if out is not None:
        write_all(out.parent, {out.name: rows_writer(_HEAD, found)}, force=force)
    else:
        _tell(found, as_json=json)


def _tell(found: Sequence[tuple[str, str, str]], *, as_json: bool) -> None:
    """Print ids, labels and confidence as JSON or CSV."""
    from kernelweave.cli._formula_guard import write_rows

    if as_json:
        rows = [{"id": row[0], "label": row[1], "confidence": float(row[2])} for row in found]
        typer.echo(jsonlib.dumps(rows, indent=2))
    else:
        write_rows(sys.stdout, [_HEAD, *found])


def _predictor(path: Path) -> BaseEstimator:
    """Return the model in a file; raise if it answers only for the samples it was fitted on."""
    import kernelweave

    fitted = kernelweave.load(path)
    if not hasattr(fitted, "predict_proba"):
        msg = f"{path} holds a {type(fitted).__name__}, which has no answer for new samples: use a model that predicts."
        raise InvalidInputError(msg)
    return fitted
