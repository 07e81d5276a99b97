"""A file that appears, or replaces another, only once it is complete."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kernelweave.errors import InvalidInputError

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file in the folder of `path`, which replaces `path` when the block ends without an error.

    Several threads or processes may write to one path: each has a temporary file of its own, and the last one to
    finish wins. A file that is replaced keeps its mode; a new one has that of the umask.
    """
    mode = _mode(path)
    # not after the name, which may be as long as the file system allows
    temporary = path.parent / f".kernelweave-{secrets.token_hex(8)}.tmp"
    try:
        with temporary.open("xb") as file:
            if mode is not None:
                temporary.chmod(mode)  # before anything is written that others must not read
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
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
        msg = f"{path} exists and is not a regular file, so no model can be written to it: choose another path."
        raise InvalidInputError(msg)
    return stat.S_IMODE(mode)
