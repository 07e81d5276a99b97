"""The clustering baselines: figures beside the published ones, seconds per iteration and the share of BLAS.

`python -m benchmarks.baselines [name ...] [--seeds 20] [--only figures|speed]`: accuracy/NMI as means over seeds with
the released kernels and k-means; then speed on TR41, in CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from kernelweave.baselines import AASC, MKKM, RMKKM, SSR, KernelSpectralClustering, rmkkm
from kernelweave.core.partitions import kernel_centres as kmeans
from kernelweave.datasets import load_dataset
from kernelweave.kernels import recipe
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("KERNELWEAVE_DATA", ROOT.parent / "shared" / "data"))

PUBLISHED = {
    "SC": {
        "yale": ".494/.529", "jaffe": ".749/.821", "tr11": ".510/.431", "tr45": ".574/.480", "tr41": ".635/.613"
    },
    "MKKM": {
        "yale": ".457/.501", "jaffe": ".746/.798", "tr11": ".501/.446", "tr45": ".585/.562", "tr41": ".561/.578"
    },
    "RMKKM": {
        "yale": ".522/.556", "jaffe": ".871/.894", "tr11": ".577/.561", "tr45": ".640/.627", "tr41": ".627/.635"
    },
    "AASC released": {
        "yale": ".406/.468", "jaffe": ".304/.272", "tr11": ".472/.394", "tr45": ".526/.419", "tr41": ".459/.431"
    },
    "SSR": {
        "yale": ".546/.573", "jaffe": ".873/.929", "tr11": ".411/.276", "tr45": ".715/.678", "tr41": ".638/.596"
    },
}  # fmt: skip
NEARLY_IDENTITY = ("gaussian(t=0.01)", "gaussian(t=0.05)", "gaussian(t=0.1)")

Score = tuple[float, float]


class Data:
    """One data set with its twelve kernel matrices."""

    def __init__(self, name: str) -> None:
        home = DATA / "paper" if (DATA / "paper").is_dir() else DATA
        bunch = load_dataset(name, data_home=home)
        self.X, self.y, self.c = bunch.data, bunch.target, len(np.unique(bunch.target))
        bank = recipe("released-12")
        self.H = bank.fit_grams(self.X)
        self.named = dict(zip(bank.names, self.H, strict=True))

    def score(self, partitions: list[Any]) -> Score:
        """Return mean accuracy and NMI."""
        accuracy = np.mean([clustering_accuracy(self.y, z) for z in partitions])
        return float(accuracy), float(np.mean([normalized_mutual_information(self.y, z) for z in partitions]))

    def rows(self, model: Any, seeds: int) -> Score:
        """Return the score of a fitted spectral method whose k-means alone depends on the seed."""
        return self.score([model.labels_for(seed) for seed in range(seeds)])


def spectral(data: Data, seeds: int, **parameters: Any) -> Score:
    """Return the best score over the twelve kernels, for accuracy and NMI separately, as published."""
    models = [KernelSpectralClustering(data.c, kernel="precomputed", **parameters).fit(K) for K in data.H]
    accuracy, nmi = zip(*(data.rows(model, seeds) for model in models), strict=True)
    return max(accuracy), max(nmi)


def k_means(data: Data, seeds: int, model: Callable[..., Any], **parameters: Any) -> Score:
    """Return the score of a method that is random as a whole."""
    fits = (model(data.c, kernels="precomputed", random_state=s, **parameters).fit(data.H) for s in range(seeds))
    return data.score([fit.labels_ for fit in fits])


METHODS: dict[str, Callable[[Data, int], Score]] = {
    "SC": lambda d, s: spectral(d, s, init="released"),
    "SC k-means++": spectral,
    "SC njw": lambda d, s: spectral(d, s, laplacian="njw"),
    "MKKM": lambda d, s: k_means(d, s, MKKM, n_init=1, empty="released", tol=1e-5),
    "MKKM refilled": lambda d, s: k_means(d, s, MKKM, n_init=1),
    "RMKKM": lambda d, s: k_means(d, s, RMKKM, gamma=0.4),
    "AASC released": lambda d, s: d.rows(
        AASC(d.c, kernels="precomputed", scheme="released", init="released").fit(d.H), s
    ),
    "AASC": lambda d, s: d.rows(AASC(d.c, kernels="precomputed").fit(d.H), s),
    "AASC, t > 0.1": lambda d, s: d.rows(
        AASC(d.c, kernels="precomputed").fit({k: K for k, K in d.named.items() if k not in NEARLY_IDENTITY}), s
    ),
    "SSR": lambda d, s: d.rows(SSR(d.c).fit(d.X), s),
}


def print_figures(names: list[str], seeds: int) -> None:
    """Print a row for every data set and method."""
    print(f"{'data':6} {'method':14} {'accuracy/NMI':>13} {'published':>10} {'CPU s':>7}   (mean of {seeds} seeds)")
    for name in names:
        data = Data(name)
        for method, run in METHODS.items():
            begun = time.process_time()
            accuracy, nmi = run(data, seeds)
            spent = time.process_time() - begun
            published = PUBLISHED.get(method, {}).get(name, "")
            print(f"{name:6} {method:14} {accuracy:.3f}/{nmi:.3f}   {published:>10} {spent:7.1f}", flush=True)


@contextmanager
def recorded() -> Iterator[list[tuple[int, ...]]]:
    """Record the shape of the left factor of every product with a kernel matrix; () is a combination of all."""
    log: list[tuple[int, ...]] = []
    distances, combine = kmeans.centre_distances, rmkkm.combine

    def logged_distances(K: Any, A: Any) -> Any:
        log.append((A.size // len(K), len(K)))
        return distances(K, A)

    def logged_combine(H: Any, w: Any) -> Any:
        log.append(())
        return combine(H, w)

    modules = (kmeans, rmkkm)
    try:
        for module in modules:
            module.centre_distances = logged_distances
        rmkkm.combine = logged_combine
        yield log
    finally:
        for module in modules:
            module.centre_distances = distances
        rmkkm.combine = combine


def bare_seconds(H: Any, log: list[tuple[int, ...]]) -> float:
    """Return the CPU seconds of the recorded products alone."""
    r, n, _ = H.shape
    weights, left = np.full(r, 1 / r), {shape: np.ones(shape) for shape in set(log) if shape}
    begun = time.process_time()
    for i, shape in enumerate(log):
        if shape:
            left[shape] @ H[i % r]
        else:
            weights @ H.reshape(r, n * n)
    return time.process_time() - begun


def print_speed(name: str, repeats: int = 5) -> None:
    """Print seconds per outer iteration, and the share of the time that the matrix products alone take."""
    data = Data(name)
    H, n = data.H.copy(), len(data.y)
    for K in H:
        kmeans.centred_kernel(K)

    def run_rmkkm(seed: int) -> int:
        rng = np.random.default_rng(seed)
        run = rmkkm.robust_multiple_kernel_kmeans(H, data.c, gamma=0.4, max_iter=50, tol=1e-6, rng=rng)
        return len(run.history)

    runs = {"RMKKM": run_rmkkm}  # MKKM, which updates its sums, is in benchmarks.slow_baselines
    print(f"{name}: n = {n}, {len(H)} kernels, {repeats} runs, one thread")
    print(f"{'method':16} {'iterations':>10} {'CPU s/iteration':>16} {'share of BLAS':>14}")
    for method, run in runs.items():
        begun = time.process_time()
        iterations = sum(run(seed) for seed in range(repeats))
        spent = time.process_time() - begun
        with recorded() as log:
            for seed in range(repeats):
                run(seed)
        share = bare_seconds(H, log) / spent
        print(f"{method:16} {iterations / repeats:10.1f} {spent / iterations:16.4f} {share:14.2f}", flush=True)


def main() -> None:
    """Print figures and speed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=["yale", "jaffe", "tr11"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=["figures", "speed"])
    options = parser.parse_args()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if options.only != "speed":
            print_figures(options.names, options.seeds)
        if options.only != "figures":
            print_speed("tr41")


if __name__ == "__main__":
    main()
