"""`kernelweave inspect`: what is understood of files, and what would be done with them, without doing it."""

from __future__ import annotations

import json as jsonlib
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelweave.cli import _arguments as option
from kernelweave.cli._option_groups import with_groups
from kernelweave.cli._reading_options import Reading

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.cli._inputs import ViewFile
    from kernelweave.tabular.problems import Problem

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
    from kernelweave.cli._numeric import usable
    from kernelweave.cli._refusal import refusal

    found, problems = read_files(files or (), view or (), reading.wishes(labels))
    for each in found.values():
        frame = each.table.frame.drop(columns=[name for name in (labels,) if name in each.table.frame])
        _, wrong = usable(frame, gaps=len(found) > 1, fill=True, alike=True, ids=each.table.ids is not None)
        problems += [(str(each.path), problem) for problem in wrong]
    views = {name: _understood(each, problems, labels) for name, each in found.items()}
    if json:
        listed = [f"{source}: {problem.text}" for source, problem in problems]
        typer.echo(jsonlib.dumps({"views": views, "problems": listed}, indent=2, ensure_ascii=False))
    else:
        for name, understood in views.items():
            _tell(name, understood)
    if problems:
        if not json:
            typer.echo("\nThe files cannot be used as they are:")
            typer.echo(refusal(problems))
        raise typer.Exit(2)


def _understood(view: ViewFile, problems: list[tuple[str, Problem]], labels: str | None) -> dict[str, Any]:
    """Return what was understood of a table, for JSON."""
    from kernelweave.tabular.summary import summarise

    table = view.table
    unsettled = {str(way.options["drop"]) for _, problem in problems for way in problem.ways if "drop" in way.options}
    uses = _left_out(table.frame.drop(columns=[name for name in (*unsettled, labels) if name in table.frame]))
    uses |= dict.fromkeys(unsettled, "to be settled")
    uses |= {} if labels is None else {labels: "labels"}
    columns = [
        {
            "name": column.name,
            "kind": column.kind,
            "missing": column.n_missing,
            "content": column.content,
            "unit": table.units.get(column.name),
            "use": uses.get(column.name, "feature"),
        }
        for column in summarise(table.frame)
    ]
    return {
        "file": str(view.path),
        "n_samples": len(table.frame),
        "ids": table.ids,
        "id": table.title,
        "notes": list(table.notes),
        "columns": columns,
    }


def _left_out(frame: pd.DataFrame) -> dict[str, str]:
    """Return the columns that a model would leave out of a mixed table."""
    from kernelweave.errors import InvalidInputError
    from kernelweave.samples.mixed_table import fit_mixed, is_mixed

    if not is_mixed(frame):
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reading, _ = fit_mixed(frame, "X")
        except InvalidInputError:  # no column tells samples apart
            return dict.fromkeys(map(str, frame), "left out")
    return dict.fromkeys(reading.left_out, "left out")


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
        (c["name"], c["kind"], str(c["missing"]), f"{c['content']} {c['unit'] or ''}".strip(), c["use"])
        for c in columns[:_SHOWN]
    ]
    lines = [[cell if len(cell) <= _WIDTH else f"{cell[: _WIDTH - 3]}..." for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in lines) for i in range(5)]
    for row in lines:
        typer.echo("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if len(columns) > _SHOWN:
        typer.echo(f"  ... and {len(columns) - _SHOWN} more columns")
