"""Progress of one long step: a spinner on a terminal, one line elsewhere, and nothing for quick steps."""

from __future__ import annotations

import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from kernelweave.errors import ColumnsWarning, InvalidInputError, KernelweaveError

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["working"]

_QUICK = 2.0  # seconds; a shorter step shows no progress


@contextmanager
def working(what: str, *, quiet: bool) -> Iterator[None]:
    """Show `what` on the standard error stream while the step runs, and print its warnings as notes.

    A ValueError raised by the step is about the user's input: it becomes an `InvalidInputError` with the same message.
    """
    begun = time.monotonic()
    shown: list[Progress | None] = []
    timer = threading.Timer(_QUICK, lambda: shown.append(_show(what)))
    timer.daemon = True
    if not quiet:
        timer.start()
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            yield
    except KernelweaveError:
        raise
    except ValueError as error:
        raise InvalidInputError(str(error)) from error
    finally:
        timer.cancel()
        if not quiet and timer.is_alive():
            timer.join()
        for spinner in shown:
            if spinner is not None:
                spinner.stop()
    if quiet:
        return
    for text in dict.fromkeys(_note(warning.message) for warning in said if issubclass(warning.category, UserWarning)):
        typer.echo(f"Note: {text}", err=True)
    if shown:
        typer.echo(f"{what}: {time.monotonic() - begun:.1f} s", err=True)


def _note(warning: Warning | str) -> str:
    """Return a warning in the words of the command line: the only table is called X in Python alone."""
    if not isinstance(warning, ColumnsWarning):
        return str(warning)
    text = warning.text.replace("View 'X'", "the table").replace("'X'", "the table")
    text = f"{text[0].upper()}{text[1:]}"
    return text + " `kernelweave inspect` shows every column, and --drop leaves one out." * bool(warning.advice)


def _show(what: str) -> Progress | None:
    """Start a spinner and return it; without a terminal, print one line instead."""
    if not sys.stderr.isatty():
        typer.echo(f"{what} ...", err=True)
        return None
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    spinner = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    spinner.add_task(what, total=None)
    spinner.start()
    return spinner
