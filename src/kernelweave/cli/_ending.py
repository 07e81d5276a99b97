"""How a command ends: its exit codes, a signal to stop, and output that cannot be written."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import typer

from kernelweave.errors import KernelweaveError

__all__ = ["orderly", "resumable"]

_REFUSED = 2
_INTERRUPTED = 128 + signal.SIGINT
_TERMINATED = 128 + signal.SIGTERM


class _Terminated(SystemExit):
    """SIGTERM arrived: files and worker processes are cleaned up as after Ctrl-C."""

    def __init__(self) -> None:
        super().__init__(_TERMINATED)


@contextmanager
def orderly() -> Iterator[None]:
    """Run a command; if an error or a signal ends it, there is one message, no traceback, and an exit code.

    The code is 2 for errors of the package, for a lack of memory and for output that cannot be written.
    """
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except KernelweaveError as error:
        _refuse(f"{type(error).__name__}: {error}")
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        _refuse(f"MemoryError: there is not enough memory{reason}. Use fewer samples, or another --solver.")
    except BrokenPipeError:  # such as that of `head`, which has read enough
        _discard_output()
        sys.exit(1)
    except OSError as error:
        _discard_output()
        _refuse(f"OSError: {error.filename or 'the output'}: {error.strerror or error}.")
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def resumable(done: str, folder: Path) -> Iterator[None]:
    """Run an experiment; if it is interrupted, say that what is `done` is kept, and that the command resumes it."""
    try:
        yield
    except (KeyboardInterrupt, _Terminated) as stop:
        typer.echo(f"Interrupted. Finished {done} are kept in {folder}: run the same command to resume.", err=True)
        raise typer.Exit(_TERMINATED if isinstance(stop, _Terminated) else _INTERRUPTED) from None


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise _Terminated


def _refuse(message: str) -> None:
    with suppress(OSError):
        typer.secho(message, fg=typer.colors.RED if sys.stderr.isatty() else None, err=True)
    sys.exit(_REFUSED)


def _discard_output() -> None:
    """Let what is still buffered go nowhere, so that Python does not fail on it again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
