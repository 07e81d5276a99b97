"""Files that appear once they are complete; the names of unfinished ones say which process writes them."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from kernelweave.errors import InvalidInputError, ResultsError

__all__ = ["remove_leftovers", "replacing", "temporary_path"]

_NAME = re.compile(r"\.kernelweave-([0-9a-f]{8})-([0-9]+)-[0-9a-f]{16}\.tmp")


def temporary_path(folder: Path) -> Path:
    """Return a new hidden path in a folder, for a file or folder of this process; what killed ones left is removed.

    The name does not hold that of the final file, which may be as long as the file system allows.
    """
    remove_leftovers(folder)
    return folder / f".kernelweave-{_machine()}-{os.getpid()}-{secrets.token_hex(8)}.tmp"


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders of processes of this machine that are no longer running."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            found = _NAME.fullmatch(entry.name)
            if found is None or found[1] != _machine() or _is_running(int(found[2])):
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                with suppress(OSError):
                    os.unlink(entry.path)


def _machine() -> str:
    return hashlib.blake2s(socket.gethostname().encode(), digest_size=4).hexdigest()


def _is_running(pid: int) -> bool:
    """Return whether a process runs. On Windows signal 0 is Ctrl-C, so that the answer there is always yes."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


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
