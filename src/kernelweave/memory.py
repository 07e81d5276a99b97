"""How much memory is available, checked before anything large is allocated."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kernelweave.errors import InvalidInputError, NotEnoughMemoryError

__all__ = ["LIMIT", "available_memory", "check_memory", "gib"]

LIMIT = "KERNELWEAVE_MEMORY"  # bytes to plan with instead of what the machine reports
_SMALL = 2**28  # bytes: a smaller need is never refused, since what the system reports is approximate


def available_memory(need: float = math.inf) -> int | None:
    """Return the bytes that can still be allocated, None where the system does not say, or for a small need.

    The least of what the machine and its control group leave, but 256 MiB at least, since caches may count as used; the
    environment variable KERNELWEAVE_MEMORY, in bytes, takes their place.
    """
    if given := os.environ.get(LIMIT):
        return _bytes(given)
    if need <= _SMALL:
        return None
    left = min(_left(), default=None)
    return None if left is None else max(left, _SMALL)


def _bytes(given: str) -> int:
    try:
        size = int(float(given))
    except (ValueError, OverflowError):
        size = -1
    if size < 0:
        msg = f"The environment variable {LIMIT} must be a number of bytes, such as 4e9; got {given!r}."
        raise InvalidInputError(msg)
    return size


def check_memory(need: int, *, what: str, advice: str) -> None:
    """Raise an error, before anything is allocated, if `need` bytes are not available; it says what to do instead."""
    free = available_memory(need)
    if free is not None and need > free:
        msg = f"{what} needs about {gib(need)} of memory, more than the {gib(free)} available: {advice}."
        raise NotEnoughMemoryError(msg)


def gib(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size / 2**30:.3g} GiB" if size >= 2**27 else f"{size / 2**20:.3g} MiB"


def _left() -> Iterator[int]:
    """Yield the bytes that the machine leaves, and those that the limit of a container leaves, where these are known.

    Pages of files that could be dropped count as free.
    """
    try:
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        yield int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):  # not Linux: all that there is, in use or not
        with suppress(AttributeError, OSError, ValueError):
            yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for folder, limit, used, cache in (
        ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        with suppress(OSError, ValueError):
            most = int(Path(folder, limit).read_text())  # "max" where there is none
            stat = dict(line.split() for line in Path(folder, "memory.stat").read_text().splitlines())
            yield most - int(Path(folder, used).read_text()) + int(stat.get(cache, 0))
