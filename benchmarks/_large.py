"""Data and rivals for many samples, and how time and memory of one call are measured, for scale.py and landmark.py."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.kernel_approximation import Nystroem

from benchmarks._sets import DATA, ROOT, usual_scale

RESULTS = ROOT / "benchmarks" / "results"
CLUSTERS = 10


def extra(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return samples in single precision and classes of a file of the folder `extra` (mnist, letter)."""
    with np.load(DATA / "extra" / f"{name}.npz") as file:
        return file["X"].astype(np.float32), file["y"]


def blobs(n: int, d: int = 50, c: int = CLUSTERS, seed: int = 0) -> np.ndarray:
    """Return overlapping groups in double precision, made block by block, so that nothing but X is allocated."""
    rng = np.random.default_rng(seed)
    centres = 10 * rng.uniform(-1, 1, size=(c, d))
    X = np.empty((n, d))
    for i in range(0, n, 10**5):
        block = X[i : i + 10**5]
        rng.standard_normal(out=block)
        block *= 6
        block += centres[rng.integers(c, size=len(block))]
    return X


def kmeans(X: np.ndarray, c: int, seed: int) -> np.ndarray:
    """KMeans on the samples as the library scales them."""
    return KMeans(c, n_init=3, random_state=seed).fit_predict(usual_scale(X))


def mini_batch(X: np.ndarray, c: int, seed: int) -> np.ndarray:
    """MiniBatchKMeans on the samples as the library scales them."""
    return MiniBatchKMeans(c, n_init=3, random_state=seed).fit_predict(usual_scale(X))


def nystroem(X: np.ndarray, c: int, seed: int) -> np.ndarray:
    """KMeans on 500 Nystroem features of a Gaussian whose bandwidth is the mean squared distance."""
    Z = usual_scale(X)
    gamma = 1 / float(2 * Z[:2000].var(axis=0).sum())
    F = Nystroem(gamma=gamma, n_components=500, random_state=seed).fit_transform(Z)
    return KMeans(c, n_init=1, random_state=seed).fit_predict(F)


RIVALS: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "KMeans": kmeans,
    "MiniBatchKMeans": mini_batch,
    "Nystroem(500) + KMeans": nystroem,
}


def measured(call: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what a call gives, its wall and CPU seconds, and by how many MiB the peak of the process rose."""
    before = _peak()
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    return result, {**seconds, "peak_mib": _peak() - before}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fresh(module: str, *arguments: str) -> dict[str, Any]:
    """Run a module in a process of its own, so that its peak memory is its own, and return the JSON it prints last."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", module, *arguments]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return dict(json.loads(run.stdout.strip().splitlines()[-1]))
