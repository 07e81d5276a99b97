"""The options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Drop", "Files", "Force", "Id", "Json", "Kernels", "NoHeader", "OneHot", "Quiet", "Seed", "Views"]

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Tables with a row for every sample: .csv .tsv .parquet .xlsx .npy .npz .mat .h5ad. "
        "Several are views of the same samples, joined on --id.",
        show_default=False,
    ),
]
Views = Annotated[
    list[str] | None, typer.Option("--view", metavar="NAME=FILE", help="A view with a name of its own; repeat it.")
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column that names the samples.")]
OneHot = Annotated[
    list[str] | None, typer.Option("--one-hot", metavar="COLUMN", help="A category to spread over columns of 0 and 1.")
]
Drop = Annotated[list[str] | None, typer.Option("--drop", metavar="COLUMN", help="A column to leave out; repeat it.")]
NoHeader = Annotated[bool, typer.Option("--no-header", help="The first row is a sample; columns are called 0, 1, ...")]
Kernels = Annotated[
    str | None, typer.Option(metavar="RECIPE", help="released-12, released-7, printed-12 or printed-7.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace results that are there already.")]
Json = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
