"""The landmark solver beside the dense one, beside rivals on many samples, and on dask.

`python -m benchmarks.landmark [quality] [mnist] [million] [dask] [cost]` runs these sections (all without arguments)
and keeps them in results/landmark.json and results/landmark.md; sections that were not run stay as they were.
"""

from __future__ import annotations

import argparse
import json
import time
from math import log10
from typing import Any

import numpy as np

from benchmarks._commits import computed, stamp
from benchmarks._landmark import landmark_fit, passes_begin
from benchmarks._large import CLUSTERS, RESULTS, RIVALS, blobs, extra, fresh, measured, nystroem
from benchmarks._sets import load
from benchmarks.landmark_cost import cost_section
from benchmarks.landmark_dask import dask_section
from kernelweave import Dense, Landmark, WeaveClassifier, WeaveClustering
from kernelweave.metrics import clustering_accuracy

SETS = ("digits", "coil20", "tr11", "mfeat")
SEEDS = range(5)
M = 500
MILLION = 10**6


def quality() -> dict[str, Any]:
    """Return the mean accuracy of dense and landmark fits (m = n/4), each set's views side by side."""
    rows: dict[str, dict[str, float]] = {}
    for name in SETS:
        data = load(name)
        X, n = (data.views[0] if len(data.views) == 1 else data.joined), len(data.y)
        rows[name] = {}
        for solver in (Dense(), Landmark(n_landmarks=n // 4)):
            models = [WeaveClustering(data.c, solver=solver, random_state=seed).fit(X) for seed in SEEDS]
            rows[name][solver.name] = float(np.mean([clustering_accuracy(data.y, m.labels_) for m in models]))
    rows["mean"] = {solver: float(np.mean([row[solver] for row in rows.values()])) for solver in ("dense", "landmark")}
    return rows


def mnist() -> dict[str, Any]:
    """Return accuracy and CPU seconds of the landmark solver with its defaults, three seeds, and of the rivals, one."""
    found: dict[str, Any] = {}
    for name in ("mnist", "letter"):
        X, y = extra(name)
        c = len(np.unique(y))
        methods = {"landmark": _landmark, **RIVALS}
        found[name] = {}
        for method, run in methods.items():
            seeds = 3 if method == "landmark" else 1
            labels, cost = zip(
                *(measured(lambda run=run, X=X, c=c, s=s: run(X, c, s)) for s in range(seeds)), strict=True
            )
            accuracies = [clustering_accuracy(y, z) for z in labels]
            cpu = float(np.mean([each["cpu"] for each in cost]))
            found[name][method] = {"acc": float(np.mean(accuracies)), "all": accuracies, "cpu": cpu}
            print(name, method, found[name][method], flush=True)
    found["labels"] = _classified()
    return found


def _landmark(X: np.ndarray, c: int, seed: int) -> np.ndarray:
    return WeaveClustering(c, solver="landmark", random_state=seed).fit(X).labels_


def _classified() -> dict[str, float]:
    """Return the accuracy on unlabelled MNIST samples with 7 and 70 labels of each class."""
    X, y = extra("mnist")
    found = {}
    for per in (7, 70):
        rng = np.random.default_rng(0)
        known = np.concatenate([rng.choice(np.flatnonzero(y == c), per, replace=False) for c in range(10)])
        partial = np.full(len(y), -1)
        partial[known] = y[known]
        model = WeaveClassifier(solver="landmark", random_state=0).fit(X, partial)
        found[str(10 * per)] = float((model.transduction_ == y)[partial < 0].mean())
    return found


def million() -> dict[str, Any]:
    """Return seconds and memory over X at 10^5 and 10^6 samples, each in a process of its own."""
    sizes, methods = (MILLION // 10, MILLION), ("landmark", "nystroem")
    rows = [fresh("benchmarks.landmark", "--one", method, str(n)) for n in sizes for method in methods]
    cost = {(row["method"], row["n"]): row for row in rows}
    ours, theirs = cost["landmark", MILLION], cost["nystroem", MILLION]
    return {
        "rows": rows,
        "ratio": ours["cpu"] / theirs["cpu"],
        "exponent": log10(ours["cpu"] / cost["landmark", MILLION // 10]["cpu"]),
        "exponent_of_the_pass": log10(ours["pass"] / cost["landmark", MILLION // 10]["pass"]),
    }


def one(method: str, n: int) -> dict[str, Any]:
    """Return what one fit of n x 50 samples costs, and how much of that is the pass over all of them."""
    X = blobs(n)
    with passes_begin() as began:
        _, cost = measured(lambda: landmark_fit(X, M) if method == "landmark" else nystroem(X, CLUSTERS, 0))
    return {"method": method, "n": n, **cost, "pass": time.process_time() - (began[0] if began else 0.0)}


def main() -> None:
    """Run the sections that were asked for and store them."""
    sections = {"quality": quality, "mnist": mnist, "million": million, "dask": dask_section, "cost": cost_section}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "N"))
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one[0], int(arguments.one[1]))))
        return
    path = RESULTS / "landmark.json"
    for name in arguments.sections or sections:
        found = sections[name]()
        stored = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**stored, name: found}, indent=1) + "\n")
        stamp("landmark", name)
        print(name, json.dumps(found), flush=True)
    (RESULTS / "landmark.md").write_text(f"{as_markdown(json.loads(path.read_text()))}\n{computed('landmark')}\n")


def as_markdown(stored: dict[str, Any]) -> str:
    """Return the stored sections as tables."""
    lines = ["# The landmark solver, measured", "", "`python -m benchmarks.landmark`; CPU seconds, one thread.", ""]
    if "quality" in stored:
        lines += ["| ACC, m = n/4 | dense | landmark |", "|---|---|---|"]
        lines += [f"| {name} | {row['dense']:.3f} | {row['landmark']:.3f} |" for name, row in stored["quality"].items()]
    for name in ("mnist", "letter") if "mnist" in stored else ():
        lines += ["", f"| {name} | ACC | CPU s |", "|---|---|---|"]
        lines += [f"| {k} | {row['acc']:.3f} | {row['cpu']:.1f} |" for k, row in stored["mnist"][name].items()]
    if "mnist" in stored:
        told = ", ".join(f"{value:.3f} with {k} labels" for k, value in stored["mnist"]["labels"].items())
        lines += ["", f"Classes of MNIST through landmarks: {told}."]
    if "million" in stored:
        found = stored["million"]
        lines += [
            "",
            "| 50 features, m = 500, 12 kernels | n | CPU s | in the pass | MiB over X |",
            "|---|---|---|---|---|",
        ]
        for r in found["rows"]:
            within = f"{r['pass']:.1f}" if r["method"] == "landmark" else ""
            lines.append(f"| {r['method']} | {r['n']} | {r['cpu']:.1f} | {within} | {r['peak_mib']:.0f} |")
        lines += ["", f"Ratio {found['ratio']:.2f}, exponent {found['exponent']:.2f}, "]
        lines[-1] += f"of the pass {found['exponent_of_the_pass']:.2f}."
    if "dask" in stored:
        lines += ["", "| dask, two local workers | |", "|---|---|"]
        lines += [f"| {k} | {v} |" for k, v in stored["dask"].items()]
    if "cost" in stored:
        lines += ["", "| exponent of the pass in | measured |", "|---|---|"]
        lines += [f"| {k} | {v:.2f} |" for k, v in stored["cost"]["exponents"].items()]
        lines += ["", "| checked | predicted s | measured s |", "|---|---|---|"]
        lines += [f"| {r['what']} | {r['predicted']:.1f} | {r['measured']:.1f} |" for r in stored["cost"]["checked"]]
        lines += ["", "| rows | workers | hours | GiB per worker | GiB at the client |", "|---|---|---|---|---|"]
        lines += [
            f"| {r['n']:.0e} | {r['workers']} | {r['hours']:.2f} | {r['worker_gib']:.2f} | {r['client_gib']:.2f} |"
            for r in stored["cost"]["predicted"]
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
