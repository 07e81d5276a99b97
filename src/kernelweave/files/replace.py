"""A file that appears, or replaces another, only once it is complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kernelweave.errors import InvalidInputError, ResultsError
from kernelweave.files.temporary import temporary_path

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the folder of `path`, which replaces `path` when the block ends without an error.

    Several threads or processes may write to one path: each has a temporary file of its own, and the file of
    the last one to finish is kept. A file that is replaced keeps its mode; a new one has that of the umask. The
    contents are synced to the disk before the file is renamed, and so is the new name at the end of the block.
    """
    mode = _mode(path)
    if not path.parent.is_dir():
        msg = (
            f"{path} cannot be written, since there is no folder {path.parent}: make it first, or choose another path."
        )
        raise ResultsError(msg)
    temporary = temporary_path(path.parent)
    try:
        with temporary.open("xb") as file:
            if mode is not None:
                temporary.chmod(mode)  # before anything is written that others must not read
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int | None:
    """Return the mode of a file, None if there is none; anything that is not a file is refused."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        msg = f"{path} exists and is not a regular file, so nothing can be written to it: choose another path."
        raise InvalidInputError(msg)
    return stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a rename survives a crash; only POSIX systems allow it."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
