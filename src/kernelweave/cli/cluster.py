"""`kernelweave cluster`: groups of alike samples in tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kernelweave.cli import _arguments as option
from kernelweave.errors import InvalidInputError

__all__ = ["cluster"]


def cluster(
    files: option.Files = None,
    clusters: Annotated[str, typer.Option("-k", "--clusters", help="The number of clusters, or auto.")] = "auto",
    view: option.Views = None,
    id: option.Id = None,
    one_hot: option.OneHot = None,
    drop: option.Drop = None,
    no_header: option.NoHeader = False,
    kernels: option.Kernels = None,
    method: Annotated[str, typer.Option(help="weave, the practical default, or smkl, the paper's method.")] = "weave",
    out: Annotated[Path | None, typer.Option(help="Folder for the results; NAME-clusters if not given.")] = None,
    force: option.Force = False,
    json: option.Json = False,
    quiet: option.Quiet = False,
    seed: option.Seed = 0,
) -> None:
    """Cluster the samples of one table, or of several views, and write labels, weights, model and report.

    kernelweave cluster data.csv -k 5 --id name
    """
    from kernelweave.cli._outcome import FILES, keep, tell
    from kernelweave.cli._results import check_target
    from kernelweave.cli._samples import read_samples
    from kernelweave.cli._working import working

    number = _number(clusters, method)
    folder = out or Path(f"{_name(files, view)}-clusters")
    check_target(folder, FILES, force=force)
    with working("Reading", quiet=quiet):
        samples = read_samples(
            files or (), view or (), id=id, one_hot=one_hot or (), drop=drop or (), header=not no_header
        )
    with working(f"Clustering {len(samples.ids)} samples", quiet=quiet):
        model = _model(method, number, kernels, seed).fit(samples.X)
    with working("Writing the results", quiet=quiet):
        written = keep(model, samples, folder)
    tell(model, written, as_json=json)


def _number(text: str, method: str) -> int | str:
    if method not in ("weave", "smkl"):
        msg = f"--method must be weave or smkl; got {method!r}."
        raise InvalidInputError(msg)
    if text == "auto":
        if method == "smkl":
            msg = "--method smkl needs the number of clusters, such as -k 5; only weave can choose it (auto)."
            raise InvalidInputError(msg)
        return text
    if not text.isdecimal() or int(text) < 1:
        msg = f"-k must be a positive whole number, or auto; got {text!r}."
        raise InvalidInputError(msg)
    return int(text)


def _name(files: list[Path] | None, views: list[str] | None) -> str:
    return files[0].stem if files else "views" if views else "data"


def _model(method: str, number: int | str, kernels: str | None, seed: int) -> Any:
    from kernelweave import SMKLClustering, WeaveClustering

    kind = WeaveClustering if method == "weave" else SMKLClustering
    return kind(number, random_state=seed, **({"kernels": kernels} if kernels else {}))
