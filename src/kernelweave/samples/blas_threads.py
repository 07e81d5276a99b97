"""Limits on the number of BLAS threads, which all threads of a process share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from joblib import effective_n_jobs
from threadpoolctl import LibController, ThreadpoolController

__all__ = ["threads"]

_ONE_THREAD_BELOW = 2000  # samples

_lock = Lock()
_running: list[object] = []
_found: list[tuple[LibController, int]] = []  # libraries, and their threads before the first of those that are running


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
