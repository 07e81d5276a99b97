"""`kernelweave inspect`: what is understood of files, and what would be done with them, without doing it."""

from __future__ import annotations

import json as jsonlib
import warnings
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelweave.cli import _arguments as option
from kernelweave.cli._option_groups import Reading, with_groups
from kernelweave.cli._working import working

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.cli._inputs import ViewFile
    from kernelweave.errors import InvalidInputError
    from kernelweave.tabular import Problem, ReadOptions

__all__ = ["inspect"]

_SHOWN = 40  # columns that are printed
_WIDTH = 60  # characters of a cell that are printed


@with_groups
def inspect(
    files: option.Files = None,
    view: option.Views = None,
    labels: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of the classes.")] = None,
    *,
    reading: Reading,
    json: option.Json = False,
) -> None:
    """Show how files would be read: every column, its kind, missing cells, range or categories, and what is done.

    Nothing is computed or written. The exit code is 0 if the files can be used as they are, and 2 if not.

    kernelweave inspect data.csv
    """
    from kernelweave.cli._inputs import read_files

    read_options = reading.options(option.paths_of(files or (), view or ()), labels)
    with working("Reading", quiet=json):
        found, problems = read_files(files or (), view or (), read_options)
        refused = _refusal(found, problems, read_options)
        unsettled = () if refused is None else _unsettled(refused)
        views = {name: _understood(each, unsettled, labels) for name, each in found.items()}
    if json:
        listed = [] if refused is None else _listed(refused)
        typer.echo(jsonlib.dumps({"views": views, "problems": listed}, indent=2, ensure_ascii=False))
    else:
        for name, understood in views.items():
            _tell(name, understood)
    if refused is not None:
        if not json:
            typer.echo("\nThe files cannot be used as they are:")
            typer.echo(str(refused))
        raise typer.Exit(2)


def _refusal(
    found: Mapping[str, ViewFile], problems: list[tuple[str, Problem]], read_options: ReadOptions
) -> InvalidInputError | None:
    """Return the error with which `cluster`, or `classify` with labels, would refuse the files; None if not."""
    from kernelweave.cli._given_labels import refuse_copies
    from kernelweave.cli._inputs import inputs_of
    from kernelweave.errors import InvalidInputError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in the tables
        try:
            inputs = inputs_of(found, problems, read_options, fill=True)
            if inputs.labels is not None:
                refuse_copies(inputs.X, inputs.labels, inputs.ids, str(next(iter(found.values())).path))
        except InvalidInputError as error:
            return error
    return None


def _unsettled(refused: InvalidInputError) -> set[str]:
    """Return the columns whose problems an option must solve."""
    problems = [problem for _, problem in getattr(refused, "problems", ())]
    dropped = {str(way.options["drop"]) for problem in problems for way in problem.ways if "drop" in way.options}
    return dropped.union(*(problem.columns for problem in problems))


def _listed(refused: InvalidInputError) -> list[str]:
    problems = getattr(refused, "problems", None)
    return [str(refused)] if problems is None else [f"{source}: {problem.text}" for source, problem in problems]


def _understood(view: ViewFile, unsettled: Collection[str], labels: str | None) -> dict[str, Any]:
    """Return what was understood of a table, for JSON."""
    from kernelweave.cli._unrelated_numbers import unrelated_numbers
    from kernelweave.tabular.column_summary import summarise

    table = view.table
    frame = table.frame.drop(columns=[name for name in (*unsettled, labels) if name in table.frame])
    reasons, read = _as_read(frame)
    uses = dict.fromkeys(reasons, "left out") | dict.fromkeys(unsettled, "to be settled")
    uses |= {} if labels is None else {labels: "labels"}
    features = table.frame.drop(
        columns=[name for name, use in uses.items() if use != "feature" and name in table.frame]
    )
    unrelated = unrelated_numbers(features, str(view.path)) if labels is None else []
    columns = [
        {
            "name": column.name,
            "kind": column.kind,
            "missing": column.n_missing,
            "content": column.content,
            "unit": table.units.get(column.name),
            "use": uses.get(column.name, "feature"),
            "reason": reasons.get(column.name),
        }
        for column in summarise(table.frame.assign(**read))
    ]
    return {
        "file": str(view.path),
        "n_samples": len(table.frame),
        "ids": table.ids,
        "id": table.title,
        "notes": [*table.notes, *unrelated],
        "columns": columns,
    }


def _as_read(frame: pd.DataFrame) -> tuple[dict[str, str], dict[str, Any]]:
    """Return why a model would leave columns out, and those of texts that it would read as numbers or dates."""
    import pandas as pd

    from kernelweave.cli._numeric import mixed_reading, unrelated_columns

    reading = mixed_reading(frame)
    if reading is None:
        texts = [name for name in frame if frame[name].dtype.kind not in "biufcmM"]
        return {}, {name: pd.to_numeric(frame[name]) for name in texts}
    read: dict[str, Any] = {}
    for column in reading.columns:
        if frame[column.name].dtype.kind in "biufcmM":
            continue
        if column.kind == "number":
            read[column.name] = pd.to_numeric(frame[column.name])
        elif column.kind == "date":
            read[column.name] = pd.to_datetime(frame[column.name], format="ISO8601", utc=True)
    return reading.left_out | (unrelated_columns(frame) if reading.blocks else {}), read


def _use_of(column: dict[str, Any]) -> str:
    return f"{column['use']}: {column['reason']}" if column["reason"] else str(column["use"])


def _tell(name: str, understood: dict[str, Any]) -> None:
    """Print what was understood of a table."""
    from kernelweave._plural import counted

    columns, ids = understood["columns"], understood["ids"]
    title = f"{understood['file']}" + ("" if name in understood["file"] else f" ({name})")
    typer.echo(f"{title}: {counted(understood['n_samples'], 'row')}, {counted(len(columns), 'column')}")
    called = f" ({understood['id']!r})" if understood["id"] else ""
    shown = "none, so samples are numbered from 1" if ids is None else f"{', '.join(map(repr, ids[:3]))} ..."
    typer.echo(f"  ids{called}: {shown}")
    for note in understood["notes"]:
        typer.echo(f"  {note.removeprefix(understood['file'] + ': ')}")
    rows = [("column", "kind", "missing", "holds", "use")]
    rows += [
        (c["name"], c["kind"], str(c["missing"]), f"{c['content']} {c['unit'] or ''}".strip(), _use_of(c))
        for c in columns[:_SHOWN]
    ]
    lines = [[*(c if len(c) <= _WIDTH else f"{c[: _WIDTH - 3]}..." for c in row[:-1]), row[-1]] for row in rows]
    widths = [max(len(row[i]) for row in lines) for i in range(5)]
    for row in lines:
        typer.echo("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if len(columns) > _SHOWN:
        typer.echo(f"  ... and {counted(len(columns) - _SHOWN, 'more column')}")
