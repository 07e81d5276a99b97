"""Limits on the computing time and memory of one fit, and its peak of memory."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from kernelweave.errors import InvalidInputError
from kernelweave.runtime import LIMIT

__all__ = ["OutOfTimeError", "PeakMemory", "check_limits", "limited"]

_GIB = 2**30


class OutOfTimeError(BaseException):
    """The fit used up its computing time. Not an Exception: a method that catches those must not go on."""


def check_limits() -> None:
    """Refuse where limits cannot be set."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        msg = (
            "The leaderboard limits the time and memory of a fit, which needs Linux or macOS and the main thread of a "
            "process: run `kernelweave benchmark` there."
        )
        raise InvalidInputError(msg)


@contextmanager
def limited(seconds: float, gib: float) -> Iterator[None]:
    """Raise `OutOfTimeError` after some seconds of CPU time, and MemoryError when more memory is allocated.

    The signal is handled between two steps of Python, so a single long call into a library ends first.
    """
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGPROF, _stop)
    planned = os.environ.get(LIMIT)
    used = _kib("VmSize") * 1024
    try:
        if used:
            resource.setrlimit(resource.RLIMIT_AS, (used + int(gib * _GIB), before[1]))
        os.environ[LIMIT] = str(int(gib * _GIB))  # kernelweave refuses, before it starts, what needs more
        signal.setitimer(signal.ITIMER_PROF, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        resource.setrlimit(resource.RLIMIT_AS, before)
        if planned is None:
            os.environ.pop(LIMIT, None)
        else:
            os.environ[LIMIT] = planned


def _stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTimeError


class PeakMemory:
    """The largest resident memory of this process since the object was made, above what it had then, on Linux."""

    def __init__(self) -> None:
        _return_free_pages()
        self._known = _reset_peak()
        self._start = _kib("VmRSS")

    def mib(self) -> float | None:
        """Return the peak in MiB; None where the system does not tell it."""
        return max(0.0, (_kib("VmHWM") - self._start) / 1024) if self._known else None


def _return_free_pages() -> None:
    """Return memory that is free to the system: pages that an earlier fit left are not resident then."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # of the C library of GNU only
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return _kib("VmHWM") > 0


def _kib(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{field}:")), 0)
