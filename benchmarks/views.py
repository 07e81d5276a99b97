"""Several views against simpler things to do with them: `python -m benchmarks.views [--sets name ...]`.

SMKL and Weave with the kernels of all views, against k-means on all columns side by side, spectral clustering of the
average kernel, and the best single view. Nothing is tuned, but "best" is chosen by the labels, which favours the single
view. Every method sees the views on the scale that the library chooses. Stored in benchmarks/results/views.md.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans

from benchmarks._commits import computed, stamp
from benchmarks._rivals import kmeans, njw
from benchmarks._sets import ROOT, DataSet, load
from benchmarks.missing_views import smkl as smkl_of
from kernelweave import Views, WeaveClustering
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information

RESULTS = ROOT / "benchmarks" / "results"
SETS = ("breast_tcga", "mfeat", "3sources", "bbcsport")
OURS = ("WeaveClustering", "SMKLClustering")

Labels = np.ndarray


def weave(data: DataSet, seed: int, views: Views) -> Labels:
    """WeaveClustering as it comes."""
    return WeaveClustering(data.c, random_state=seed, dtype="float32").fit(views).labels_


def _all(data: DataSet) -> list[Views]:
    return [Views(data.views)]


def _each(data: DataSet) -> list[Views]:
    return [Views([view]) for view in data.views]


def _kmeans_of(data: DataSet, seed: int, views: Views) -> Labels:
    v = next(i for i, table in enumerate(data.views) if table.shape == views.tables[0].shape)
    return KMeans(data.c, n_init=10, random_state=seed).fit_predict(data.scaled[v])


# what is clustered (the best of several is kept, by the labels), how, and how many seeds
Method = tuple[Callable[[DataSet], list[Views]], Callable[[DataSet, int, Views], Labels], int]
METHODS: dict[str, Method] = {
    "WeaveClustering": (_all, weave, 5),
    "SMKLClustering": (_all, lambda data, seed, views: smkl_of(data, views), 1),
    "all columns + k-means": (_all, lambda data, seed, views: kmeans(data, seed), 5),
    "average kernel + spectral": (_all, lambda data, seed, views: njw(data, seed), 5),
    "best single view, k-means": (_each, _kmeans_of, 3),
    "best single view, SMKLClustering": (_each, lambda data, seed, views: smkl_of(data, views), 1),
    "best single view, WeaveClustering": (_each, weave, 1),
}


def run(name: str) -> dict[str, dict[str, float]]:
    """Return ACC and NMI of every method on one set, means over seeds, of the best view by NMI if there is a choice."""
    data = load(name)
    rows = {}
    for method, (choices, labels, n_seeds) in METHODS.items():
        scored = [_score(data, [labels(data, seed, views) for seed in range(n_seeds)]) for views in choices(data)]
        rows[method] = max(scored, key=lambda row: row["nmi"])
        print(name, method, rows[method], flush=True)
    return rows


def _score(data: DataSet, found: list[Labels]) -> dict[str, float]:
    return {
        "acc": round(float(np.mean([clustering_accuracy(data.y, labels) for labels in found])), 4),
        "nmi": round(float(np.mean([normalized_mutual_information(data.y, labels) for labels in found])), 4),
    }


def table(stored: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return the figures as a table, the best of a column in bold."""
    best = {name: max(row["nmi"] for row in rows.values()) for name, rows in stored.items()}
    lines = [f"| NMI (ACC) | {' | '.join(stored)} |", f"|---|{'---|' * len(stored)}"]
    for method in METHODS:
        cells = []
        for name, rows in stored.items():
            text = f"{rows[method]['nmi']:.3f} ({rows[method]['acc']:.3f})"
            cells.append(f"**{text}**" if rows[method]["nmi"] == best[name] else text)
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def verdict(stored: dict[str, dict[str, dict[str, float]]]) -> str:
    """Say where our methods win and where they do not, by NMI."""
    lines = []
    for ours in OURS:
        for rival in METHODS:
            if rival in OURS:
                continue
            lost = [name for name, rows in stored.items() if rows[ours]["nmi"] <= rows[rival]["nmi"]]
            where = f"behind or equal on {', '.join(lost)}" if lost else "ahead on every set"
            lines.append(f"- {ours} against {rival}: {where}.")
    return "\n".join(lines)


def main() -> None:
    """Run the sets that were asked for and write both result files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    path = RESULTS / "views.json"
    for name in parser.parse_args().sets:
        rows = run(name)
        stored = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(stored | {name: rows}, indent=1) + "\n")
        stamp("views", name)
    stored = json.loads(path.read_text())
    stored = {name: stored[name] for name in SETS if name in stored}
    note = (
        "Written by `python -m benchmarks.views`. Nothing is tuned; the best single view is chosen by the labels, "
        "which a user does not have. SMKL takes 7 kernels of each view of mfeat, 12 elsewhere."
    )
    parts = ["# Several views", note, table(stored), verdict(stored), computed("views")]
    (RESULTS / "views.md").write_text("\n\n".join(parts) + "\n")
    print(table(stored) + "\n\n" + verdict(stored))


if __name__ == "__main__":
    main()
