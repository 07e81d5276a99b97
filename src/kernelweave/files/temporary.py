"""Temporary files and folders whose names say which process writes them, so that those of a killed one are removed."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
from contextlib import suppress
from pathlib import Path

__all__ = ["remove_leftovers", "temporary_path"]

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
