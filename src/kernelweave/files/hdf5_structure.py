"""Damaged heaps of texts in HDF5 files, found before they are read: with some of them the library never returns."""

from __future__ import annotations

import mmap
from pathlib import Path

from kernelweave.errors import InvalidInputError

__all__ = ["check_heaps"]

_FILE = b"\x89HDF\r\n\x1a\n"
_HEAP = b"GCOL\x01\x00\x00\x00"  # signature, version and three zeros; then the size, and objects
_HEADER = 16  # bytes of a heap's header, and of an object's: index, count, four zeros, size
_LENGTHS_AT = {0: 14, 1: 14, 2: 10, 3: 10}  # version of the file -> where it says how long a size is


def check_heaps(path: Path) -> None:
    """Refuse a file with a heap whose free space has no size.

    Texts of any length are objects in heaps. The object of index 0 is the space that is left, and its size includes
    its header: HDF5 steps over it by that size, so a size of 0 is an endless loop.
    """
    if not path.stat().st_size:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        begin = data.find(_FILE)  # at 0, or behind a block of the user's
        at = data.find(_HEAP) if 0 <= begin < len(data) - _HEADER else -1
        while at >= 0:
            if not _ends(data, at, data[begin + _LENGTHS_AT.get(data[begin + 8], 14)]):
                msg = f"{path} is damaged: at byte {at} it has a heap whose free space has no size. Save it again."
                raise InvalidInputError(msg)
            at = data.find(_HEAP, at + 1)


def _ends(data: mmap.mmap, start: int, length: int) -> bool:
    """Return whether a walk over the objects of a heap comes to its end."""
    end = min(start + int.from_bytes(data[start + 8 : start + 8 + length], "little"), len(data))
    at = start + _HEADER
    while at + _HEADER <= end:
        size = int.from_bytes(data[at + 8 : at + 8 + length], "little")
        if int.from_bytes(data[at : at + 2], "little"):
            at += _HEADER + -(-size // 8) * 8
        elif size == 0:
            return False
        else:
            at += size
    return True
