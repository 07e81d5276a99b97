"""The landmark fit of a million rows on two local dask workers, beside the same fit in one process."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._landmark import landmark_fit
from benchmarks._large import blobs

ROWS, COLUMNS = 10**6, 50
AMPLE = 3 * 2**30
LIMIT = 600 * 2**20  # of a worker, of which an idle one with its imports takes about 200 MiB
STORED = ROWS // 50  # rows that the file keeps together
BLOCK = ROWS // 2  # 200 MB a block: more than half of what a worker has free


# dask's workers give every freed block back to the system, and then pay for clearing its pages anew
ALLOCATOR = {f"distributed.nanny.pre-spawn-environ.MALLOC_{name}_THRESHOLD_": 2**29 for name in ("TRIM", "MMAP")}


def dask_section() -> dict[str, Any]:
    """Return whether labels agree and the ratio of CPU seconds, all processes counted, imports not.

    Twice: on workers whose free memory is little more than one block, and on workers with memory to keep.
    """
    import dask.array as da
    import zarr

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.zarr")
        file = zarr.open_array(path, mode="w", shape=(ROWS, COLUMNS), chunks=(STORED, COLUMNS), dtype="float64")
        file[:] = blobs(ROWS, COLUMNS)
        X = da.from_zarr(path, chunks=(BLOCK, COLUMNS))
        began = time.process_time()
        here = _fit(X)
        alone = time.process_time() - began
        found: dict[str, Any] = {"CPU s in one process": alone, "block MiB": BLOCK * COLUMNS * 8 / 2**20}
        # little first: dask leaves the allocator's settings in this process's environment
        for name, limit, settings in (("little memory", LIMIT, {}), ("memory to keep", AMPLE, ALLOCATOR)):
            there, cpu = _on_workers(X, limit, settings)
            found |= {
                f"identical labels, {name}": bool(np.array_equal(here.labels_, there.labels_)),
                f"CPU overhead, {name}": cpu / alone,
                f"memory limit of a worker, MiB, {name}": limit / 2**20,
            }
    return found


def _on_workers(X: Any, limit: int, settings: dict[str, Any]) -> tuple[Any, float]:
    """Return the fit and the CPU seconds of all processes."""
    import dask
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "spawn", **settings}),
        LocalCluster(**options, memory_limit=limit) as cluster,
        Client(cluster) as client,
    ):
        _fit(X[:20_000])  # imports
        before = _cpu(client)
        there = _fit(X)
        return there, _cpu(client) - before


def _fit(X: Any) -> Any:
    return landmark_fit(X, 500)


def _cpu(client: Any) -> float:
    return sum(client.run(_seconds).values()) + time.process_time()


def _seconds() -> float:
    times = os.times()
    return times.user + times.system
