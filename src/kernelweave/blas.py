"""The number of threads of BLAS, of which a process has one, whatever runs in its own threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import LibController, ThreadpoolController

__all__ = ["given_back"]

_lock = Lock()
_running: list[object] = []
_found: list[tuple[LibController, int]] = []  # libraries, and their threads before the first of those that are running


@contextmanager
def given_back(pools: ThreadpoolController) -> Iterator[None]:
    """Leave BLAS the threads that it has now, also if others limit them meanwhile, each for a time of its own.

    A limit restores what it found. Of two that overlap the second finds the limit of the first and would leave it
    behind, so the last one to end restores what the first one found.
    """
    mark = object()
    with _lock:
        if not _running:
            blas = [library for library in pools.lib_controllers if library.user_api == "blas"]
            _found[:] = [(library, library.num_threads) for library in blas]
        _running.append(mark)
    try:
        yield
    finally:
        with _lock:
            _running.remove(mark)
            if not _running:
                for library, n_threads in _found:
                    library.set_num_threads(n_threads)
                with pools.limit(limits=None):  # this thread lets go of OpenBLAS, so that others can limit it
                    pass
