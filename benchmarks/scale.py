"""Weave with the solver "local" against the dense one, its rivals on large sets, and the cost of a million samples.

`python -m benchmarks.scale [section ...]`, sections small, letter, mnist, labels, million, growth: prints ratios and
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
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs
from sklearn.kernel_approximation import Nystroem
from sklearn.semi_supervised import LabelSpreading
from threadpoolctl import threadpool_limits

from benchmarks._sets import DATA, ROOT, load, usual_scale
from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information
from kernelweave.weave.local.neighbours import nearest

RESULTS = ROOT / "benchmarks" / "results" / "scale.json"
SEEDS = range(3)


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
    scaled = usual_scale(X, c)
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
    unit = usual_scale(X, len(np.unique(y)))
    rows = [classified("Weave", WeaveClassifier(random_state=0, verbose=1), X, y, each) for each in (7, 70)]
    index = nearest(unit, 7, seed=0).index  # scikit-learn's own search for 7 neighbours takes many minutes
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


def one_fit(n: int) -> dict[str, Any]:
    """Fit n samples and return what it cost; to be called in a process of its own, for its peak of memory."""
    X, warm = samples(n), samples(25_000)
    WeaveClustering(10, solver="local", random_state=0).fit(warm)  # numba compiles once
    before = peak()
    model, cpu, wall = timed(lambda: WeaveClustering(10, solver="local", random_state=0, verbose=1).fit(X))
    y = make_blobs(n, n_features=20, centers=10, cluster_std=5.0, random_state=0)[1]
    found = {"n": n, "cpu_s": round(cpu, 1), "wall_s": round(wall, 1), "recall": round(model.neighbor_recall_, 4)}
    found["ACC"] = round(float(clustering_accuracy(y, model.labels_)), 4)
    found["peak_over_X_GiB"] = round(peak() - before, 3)
    sparse.save_npz(ROOT / "benchmarks" / "results" / "_graph.npz", sparse.csr_matrix(model.graph_))
    return found


def parts(n: int) -> dict[str, Any]:
    """Return what pynndescent alone, and LOBPCG with pyamg on the graph of `one_fit`, cost."""
    from pyamg import smoothed_aggregation_solver
    from pynndescent import NNDescent
    from scipy.sparse.csgraph import laplacian
    from scipy.sparse.linalg import lobpcg

    NNDescent(samples(25_000), n_neighbors=16, random_state=0, n_jobs=1, compressed=True)  # numba compiles once
    X = samples(n)
    _, search, _ = timed(lambda: NNDescent(X, n_neighbors=16, random_state=0, n_jobs=1, compressed=True))
    path = ROOT / "benchmarks" / "results" / "_graph.npz"
    L = sparse.csr_matrix(laplacian(sparse.load_npz(path).astype(np.float64)))
    path.unlink()

    def eigenvectors() -> Any:
        shifted = L + 1e-6 * L.diagonal().mean() * sparse.eye(n, format="csr")
        M = smoothed_aggregation_solver(shifted).aspreconditioner()
        V = np.random.default_rng(0).standard_normal((n, 11))
        V[:, 0] = 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return lobpcg(L, V, M=M, largest=False, maxiter=60, tol=1e-2 * 1e-3 * L.diagonal().mean())

    (values, _), spectral, _ = timed(eigenvectors)
    return {"pynndescent_s": round(search, 1), "lobpcg_pyamg_s": round(spectral, 1), "values": np.sort(values).tolist()}


def in_a_process(function: str, n: int) -> dict[str, Any]:
    """Return what a function of this module finds for n, run in a fresh process."""
    code = f"import json; from benchmarks.scale import {function}; print(json.dumps({function}({n})))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(run.stdout.splitlines()[-1])
    print(found, flush=True)
    return found


def million() -> dict[str, Any]:
    """Measure a fit of 10^6 x 20 against its two large parts done by others."""
    ours = in_a_process("one_fit", 1_000_000)
    theirs = in_a_process("parts", 1_000_000)
    ratio = ours["cpu_s"] / (theirs["pynndescent_s"] + theirs["lobpcg_pyamg_s"])
    print(f"ratio {ratio:.2f}, peak {ours['peak_over_X_GiB']:.2f} GiB over X")
    return {"fit": ours, "parts": theirs, "ratio": round(ratio, 3)}


def growth() -> dict[str, Any]:
    """Measure how the cost of a fit grows with n."""
    rows = [in_a_process("one_fit", n) for n in (50_000, 100_000, 200_000)]
    n, cpu = (np.log([r[key] for r in rows]) for key in ("n", "cpu_s"))
    exponent = round(float(np.polyfit(n, cpu, 1)[0]), 2)
    print("exponent", exponent)
    return {"rows": rows, "exponent": exponent}


SECTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "small": small,
    "letter": lambda: clusterings("letter"),
    "mnist": lambda: clusterings("mnist"),
    "labels": labels,
    "million": million,
    "growth": growth,
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
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), choices=[*SECTIONS, []])
    with threadpool_limits(1):
        for name in parser.parse_args().sections:
            print(f"--- {name}", flush=True)
            found = SECTIONS[name]()
            results = (json.loads(RESULTS.read_text()) if RESULTS.exists() else {}) | {name: found}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            RESULTS.with_suffix(".md").write_text(as_markdown(results))


if __name__ == "__main__":
    main()
