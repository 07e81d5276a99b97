"""The command line: one command per file, each of which parses, calls one public function and prints.

A command joins by its name in `COMMANDS`: the module of that name has a function of that name, or a typer app called
`app` if it has commands of its own. Modules import what is heavy inside their functions, so that help comes at once.
"""

from __future__ import annotations

import sys
from importlib import import_module

import typer

from kernelweave.errors import KernelweaveError

__all__ = ["COMMANDS", "build_app", "main"]

COMMANDS = ("cluster", "classify", "predict", "report", "demo", "reproduce", "datasets")


def build_app(*names: str) -> typer.Typer:
    """Return the app with the commands of these names, or with all."""
    app = typer.Typer(
        name="kernelweave",
        help="Cluster data, or classify it from a few labels, when nobody knows which kernel is the right one.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for name in names or COMMANDS:
        module = import_module(f"kernelweave.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(getattr(module, name))
    return app


def main() -> None:
    """Run the command that was asked for; what goes wrong for a reason is said in a sentence, with exit code 2."""
    try:
        build_app(*(name for name in sys.argv[1:2] if name in COMMANDS))()  # the others need not be imported
    except KernelweaveError as error:
        typer.secho(f"{type(error).__name__}: {error}", fg=typer.colors.RED if sys.stderr.isatty() else None, err=True)
        sys.exit(2)


def _show_version(*, wanted: bool) -> None:
    if wanted:
        from kernelweave import __version__

        typer.echo(__version__)
        raise typer.Exit


def _options(
    version: bool = typer.Option(False, "--version", help="Show the version and leave.", is_eager=True),
) -> None:
    _show_version(wanted=version)
