"""The command line: one command per file, each of which parses, calls public functions and prints.

To add a command, write its module and add it to `COMMANDS`. Command modules import numpy, scikit-learn and pandas
inside their functions, so that importing all of them, and `--help`, stays fast.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

import typer

from kernelweave.cli import (
    benchmark_command,
    classify,
    cluster,
    datasets_command,
    demo,
    inspect_command,
    predict,
    report_command,
    reproduce,
)
from kernelweave.cli._deferred import defer
from kernelweave.cli._ending import orderly

__all__ = ["COMMANDS", "build_app", "main"]

COMMANDS: dict[str, Callable[..., None] | typer.Typer] = {
    "cluster": cluster.cluster,
    "classify": classify.classify,
    "inspect": inspect_command.inspect,
    "predict": predict.predict,
    "report": report_command.report,
    "demo": demo.demo,
    "reproduce": reproduce.reproduce,
    "benchmark": benchmark_command.benchmark,
    "datasets": datasets_command.app,
}

# A command creates many objects that are never freed, most of them by imports: garbage collection is less frequent than
# by default, which saves time.
_RARELY = (50_000, 20, 100)


def build_app() -> typer.Typer:
    """Return the app with all commands."""
    app = typer.Typer(
        name="kernelweave",
        help="Cluster data, or classify it from a few labels, without choosing a kernel by hand.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name, command in COMMANDS.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    return app


def main() -> None:
    """Run the command line."""
    gc.set_threshold(*_RARELY)
    defer("scipy.stats")
    with orderly():
        build_app()()


def _show_version(asked: bool) -> None:
    if asked:
        from kernelweave import __version__

        typer.echo(__version__)
        raise typer.Exit


def _options(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    """Take the options before a command; an eager callback runs before a missing command is an error."""
