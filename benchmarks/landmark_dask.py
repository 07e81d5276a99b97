"""The landmark fit of a million rows on two local dask workers, beside the same fit in one process."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._large import CLUSTERS, blobs
from kernelweave.kernels import recipe
from kernelweave.landmark import fit_landmark_clustering

ROWS, COLUMNS = 10**6, 50
LIMIT = 600 * 2**20  # of a worker, of which an idle one with its imports takes about 200 MiB
STORED = ROWS // 50  # rows that the file keeps together
BLOCK = ROWS // 2  # 200 MB a block: more than half of what a worker has free


def dask_section() -> dict[str, Any]:
    """Return whether labels agree and the ratio of CPU seconds, all processes counted, imports not."""
    import dask
    import dask.array as da
    import zarr
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "x.zarr")
        file = zarr.open_array(path, mode="w", shape=(ROWS, COLUMNS), chunks=(STORED, COLUMNS), dtype="float64")
        file[:] = blobs(ROWS, COLUMNS)
        X = da.from_zarr(path, chunks=(BLOCK, COLUMNS))
        began = time.process_time()
        here = _fit(X)
        alone = time.process_time() - began
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
        with (
            dask.config.set({"distributed.worker.multiprocessing-method": "spawn"}),
            LocalCluster(**options, memory_limit=LIMIT) as cluster,
            Client(cluster) as client,
        ):
            _fit(X[:20_000])  # imports
            before = _cpu(client)
            wall = time.perf_counter()
            there = _fit(X)
            wall = time.perf_counter() - wall
            together = _cpu(client) - before
            peaks = list(client.run(_peak).values())
    return {
        "identical labels": bool(np.array_equal(here.labels, there.labels)),
        "adjusted Rand index": float(adjusted_rand_score(here.labels, there.labels)),
        "CPU s in one process": alone,
        "CPU s on dask, all processes": together,
        "CPU overhead": together / alone,
        "wall s on dask": wall,
        "block MiB": BLOCK * COLUMNS * 8 / 2**20,
        "memory limit of a worker, MiB": LIMIT / 2**20,
        "peak of the workers, MiB": max(peaks),
    }


def _fit(X: Any) -> Any:
    return fit_landmark_clustering(
        X, recipe("released-12"), n_clusters=CLUSTERS, n_landmarks=500, n_jobs=1, random_state=np.random.RandomState(0)
    )


def _cpu(client: Any) -> float:
    return sum(client.run(_seconds).values()) + time.process_time()


def _seconds() -> float:
    times = os.times()
    return times.user + times.system


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
