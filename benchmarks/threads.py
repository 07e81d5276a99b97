"""How long fits take by the clock with one and with two threads: `python -m benchmarks.threads`.

The machine must be idle: on a busy one, two threads measure the other work.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks._stored import Page, Rows, line
from benchmarks.weave_speed import N_CLUSTERS, samples
from kernelweave import SMKLClustering, WeaveClustering

JOBS = (1, 2, None)
NOTE = (
    "Printed by `python -m benchmarks.threads`: seconds by the clock of a fit, the fastest of several in turn, with "
    "`n_jobs` of 1, 2 and None, the default. The ratios are to one thread. The last column is the load of the machine "
    "when the row was begun, the mean number of processes over a minute: on a busy machine threads wait for others."
)


def many(n: int) -> np.ndarray:
    """Return overlapping groups in 20 columns."""
    return np.asarray(make_blobs(n, n_features=20, centers=10, cluster_std=4.0, random_state=0)[0])


CASES: dict[str, tuple[Any, Any, int]] = {
    "dense, 1,500": (WeaveClustering(N_CLUSTERS, random_state=0), lambda: samples(1500), 5),
    "dense, 3,000": (WeaveClustering(N_CLUSTERS, random_state=0), lambda: samples(3000), 3),
    "dense, 5,000": (WeaveClustering(N_CLUSTERS, random_state=0), lambda: samples(5000), 2),
    "local, 20,000": (WeaveClustering(10, random_state=0, solver="local"), lambda: many(20_000), 3),
    "landmark, 100,000": (WeaveClustering(10, random_state=0, solver="landmark"), lambda: many(100_000), 3),
    "SMKL, 1,500": (SMKLClustering(N_CLUSTERS, random_state=0), lambda: samples(1500), 3),
}


def measure(name: str) -> dict[str, float]:
    """Return the seconds of a case for every number of threads, measured in turn."""
    model, draw, repeats = CASES[name]
    load, X = os.getloadavg()[0], draw()
    best = dict.fromkeys(JOBS, np.inf)
    for _ in range(repeats):
        for jobs in JOBS:
            model.set_params(n_jobs=jobs)
            start = time.perf_counter()
            model.fit(X)
            best[jobs] = min(best[jobs], time.perf_counter() - start)
    return {**{str(jobs): round(best[jobs], 3) for jobs in JOBS}, "load": round(load, 2)}


def table(rows: Rows) -> str:
    """Return a line for every case."""
    lines = [
        line(["fit", "one thread, s", "two, s", "default, s", "two / one", "default / one", "load"]),
        line(["---"] * 7),
    ]
    for name, found in rows["seconds"].items():
        one, two, default = (found[str(jobs)] for jobs in JOBS)
        cells = (f"{one:.2f}", f"{two:.2f}", f"{default:.2f}", f"{two / one:.2f}", f"{default / one:.2f}")
        lines.append(line([name, *cells, f"{found['load']:.1f}"]))
    return "\n".join(lines)


PAGE = Page("threads", "Threads", NOTE, table)


def main() -> None:
    """Measure every case, and store the figures."""
    for name in CASES:
        PAGE.keep("seconds", name, measure(name))
    PAGE.write()


if __name__ == "__main__":
    main()
