"""What a run takes from the machine, and what it tells the user: memory, threads, progress.

Memory is checked before anything large is allocated. A limit on the number of BLAS threads holds for the whole process.
Progress of a long stage is a line every two seconds.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from joblib import effective_n_jobs
from threadpoolctl import LibController, ThreadpoolController

from kernelweave.errors import InvalidInputError, NotEnoughMemoryError

__all__ = ["LIMIT", "Reporter", "StageProgress", "available_memory", "check_memory", "gib", "threads"]

LIMIT = "KERNELWEAVE_MEMORY"  # bytes to plan with instead of what the machine reports
_SMALL = 2**28  # bytes: a smaller need is never refused, since what the system reports is approximate
_ONE_THREAD_BELOW = 2000  # samples
_EVERY = 2.0  # seconds; shorter stages report nothing

_lock = Lock()
_running: list[object] = []
_found: list[tuple[LibController, int]] = []  # libraries, and their threads before the first of those that are running


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


@contextmanager
def threads(
    n_jobs: int | None, n_samples: int | None = None, *, library: Literal["blas"] | None = None
) -> Iterator[None]:
    """Hold BLAS and OpenMP, or only the `library` that is named, to `n_jobs` threads.

    None leaves them as they are, -1 takes every core. With None and few samples it is one thread: their matrices are so
    small that threads mostly wait for each other. numpy and scipy often have a BLAS library each, whose threads spin
    while they wait for work: those of one would take the cores from those of the other. So only that of scipy, which
    factorises matrices, has more than one.

    Each limit restores the number that it found. If two overlap in time, the second one finds the limit of the first
    one, and would leave it in place. Therefore the last one to end restores the number that the first one found.
    """
    if n_jobs is None and n_samples is not None and n_samples < _ONE_THREAD_BELOW:
        n_jobs = 1
    pools, others = _pools(len(sys.modules))
    most = None if n_jobs is None else effective_n_jobs(int(n_jobs))  # threadpoolctl takes no integers of numpy
    mark = object()
    with _lock:
        if not _running:
            # a BLAS that computes with OpenMP has a separate limit for each thread
            _found[:] = [
                (blas, blas.num_threads)
                for blas in pools.lib_controllers
                if blas.user_api == "blas" and getattr(blas, "threading_layer", None) != "openmp"
            ]
        _running.append(mark)
    try:
        with pools.limit(limits=most, user_api=library), others.limit(limits=1):
            yield
    finally:
        with _lock:
            _running.remove(mark)
            if not _running:
                for blas, n_threads in _found:
                    blas.set_num_threads(n_threads)
                with pools.limit(limits=None):  # releases OpenBLAS, which other threads could not limit otherwise
                    pass


@lru_cache(maxsize=1)  # to look for libraries takes as long as to predict a few samples
def _pools(n_modules: int) -> tuple[ThreadpoolController, ThreadpoolController]:
    """Return the pools of threads in the process, and those of BLAS that get one thread.

    They are looked for again if modules were imported since, which may bring libraries of their own.
    """
    pools = ThreadpoolController()
    return pools, pools.select(filepath=_other_blas(pools.info()))


def _other_blas(pools: list[dict[str, Any]]) -> list[str]:
    """Return the files of the BLAS libraries with threads of their own but one, that of scipy if it has its own.

    Those that compute with OpenMP share its threads, which do not work against each other.
    """
    files = [p["filepath"] for p in pools if p["user_api"] == "blas" and p.get("threading_layer") != "openmp"]
    kept = next((file for file in files if any(part in ("scipy", "scipy.libs") for part in Path(file).parts)), None)
    return [file for file in files if file != (kept or files[0])]


@dataclass(frozen=True, slots=True)
class Reporter:
    """Writes lines with a prefix to the standard error stream if `verbose`.

    Parameters
    ----------
    name : str
        The prefix of every line.
    verbose : int
        0 writes nothing.
    """

    name: str
    verbose: int

    def __call__(self, text: str, *more: object) -> None:
        """Write a line; what follows the text is put into words only if the line is written."""
        if self.verbose:
            sys.stderr.write(f"[{self.name}] {' '.join(map(str, (text, *more)))}\n")


@dataclass
class StageProgress:
    """Reports to `say` how much of a stage is done; called with the stage, the amount done and the total or None.

    Parameters
    ----------
    say : callable of str
        Called with every line.
    """

    say: Callable[[str], None]
    _stage: str = ""
    _began: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Report how much of a stage is done."""
        now = time.monotonic()
        kind = stage.split(" (")[0]  # the rest may differ from line to line
        if kind != self._stage:
            self._stage, self._began, self._said = kind, now, now
            return
        if now - self._said < _EVERY:
            return
        self._said = now
        rate = done / (now - self._began)
        if total is None:
            self.say(f"{stage}: {done}, {rate:.3g}/s")
        else:
            self.say(f"{stage}: {done} of {total}, {rate:.3g}/s, {(total - done) / rate:.0f} s left")
