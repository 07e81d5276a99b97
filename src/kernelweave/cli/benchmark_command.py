"""`kernelweave benchmark`: a leaderboard of any methods on any data sets, without labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from kernelweave.cli import _arguments as option

__all__ = ["benchmark"]

_BUNDLED = "iris,wine,digits,breast-cancer"


def benchmark(
    datasets: Annotated[str, typer.Option(help="Data sets, such as msrcv1,3sources.")] = _BUNDLED,
    methods: Annotated[str | None, typer.Option(help="Methods, such as GMC,KMeans; all if not given.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="A class of your own as module:Class, or the name of a plugin; repeatable.")
    ] = None,
    conditions: Annotated[str, typer.Option(help="Of plain, unknown, gaps, noise and labels.")] = "plain",
    seeds: Annotated[int, typer.Option(help="Number of seeds; more may be added later.")] = 3,
    max_samples: Annotated[int, typer.Option(help="Samples that are drawn from larger data sets.")] = 1500,
    max_seconds: Annotated[float, typer.Option(help="CPU seconds of a fit.")] = 300.0,
    max_gib: Annotated[float, typer.Option(help="GiB that a fit may allocate.")] = 4.0,
    held_out: Annotated[str, typer.Option(help="Data sets to show apart, as they chose no default.")] = "",
    jobs: option.Jobs = 1,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results/leaderboard"),
    resume: Annotated[bool, typer.Option("--resume", help="Continue in a folder with rows of other limits.")] = False,
    data_dir: option.DataDir = None,
) -> None:
    """Run methods on data sets under one protocol without labels, and write tables and a page.

    Finished trials are kept: after a crash or Ctrl-C, the same command resumes the run, and more data sets, methods,
    conditions and seeds add to it. A trial during which the process ended comes last then.

    kernelweave benchmark --datasets msrcv1,3sources --methods WeaveClustering,GMC --method my_module:MyClustering
    """
    from kernelweave._plural import counted
    from kernelweave.cli._ending import resumable
    from kernelweave.cli._progress_bar import ProgressBar
    from kernelweave.datasets import dataset_info
    from kernelweave.leaderboard import Protocol, default_entrants, run_benchmark
    from kernelweave.leaderboard.begun import ended_in
    from kernelweave.leaderboard.leaderboard_tables import write_leaderboard

    sys.path.insert(0, "")  # a module of your own may be in the folder that the command is run in
    given = option.names_of("--methods", methods) if not method or methods else []  # "" leaves those of --method
    chosen = [entrant.name for entrant in default_entrants()] if methods is None else given or []
    apart = option.names_of("--held-out", held_out or None) or []
    for name in apart:
        dataset_info(name)  # refuses a name that no data set has
    if (ended := ended_in(out)) is not None:
        typer.echo(f"Note: {ended}", err=True)
    limits = Protocol(seeds=seeds, max_samples=max_samples, max_seconds=max_seconds, max_gib=max_gib)
    with resumable("trials", out), ProgressBar() as progress:
        rows = run_benchmark(
            out,
            option.names_of("--datasets", datasets) or [],
            [*chosen, *(name for name in method or [] if name not in chosen)],
            conditions=option.names_of("--conditions", conditions),  # type: ignore[arg-type]
            protocol=limits,
            jobs=jobs,
            resume=resume,
            data_home=data_dir,
            watch=progress,
        )
    typer.echo(f"{counted(len(rows), 'row')} in {out / 'results.parquet'} and results.csv")
    for path in write_leaderboard(rows, out, held_out=apart):
        typer.echo(str(path))
