"""How long a fit of WeaveClustering takes beside scikit-learn's SpectralClustering, and beside the arithmetic it needs.

`python -m benchmarks.weave_speed [n ...]`: CPU seconds on one thread, ratios in one run, and peak memory in n x n
matrices of double floats. Up to 1797 samples they are digits, above they are overlapping blobs.
"""

from __future__ import annotations

import argparse
import platform
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits, make_blobs
from threadpoolctl import threadpool_limits

from benchmarks._stored import Page, Rows, line
from kernelweave import WeaveClustering
from kernelweave.core.algebra.matrices import ridge_inverse

N_FEATURES, N_CLUSTERS = 50, 10

VERSIONS, KERNELS, AFFINITIES, GRAPHS = 2, 12, 3, 10  # of the default, with many columns
VECTORS, PRODUCTS = 25, 40  # of eigenvectors: the block of a filter, and its products with the graph until it converges
EMBEDDINGS, STARTS, ITERATIONS = 5, 3, 12  # of k-means

NOTE = (
    "Written by `python -m benchmarks.weave_speed`. CPU seconds on one thread; ratios are taken in one run. `spectral` "
    "is scikit-learn's SpectralClustering with a Gaussian kernel. `confidence` is the ratio of a fit after which the "
    "confidences are read, for which the clarity is measured. `float32` and `one graph` are the ratios of "
    'dtype="float32" and of scale="unit", n_neighbors=10 to it. `peak` is the most memory that numpy held, in n x n '
    "matrices of double floats. `need` is the arithmetic of the default at measured rates: for each of 2 versions the "
    "products of samples, 12 kernels for half of all pairs in single and once more in double precision, and one "
    "symmetric inverse; the selection of neighbours in 3 affinities; for each of 10 graphs 40 products with 25 "
    "vectors; and 12 iterations of 3 starts of k-means in 5 embeddings of each. Ratios depend on the machine: they are "
    "larger where products of matrices are fast in comparison with memory and scalar work."
)


def samples(n: int) -> np.ndarray:
    """Return digits, or overlapping groups where there are not enough of them."""
    if n <= 1797:
        return np.asarray(load_digits().data[:n])
    return np.asarray(make_blobs(n, n_features=N_FEATURES, centers=N_CLUSTERS, cluster_std=6.0, random_state=0)[0])


def seconds(run: Callable[[], Any], repeats: int) -> float:
    """Return the CPU seconds of the fastest of several runs."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return float(best)


def peak(run: Callable[[], Any], n: int) -> float:
    """Return the most memory that numpy held at once, in matrices of n x n double floats."""
    tracemalloc.start()
    run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / (8 * n * n)


def needed(X: np.ndarray, S: Any, repeats: int) -> dict[str, float]:
    """Return the CPU seconds of each part of the arithmetic, from the time of one such operation on these samples."""
    n = len(X)
    rng = np.random.default_rng(0)
    D = rng.random((n // 2, n))
    single = D.astype(np.float32)
    K = X @ X.T / n + np.eye(n) * np.trace(X @ X.T) / n**2
    V, P = rng.normal(size=(n, VECTORS)), rng.normal(size=(n, N_CLUSTERS))
    C = rng.normal(size=(STARTS * N_CLUSTERS, N_CLUSTERS))
    kernels = seconds(lambda: np.exp(single), repeats) + seconds(lambda: np.exp(D), repeats)
    return {
        "products": VERSIONS * seconds(lambda: X @ X.T, repeats),
        "kernels": VERSIONS * KERNELS * kernels,
        "inverses": VERSIONS * seconds(lambda: ridge_inverse(K, gamma=0.0), repeats),
        "neighbours": AFFINITIES * 2 * seconds(lambda: np.argpartition(D, n - 30, axis=1), repeats),
        "eigenvectors": GRAPHS * PRODUCTS * seconds(lambda: S @ V, 3 * repeats),
        "k-means": GRAPHS * EMBEDDINGS * ITERATIONS * seconds(lambda: (C @ P.T).min(axis=0), 3 * repeats),
    }


def measure(n: int) -> dict[str, float]:
    """Return the figures of one size."""
    X = samples(n)
    repeats = 7 if n < 3000 else 1
    model = WeaveClustering(N_CLUSTERS, random_state=0)
    ours = seconds(lambda: model.fit(X), repeats)
    need = needed(X, model.graph_, repeats)
    spectral = SpectralClustering(N_CLUSTERS, gamma=1 / (X.shape[1] * X.var()), random_state=0)
    theirs = seconds(lambda: spectral.fit(X), repeats)
    single = WeaveClustering(N_CLUSTERS, random_state=0, dtype="float32")
    one = WeaveClustering(N_CLUSTERS, random_state=0, scale="unit", n_neighbors=10)
    figures = {
        "fit": ours,
        "spectral": theirs,
        "ratio": ours / theirs,
        "confidence": seconds(lambda: model.fit(X).confidence_, repeats) / theirs,
        "float32": seconds(lambda: single.fit(X), repeats) / theirs,
        "one graph": seconds(lambda: one.fit(X), repeats) / theirs,
        "peak": peak(lambda: WeaveClustering(N_CLUSTERS, random_state=0).fit(X), n),
        "need": sum(need.values()),
        "fit/need": ours / sum(need.values()),
    }
    return {name: round(value, 3) for name, value in (figures | need).items()}


def machine() -> str:
    """Return the processor and its fastest vectors, as far as Linux tells them."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    found = {name.strip(): value.strip() for name, value in found.items()}
    name = found.get("model name", platform.processor() or "unknown")
    flags = found.get("flags", "").split()
    vectors = next((word for flag, word in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return ", ".join(filter(None, [name, vectors]))


def table(rows: Rows) -> str:
    """Return a line for every machine and size."""
    columns = list(next(iter(next(iter(rows.values())).values())))
    lines = [line(["machine", "n", *columns]), line(["---"] * (len(columns) + 2))]
    for where, sizes in rows.items():
        lines += [line([where, n, *(f"{one[name]:.2f}" for name in columns)]) for n, one in sizes.items()]
    return "\n".join(lines)


PAGE = Page("weave_speed", "Speed of the default", NOTE, table)


def main() -> None:
    """Measure every size, and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[1500, 5000])
    with threadpool_limits(1):
        for n in parser.parse_args().sizes:
            PAGE.keep(machine(), str(n), measure(n))
    PAGE.write()


if __name__ == "__main__":
    main()
