"""`kernelweave datasets`: list, describe and download the data sets of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="List, describe or download the data sets of the paper.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(help="A data set, such as yale; see `kernelweave datasets list`.")]
_Names = Annotated[list[str] | None, typer.Argument(help="Data sets to fetch; all if none is given.")]
_DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder of the data files; else KERNELWEAVE_DATA, else the cache.")
]


@app.command("list")
def list_() -> None:
    """List the data sets with their shapes."""
    from kernelweave.datasets import dataset_info, list_datasets

    typer.echo(f"{'name':8} {'samples':>8} {'features':>9} {'classes':>8}")
    for name in list_datasets():
        info = dataset_info(name)
        typer.echo(f"{name:8} {info.n_samples:8} {info.n_features:9} {info.n_classes:8}")


@app.command()
def fetch(names: _Names = None, data_dir: _DataDir = None) -> None:
    """Download data sets, or verify the checksums of files in your folder."""
    from kernelweave.datasets import dataset_info, list_datasets
    from kernelweave.datasets.fetch import locate

    for name in names or list_datasets():
        info = dataset_info(name)
        typer.echo(f"{info.name}: {locate(info, data_dir, download=True)}")


@app.command()
def info(name: _Name) -> None:
    """Show the shape, source, preprocessing and citation of a data set."""
    from kernelweave.datasets import dataset_info

    found = dataset_info(name)
    fields = ("name", "n_samples", "n_features", "n_classes", "description", "preprocessing", "source", "citation",
              "filename", "url", "sha256")  # fmt: skip
    for field in fields:
        typer.echo(f"{field:14} {getattr(found, field)}")
