"""`kernelweave predict`: clusters or classes of new samples from a fitted model."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelweave.cli import _arguments as option
from kernelweave.cli._option_groups import Reading, with_groups
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave._types import Array, Matrix, Vector
    from kernelweave.cli._inputs import Frames, Inputs
    from kernelweave.tabular import ReadOptions

__all__ = ["predict"]

_HEAD = ("id", "label", "confidence")
_LARGE = 64 * 2**20  # bytes of a file that is read in parts
_ROWS = 50_000  # of a part


@with_groups
def predict(
    model: Annotated[Path, typer.Argument(help="model.kw, or the folder that holds it.")],
    files: option.Files = None,
    view: option.Views = None,
    *,
    reading: Reading,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add a column with the probability of every cluster or class.")
    ] = False,
    chunk_rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Rows of a text or Parquet file that are read at a time, so that it need not fit in memory; 0 for "
            f"all. Not given: {_ROWS:,} if it has more than {_LARGE >> 20} MiB, else 0.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="CSV file to write; printed if not given.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
) -> None:
    """Predict the cluster or class of new samples, with its confidence.

    kernelweave predict data-clusters new.csv --id name
    """
    from kernelweave.cli._against_fit import options_as_fitted
    from kernelweave.cli._inputs import inputs_of, read_files
    from kernelweave.cli._results import check_file, check_target, model_path, rows_writer, write_all
    from kernelweave.cli._working import working

    if out is not None:
        check_file(out)
        if json:
            msg = "--json prints the answers, and --out writes them as CSV: leave one of the two out."
            raise InvalidInputError(msg)
        check_target(out.parent, [out.name], force=force)
    files, view = files or [], view or []
    with working("Reading", quiet=quiet):
        fitted = _predictor(model_path(model))
        read_options = options_as_fitted(reading, fitted, option.paths_of(files, view))
        rows = _rows_at_a_time(files, chunk_rows, alone=not view and not read_options.transpose)
        whole = None if rows else inputs_of(*read_files(files, view, read_options), read_options, fitted=fitted)
    head = (*_HEAD, *(f"p_{name}" for name in _groups(fitted))) if proba else _HEAD
    with working("Predicting", quiet=quiet):
        parts = _in_parts(files[0], read_options, rows, fitted, quiet=quiet) if whole is None else iter([whole])
        answers = (_answered(fitted, part, proba=proba) for part in parts)
        found = chain(next(answers), chain.from_iterable(answers))  # nothing is printed before the first is known
        if out is not None:
            written = write_all(out.parent, {out.name: rows_writer(head, found)}, force=force)
        else:
            _tell(head, found, as_json=json)
    if out is not None and not quiet:
        typer.echo(str(written[out.name]))


def _rows_at_a_time(files: Sequence[Path], asked: int | None, *, alone: bool) -> int:
    """Return how many rows of a file are read at a time, 0 for all."""
    from kernelweave.tabular.table_reader import TEXTS

    parted = alone and len(files) == 1 and files[0].suffix.lower() in (*TEXTS, ".parquet", ".gz")
    if asked and not parted:
        msg = "--chunk-rows reads one text or Parquet file at a time: pass one, without --view and --transpose."
        raise InvalidInputError(msg)
    large = parted and files[0].is_file() and files[0].stat().st_size > _LARGE
    return asked if asked is not None else _ROWS if large else 0


def _in_parts(
    path: Path, read_options: ReadOptions, rows: int, fitted: BaseEstimator, *, quiet: bool
) -> Iterator[Inputs]:
    """Yield the samples of a large file, and say how many are done."""
    from kernelweave._plural import counted
    from kernelweave.cli._inputs import input_parts

    done = 0
    for part in input_parts(path, read_options, rows, fitted):
        yield part
        done += len(part.ids)
        if not quiet:
            typer.echo(f"{counted(done, 'sample')} predicted", err=True)


def _answered(fitted: BaseEstimator, part: Inputs, *, proba: bool) -> list[tuple[str, ...]]:
    """Return id, label, confidence and, if asked for, the probabilities of every sample."""
    from kernelweave.cli._against_fit import say_far

    say_far(part.X, getattr(getattr(fitted, "file_reading_", None), "ranges", {}))
    labels, P, confidence = _answers(fitted, part.X)
    shares = [[f"{share:.6f}" for share in row] for row in P] if proba else [[]] * len(P)
    sure = (f"{share:.4f}" for share in confidence)
    return [(i, str(label), own, *row) for i, label, own, row in zip(part.ids, labels, sure, shares, strict=True)]


def _answers(fitted: BaseEstimator, X: Frames) -> tuple[Array, Matrix, Vector]:
    """Return labels, probabilities and confidence; a model of the package computes all at once.

    The confidence is the largest probability, but of a cluster that of the label: a sample of the fit keeps its
    cluster, which need not be the likeliest one.
    """
    if not hasattr(fitted, "_labels_of"):
        P = fitted.predict_proba(X)
        return fitted.predict(X), P, P.max(axis=1)
    found = fitted._answers(X)
    labels, P = fitted._labels_of(found), fitted._shares_of(found)
    return labels, P, P.max(axis=1) if hasattr(fitted, "classes_") else P[range(len(P)), labels]


def _groups(fitted: BaseEstimator) -> list[str]:
    """Return the names of the classes, or the numbers of the clusters."""
    classes = getattr(fitted, "classes_", None)
    return [str(name) for name in (range(fitted._graph_model.n_groups) if classes is None else classes)]


def _tell(head: Sequence[str], found: Iterable[tuple[str, ...]], *, as_json: bool) -> None:
    """Print ids, labels and confidence as JSON or CSV."""
    from kernelweave.cli._results import write_rows

    if not as_json:
        write_rows(sys.stdout, chain([head], found))
        return
    rows: list[dict[str, Any]] = []
    for name, label, confidence, *shares in found:
        row: dict[str, Any] = {"id": name, "label": label, "confidence": float(confidence)}
        if shares:
            groups = (column.removeprefix("p_") for column in head[3:])
            row["probabilities"] = dict(zip(groups, map(float, shares), strict=True))
        rows.append(row)
    typer.echo(jsonlib.dumps(rows, indent=2))


def _predictor(path: Path) -> BaseEstimator:
    """Return the model in a file; raise if it answers only for the samples it was fitted on."""
    import kernelweave

    fitted = kernelweave.load(path)
    if not hasattr(fitted, "predict_proba"):
        msg = f"{path} holds a {type(fitted).__name__}, which has no answer for new samples: use a model that predicts."
        raise InvalidInputError(msg)
    return fitted
