"""`kernelweave datasets`: list, describe and download the data sets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from kernelweave.cli._arguments import DataDir

if TYPE_CHECKING:
    from kernelweave.datasets import DatasetInfo
    from kernelweave.datasets.registry import Domain

app = typer.Typer(help="List, describe or download the data sets.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(help="A data set, such as yale; see `kernelweave datasets list`.")]
_Names = Annotated[list[str] | None, typer.Argument(help="Data sets to fetch; those of the paper if none is given.")]
_Views = Annotated[str | None, typer.Option(help="Number of views: 2, 2+ or 2-5.")]
_Samples = Annotated[str | None, typer.Option(help="Number of samples: 500, 500+ or 100-1000.")]
_Domain = Annotated[str | None, typer.Option(help="Kind of data, such as images, text or omics.")]

_PAPER = 8  # the first data sets of the list


@app.command("list")
def list_(views: _Views = None, samples: _Samples = None, domain: _Domain = None) -> None:
    """List the data sets with their shapes; options leave out those of other shapes or kinds.

    kernelweave datasets list --views 2+ --samples 100-1000 --domain text
    """
    from kernelweave.datasets import dataset_info, list_datasets

    limits = _limits("--views", views, 1), _limits("--samples", samples, 0)
    names = list_datasets(views=limits[0], samples=limits[1], domain=cast("Domain | None", domain))
    wide = max(map(len, names), default=4)
    typer.echo(f"{'name':{wide}} {'samples':>8} {'views':>6} {'columns':>8} {'classes':>8}  domain")
    for name in names:
        info = dataset_info(name)
        shape = f"{info.n_samples:8} {info.n_views:6} {info.n_features:8} {info.n_classes:8}"
        typer.echo(f"{name:{wide}} {shape}  {info.domain}")


def _limits(option: str, text: str | None, least: int) -> tuple[int, int | None]:
    from kernelweave.errors import InvalidInputError

    if text is None:
        return least, None
    found = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text.strip())
    if found is None:
        msg = f"{option} takes a number, such as 2, a least number, such as 2+, or a range, such as 2-5; got {text!r}."
        raise InvalidInputError(msg)
    first, open_ended, last = found.groups()
    if last is not None and int(last) < int(first):
        msg = f"{option} takes a range from its smaller to its larger number; got {text!r}: write {last}-{first}."
        raise InvalidInputError(msg)
    return int(first), None if open_ended else int(last or first)


@app.command()
def fetch(names: _Names = None, data_dir: DataDir = None) -> None:
    """Download data sets, or verify the checksums of files in your folder.

    kernelweave datasets fetch msrcv1
    """
    from kernelweave.datasets import dataset_info, list_datasets

    for name in names or list_datasets()[:_PAPER]:
        info = dataset_info(name)
        typer.echo(f"{info.name}: {'comes with scikit-learn' if info.bundled else _place(info, data_dir)}")


def _place(info: DatasetInfo, data_dir: Path | None) -> str:
    from kernelweave.datasets.fetch import locate

    found = locate(info, data_dir, download=True)
    if found.is_copy:
        return f"{found.path} (a copy of {info.filename})"
    unchecked = info.sha256 is None and info.git_blob is None
    return f"{found.path}{' (no checksum is known: not verified)' if unchecked else ''}"


@app.command()
def info(name: _Name) -> None:
    """Show the shape, source, licence, preprocessing and citation of a data set.

    kernelweave datasets info msrcv1
    """
    from kernelweave.datasets import dataset_info

    found = dataset_info(name)
    fields = ("name", "n_samples", "n_features", "views", "view_names", "kernels", "n_classes", "domain", "description",
              "preprocessing", "source", "licence", "citation", "filename", "url", "sha256", "git_blob")  # fmt: skip
    for field in fields:
        value = getattr(found, field)
        if field in ("views", "view_names", "kernels", "git_blob") and not value:
            continue
        said = ", ".join(map(str, value)) if isinstance(value, tuple) else value
        typer.echo(f"{field:14} {said if said is not None else 'not known'}")
