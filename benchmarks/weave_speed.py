"""How long a whole WeaveClustering fit takes beside scikit-learn's SpectralClustering of one kernel, and its memory.

`python -m benchmarks.weave_speed [n ...]`: ratios of CPU seconds on one thread, and peak memory in n x n matrices.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from kernelweave import WeaveClustering

N_FEATURES, N_CLUSTERS = 50, 10


def samples(n: int) -> np.ndarray:
    """Return overlapping groups on a curved sheet, so that neither method has it easy."""
    X, _ = make_blobs(n, n_features=N_FEATURES, centers=N_CLUSTERS, cluster_std=6.0, random_state=0)
    return X


def seconds(run: object, repeats: int) -> float:
    """Return the CPU seconds of the fastest of several runs."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        run()  # type: ignore[operator]
        best = min(best, time.process_time() - start)
    return float(best)


def peak(run: object, n: int) -> float:
    """Return the most memory that numpy held at once, in matrices of n x n double floats."""
    tracemalloc.start()
    run()  # type: ignore[operator]
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / (8 * n * n)


def main() -> None:
    """Print a row for every n."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[1500, 5000])
    print(f"{'n':>6} {'weave s':>8} {'spectral s':>10} {'ratio':>6} {'float32':>8} {'peak n²':>8}")
    with threadpool_limits(1):
        for n in parser.parse_args().sizes:
            X = samples(n)
            model = WeaveClustering(N_CLUSTERS, random_state=0).fit(X)
            K = np.maximum(model.consensus_kernel_, 0)
            single = WeaveClustering(N_CLUSTERS, random_state=0, dtype="float32")
            rival = SpectralClustering(N_CLUSTERS, affinity="precomputed", random_state=0)
            repeats = 3 if n < 3000 else 1
            ours, theirs = (
                seconds(lambda m=model, X=X: m.fit(X), repeats),
                seconds(lambda m=rival, K=K: m.fit(K), repeats),
            )
            short = seconds(lambda m=single, X=X: m.fit(X), repeats)
            del K
            fresh = WeaveClustering(N_CLUSTERS, random_state=0)
            most = peak(lambda m=fresh, X=X: m.fit(X), n)
            print(
                f"{n:6d} {ours:8.2f} {theirs:10.2f} {ours / theirs:6.2f} {short / theirs:8.2f} {most:8.2f}", flush=True
            )


if __name__ == "__main__":
    main()
