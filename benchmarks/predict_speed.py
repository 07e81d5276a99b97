"""How many new samples per second a fitted model answers for, beside 10 nearest neighbours: CPU time of one thread.

`python -m benchmarks.predict_speed [models]` fits each model, predicts 20,000 new samples by it and by scikit-learn's
KNeighborsClassifier on the same training samples in turn, and stores rows per second, the ratio of the times, and the
most memory that a prediction takes beyond the samples and the model. `--precision` compares the labels that dense
models give to a fifth of the samples of each data set in single and in double precision.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_blobs
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from benchmarks._sets import load
from benchmarks._stored import Page, Rows, line
from benchmarks.new_samples import samples
from kernelweave import SMKLClustering, WeaveClassifier, WeaveClustering

SETS = ("digits", "coil20", "jaffe", "yale", "tr11", "orl", "bbcsport", "3sources", "msrcv1", "webkb", "breast_tcga")
N_NEW = 20_000
ROUNDS = 3


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 1500 digits, their classes, and new ones: digits with noise."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))[:1500]
    new = X[rng.integers(0, len(X), N_NEW)] + 0.5 * rng.normal(size=(N_NEW, X.shape[1]))
    return X[order], y[order], new


def blobs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return 20,000 samples of ten groups in 20 columns, and as many new ones."""
    X, y = make_blobs(2 * N_NEW, n_features=20, centers=10, cluster_std=4.0, random_state=0)
    return X[:N_NEW], y[:N_NEW], X[N_NEW:]


MODELS: dict[str, tuple[Callable[[], Any], Any]] = {
    "dense": (digits, WeaveClustering(10, solver="dense", random_state=0)),
    "dense, double precision": (digits, WeaveClustering(10, solver="dense", dtype="float64", random_state=0)),
    "SMKL": (digits, SMKLClustering(10, random_state=0)),
    "local": (blobs, WeaveClustering(10, solver="local", random_state=0)),
    "landmark": (blobs, WeaveClustering(10, solver="landmark", random_state=0)),
}


def measure(name: str) -> dict[str, float]:
    """Return the figures of one model."""
    draw, model = MODELS[name]
    X, y, new = draw()
    model.fit(X)
    rival = KNeighborsClassifier(10).fit(X, y)
    model.predict(new[:100])  # what is computed once
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(seconds(lambda: model.predict(new)))
        theirs.append(seconds(lambda: rival.predict(new)))
    return {
        "n": len(X),
        "columns": X.shape[1],
        "rows per second": N_NEW / min(ours),
        "10-NN rows per second": N_NEW / min(theirs),
        "ratio": min(ours) / min(theirs),
        "MiB": peak(lambda: model.predict(new)),
        "MiB of a tenth": peak(lambda: model.predict(new[: N_NEW // 10])),
    }


def same_labels(name: str) -> dict[str, int]:
    """Return how many new samples get the same cluster, and the same class, in single precision as in double."""
    data = load(name)
    order = np.random.default_rng(0).permutation(len(data.y))
    old, new = np.sort(order[: int(0.8 * len(order))]), np.sort(order[int(0.8 * len(order)) :])
    labels = np.where(np.arange(len(old)) % 10 == 0, data.y[old], -1)
    clusters = WeaveClustering(data.c, solver="dense", dtype="float64", random_state=0)
    classes = WeaveClassifier(solver="dense", dtype="float64")
    found = {"new": len(new)}
    for kind, model in (("clusters", clusters), ("classes", classes)):
        model.fit(samples(data.views, old), labels)
        double = model.predict(samples(data.views, new))
        joiner = model._graph_model.joiner
        vars(joiner)["_border"] = joiner._border.astype(np.dtype(np.float32))
        found[kind] = int((model.predict(samples(data.views, new)) == double).sum())
    return found


def seconds(run: Callable[[], Any]) -> float:
    """Return the CPU seconds of one run."""
    start = time.process_time()
    run()
    return time.process_time() - start


def peak(run: Callable[[], Any]) -> float:
    """Return the most memory in MiB that a run takes beyond what there was before."""
    tracemalloc.start()
    run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 2**20


def table(rows: Rows) -> str:
    """Return the figures as a table."""
    head = ("model", "training samples", "rows/s", "10-NN rows/s", "time / 10-NN", "MiB", "MiB for 2,000")
    lines = [line(head), line(["---"] * len(head))]
    for name, found in rows["predict"].items():
        counts = f"{found['n']:,} x {found['columns']}"
        speeds = (f"{found[key]:,.0f}" for key in ("rows per second", "10-NN rows per second"))
        memory = (f"{found[key]:.1f}" for key in ("MiB", "MiB of a tenth"))
        lines.append(line([name, counts, *speeds, f"{found['ratio']:.2f}", *memory]))
    lines += ["", "New samples with the same label in single and double precision, dense models:", ""]
    lines += [line(("data set", "new samples", "clusters", "classes")), line(["---"] * 4)]
    for name, found in rows.get("precision", {}).items():
        lines.append(line([name, *(str(found[key]) for key in ("new", "clusters", "classes"))]))
    return "\n".join(lines)


PAGE = Page(
    "predict_speed",
    "Speed of predictions",
    "Printed by `python -m benchmarks.predict_speed`: 20,000 new samples, CPU time of one thread, the fastest of three "
    "runs; 10-NN is scikit-learn's KNeighborsClassifier, measured in turn with it. Memory is beyond the model and the "
    "samples.",
    table,
)


def main() -> None:
    """Measure the models, store and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), help="only these; the others keep their figures")
    parser.add_argument("--precision", action="store_true", help="compare labels in both precisions, and nothing else")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for name in SETS if given.precision else given.models:
            PAGE.keep(
                *(("precision", name, same_labels(name)) if given.precision else ("predict", name, measure(name)))
            )
    PAGE.write()


if __name__ == "__main__":
    main()
