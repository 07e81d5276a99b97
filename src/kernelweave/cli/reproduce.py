"""`kernelweave reproduce`: run an experiment and compare its figures with the published ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelweave.cli import _arguments as option

if TYPE_CHECKING:
    import pandas

    from kernelweave.experiments import Spec

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help="table1, table2, table3, figure1, leak, restarts, draws, ablation, or the path of a TOML file."
        ),
    ],
    datasets: Annotated[str | None, typer.Option(help="Only these data sets, such as yale,jaffe.")] = None,
    methods: Annotated[str | None, typer.Option(help="Only these methods, such as SMKL,KGL.")] = None,
    preset: Annotated[str, typer.Option(help="quick, or full for the whole protocol of the paper.")] = "quick",
    jobs: option.Jobs = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for the results; results/NAME-PRESET if not given.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue in a folder with rows of another preset or version.")
    ] = False,
    dask: Annotated[str | None, typer.Option(help="Address of a dask scheduler whose workers can read --out.")] = None,
    data_dir: option.DataDir = None,
) -> None:
    """Run an experiment of the paper, or your own, and write its rows and tables.

    Finished tasks are kept: after a crash or Ctrl-C, the same command resumes the run.

    kernelweave reproduce table2 --preset quick
    """
    from kernelweave.cli._ending import resumable
    from kernelweave.cli._progress_bar import ProgressBar
    from kernelweave.experiments import load_spec, run_experiment

    spec = load_spec(name, preset)
    folder = out or Path("results") / f"{spec.name}-{preset}"
    with resumable("tasks", folder), ProgressBar() as progress:
        rows = run_experiment(
            spec,
            folder,
            datasets=option.names_of("--datasets", datasets),
            methods=option.names_of("--methods", methods),
            jobs=jobs,
            dask=dask,
            resume=resume,
            data_home=data_dir,
            watch=progress,
        )
    _tell(rows, spec, folder)


def _tell(rows: pandas.DataFrame, spec: Spec, folder: Path) -> None:
    from kernelweave._plural import counted
    from kernelweave.experiments.tables import write_tables

    failed = int((rows["outcome"] == "FAILED").sum())
    typer.echo(f"{counted(len(rows), 'row')} ({failed} failed) in {folder / 'results.parquet'} and results.csv")
    for path in write_tables(rows, spec.with_rows(rows), folder):
        typer.echo(str(path))
