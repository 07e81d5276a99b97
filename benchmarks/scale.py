"""Weave with the solver "local" against the dense one, its rivals on large sets, and the cost of a million samples.

`python -m benchmarks.scale [section ...]`, sections small, letter, mnist, labels, million: prints ratios and
keeps every figure in benchmarks/results/scale.json and scale.md. Seconds are CPU seconds on one thread.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs
from sklearn.kernel_approximation import Nystroem
from sklearn.semi_supervised import LabelSpreading
from threadpoolctl import threadpool_limits

from benchmarks._commits import computed, stamp
from benchmarks._sets import DATA, ROOT, load, usual_scale
from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information
from kernelweave.weave.local.neighbours import nearest

RESULTS = ROOT / "benchmarks" / "results" / "scale.json"
SEEDS = range(3)
_NEW = 20_000  # samples to predict


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what a function gives, its CPU seconds and its seconds by the clock."""
    cpu, wall = time.process_time(), time.monotonic()
    found = run()
    return found, time.process_time() - cpu, time.monotonic() - wall


def row(name: str, y: Any, labels: Any, cpu: float, wall: float) -> dict[str, Any]:
    """Return one line of a table of clusterings, printed as well."""
    found = {
        "method": name,
        "ACC": round(float(clustering_accuracy(y, labels)), 4),
        "NMI": round(float(normalized_mutual_information(y, labels)), 4),
        "cpu_s": round(cpu, 2),
        "wall_s": round(wall, 2),
    }
    print(found, flush=True)
    return found


def small() -> dict[str, Any]:
    """Compare local and dense clusterings on four sets that the dense solver holds with ease."""
    rows = []
    for name in ("digits", "coil20", "tr11", "mfeat"):
        data = load(name)
        X = data.views[0] if len(data.views) == 1 else {f"view {v}": table for v, table in enumerate(data.views)}
        found = {"set": name}
        for solver in ("dense", "local"):
            fits = [WeaveClustering(data.c, solver=solver, random_state=s).fit(X) for s in SEEDS]
            found[solver] = round(float(np.mean([clustering_accuracy(data.y, m.labels_) for m in fits])), 4)
        print(found, flush=True)
        rows.append(found)
    mean = {solver: round(float(np.mean([r[solver] for r in rows])), 4) for solver in ("dense", "local")}
    print("mean", mean, "local - dense", round(mean["local"] - mean["dense"], 4))
    return {"rows": rows, "mean": mean, "difference": round(mean["local"] - mean["dense"], 4)}


def large(name: str) -> tuple[Any, Any]:
    """Return the samples and classes of one of the large sets."""
    with np.load(DATA / "extra" / f"{name}.npz") as file:
        return file["X"].astype(np.float32), file["y"]


def clusterings(name: str) -> dict[str, Any]:
    """Cluster a large set by Weave with its defaults, and by what else is at hand at that size."""
    X, y = large(name)
    c = len(np.unique(y))
    scaled = usual_scale(X)
    rows = []
    for s in SEEDS if len(y) < 50_000 else range(1):
        model, cpu, wall = timed(lambda s=s: WeaveClustering(c, random_state=s, verbose=1).fit(X))
        rows.append(row(f"Weave {model.solver_.name}, seed {s}", y, model.labels_, cpu, wall))
        rows[-1]["recall"] = round(model.neighbor_recall_, 4)
    for label, make in {
        "KMeans, 3 starts": lambda: KMeans(c, n_init=3, random_state=0).fit(scaled).labels_,
        "MiniBatchKMeans, 10 starts": lambda: MiniBatchKMeans(c, n_init=10, random_state=0).fit(scaled).labels_,
        "Nystroem(500) + KMeans, 3 starts": lambda: _nystroem(scaled, c),
    }.items():
        rows.append(row(label, y, *timed(make)))
    return {"rows": rows}


def _nystroem(X: Any, c: int) -> Any:
    some = X[np.random.RandomState(0).choice(len(X), 1000, replace=False)]
    spread = float(((some[:500] - some[500:]) ** 2).sum(axis=1).mean())
    features = Nystroem(gamma=1 / spread, n_components=500, random_state=0).fit_transform(X)
    return KMeans(c, n_init=3, random_state=0).fit(features).labels_


def labels() -> dict[str, Any]:
    """Classify MNIST from 7 and 70 labels of each class, beside scikit-learn's LabelSpreading on its kNN graph."""
    X, y = large("mnist")
    unit = usual_scale(X)
    rows = [classified("Weave", WeaveClassifier(random_state=0, verbose=1), X, y, each) for each in (7, 70)]
    index = nearest(unit, 7, seed=0).positions  # scikit-learn's own search for 7 neighbours takes many minutes
    for each in (7, 70):
        model = LabelSpreading(kernel=lambda X, _: knn_graph(index), max_iter=100)
        rows.append(classified("LabelSpreading, kNN", model, unit, y, each))
    return {"rows": rows}


def classified(name: str, model: Any, X: Any, y: Any, each: int) -> dict[str, Any]:
    """Return how many of the unlabelled samples a model gets right from so many labels of each class."""
    known = np.zeros(len(y), dtype=bool)
    rng = np.random.RandomState(0)
    for c in np.unique(y):
        known[rng.choice(np.flatnonzero(y == c), each, replace=False)] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted, cpu, _ = timed(lambda: model.fit(X, np.where(known, y, -1)))
    right = float((fitted.transduction_ == y)[~known].mean())
    found = {"labels": int(known.sum()), "method": name, "accuracy": round(right, 4), "cpu_s": round(cpu, 1)}
    print(found, flush=True)
    return found


def knn_graph(index: Any) -> Any:
    """Return the graph that LabelSpreading makes with kernel="knn": a one for each neighbour, and for itself."""
    n, k = index.shape
    columns = np.hstack([np.arange(n)[:, None], index]).ravel()
    return sparse.csr_matrix((np.ones(len(columns)), columns, np.arange(0, len(columns) + 1, k + 1)), shape=(n, n))


def samples(n: int) -> Any:
    """Return n samples of ten overlapping groups in 20 dimensions, in single precision."""
    return make_blobs(n, n_features=20, centers=10, cluster_std=5.0, random_state=0)[0].astype(np.float32)


def peak() -> float:
    """Return the most memory that this process has held, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def held() -> float:
    """Return the memory that this process holds now, in GiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**30


def one_fit(n: int) -> dict[str, Any]:
    """Fit n samples and predict others, and return what it cost; the first fit of a process of its own."""
    X = samples(n + _NEW)
    y = make_blobs(n + _NEW, n_features=20, centers=10, cluster_std=5.0, random_state=0)[1]
    before = held()
    model, cpu, wall = timed(lambda: WeaveClustering(10, solver="local", random_state=0, verbose=1).fit(X[:n]))
    found = {"n": n, "cpu_s": round(cpu, 1), "wall_s": round(wall, 1), "recall": round(model.neighbor_recall_, 4)}
    found["ACC"] = round(float(clustering_accuracy(y[:n], model.labels_)), 4)
    found["peak_over_X_GiB"] = round(peak() - before, 3)
    model.predict(X[n : n + 10])  # prepares the search
    again, cpu, _ = timed(lambda: model.predict(X[n:]))
    found["ACC_new"] = round(float(clustering_accuracy(y[n:], again)), 4)
    found["new_rows_per_cpu_s"] = round(_NEW / cpu)
    return found


def in_a_process(function: str, n: int) -> dict[str, Any]:
    """Return what a function of this module finds for n, run in a fresh process."""
    code = f"import json; from benchmarks.scale import {function}; print(json.dumps({function}({n})))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(run.stdout.splitlines()[-1])
    print(found, flush=True)
    return found


def million() -> dict[str, Any]:
    """Measure fits of 10^5 and 10^6 x 20 and predictions, and how the time grows."""
    rows = [in_a_process("one_fit", n) for n in (100_000, 1_000_000)]
    exponent = round(float(np.log10(rows[1]["cpu_s"] / rows[0]["cpu_s"])), 2)
    print("exponent", exponent)
    return {"rows": rows, "exponent": exponent}


SECTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "small": small,
    "letter": lambda: clusterings("letter"),
    "mnist": lambda: clusterings("mnist"),
    "labels": labels,
    "million": million,
}


def as_markdown(results: dict[str, Any]) -> str:
    """Return the stored figures as tables."""
    lines = ["# Weave at scale", "", "Printed by `python -m benchmarks.scale`; CPU seconds, one thread.", ""]
    for name, found in results.items():
        lines += [f"## {name}", ""]
        rows = found.get("rows", [])
        if rows:
            keys = list(dict.fromkeys(key for r in rows for key in r))
            lines += ["| " + " | ".join(keys) + " |", "|" + "---|" * len(keys)]
            lines += ["| " + " | ".join(str(r.get(key, "")) for key in keys) + " |" for r in rows] + [""]
        lines += [f"- {key}: {value}" for key, value in found.items() if key != "rows"] + [""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Run the sections that are asked for, and store what they find beside what others found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="all if none is named")
    with threadpool_limits(1):
        for name in parser.parse_args().sections or SECTIONS:
            print(f"--- {name}", flush=True)
            found = SECTIONS[name]()
            results = (json.loads(RESULTS.read_text()) if RESULTS.exists() else {}) | {name: found}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            stamp("scale", name)
            RESULTS.with_suffix(".md").write_text(f"{as_markdown(results)}\n{computed('scale')}\n")


if __name__ == "__main__":
    main()
