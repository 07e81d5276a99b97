"""Search of the defaults of SMKL, KGL and PMKL: `python -m benchmarks.family_defaults [estimator ...] [--table]`.

A small search: one setting is changed at a time, on at most 300 samples of every set, with one or two draws; without
the scheme "exact", which takes minutes. Every figure is a row of benchmarks/results/family_defaults.json with the
commit that computed it. Rows that are there are not computed again, so that the command can be stopped and continued.
family_defaults.md shows the means.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine, make_blobs

import kernelweave
from benchmarks._sets import HELD_OUT, MORE, OTHERS, PAPER, ROOT, DataSet, load
from kernelweave.errors import NotFiniteError
from kernelweave.metrics import clustering_accuracy

RESULTS = ROOT / "benchmarks" / "results"
STORE, PAGE = RESULTS / "family_defaults.json", RESULTS / "family_defaults.md"

Row = dict[str, Any]
TOYS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "blobs": lambda: make_blobs(300, n_features=4, centers=5, random_state=1),
}
CHOICE = tuple(name for name in (*PAPER, *OTHERS, *MORE, *TOYS) if name not in HELD_OUT)
LARGEST = 300  # samples; more are drawn at random
LABELS = 5  # per class
DRAWS = 2  # of labels

BEFORE = {"scale": "none", "n_neighbors": "all"}  # and PMKL with gamma=0.1
COMMON = [
    {"scale": "none"},
    {"scale": "unit"},
    {"scale": "zscore"},
    {},
    {"n_neighbors": "all"},
    *({"n_neighbors": k} for k in (5, 7, 10, 20)),
    *({"alpha": alpha} for alpha in (0, 1e-3, 1e-2)),
]
GAMMAS = {"SMKL": (0.1, 0.3, 3), "KGL": (0.1, 0.3, 3), "PMKL": (0.1, 0.01, 0.0001)}
BETAS = [{"relative_beta": beta} for beta in (3, 300)]
SCHEMES = [{"scheme": "released"}, {"scheme": "released", "scale": "auto", "n_neighbors": 15}]


def before(estimator: str) -> dict[str, Any]:
    """Return the defaults of an estimator before this search."""
    return BEFORE | {"gamma": 0.1} if estimator.startswith("PMKL") else BEFORE


def settings(estimator: str) -> list[dict[str, Any]]:
    """Return what is tried for an estimator: its default, and one or two parameters changed."""
    family = estimator.removesuffix("Clustering").removesuffix("Classifier")
    kernels = [] if family == "KGL" else [{"kernels": "released-7" if "Clustering" in estimator else "released-12"}]
    betas = BETAS if family == "SMKL" else []
    return [before(estimator), *COMMON, *({"gamma": gamma} for gamma in GAMMAS[family]), *betas, *kernels, *SCHEMES]


ESTIMATORS = tuple(f"{family}{kind}" for kind in ("Clustering", "Classifier") for family in GAMMAS)


@cache
def data_set(name: str) -> DataSet:
    """Return a set of at most 300 samples, classes of fewer than 4 samples left out."""
    data = DataSet(name, [TOYS[name]()[0]], TOYS[name]()[1]) if name in TOYS else load(name)
    rows = np.sort(np.random.default_rng(0).permutation(len(data.y))[:LARGEST])
    y = np.unique(data.y[rows], return_inverse=True)[1]
    rows = rows[np.bincount(y)[y] >= 4]
    return DataSet(name, [X[rows] for X in data.views], np.unique(data.y[rows], return_inverse=True)[1])


def score(estimator: str, setting: dict[str, Any], data: DataSet) -> float:
    """Return the accuracy; 0 where the solver fails."""
    X = data.views[0] if len(data.views) == 1 else data.views
    make = getattr(kernelweave, estimator)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if estimator.endswith("Clustering"):
                return clustering_accuracy(data.y, make(data.c, n_init=3, random_state=0, **setting).fit(X).labels_)
            masks = [labelled(data.y, draw) for draw in range(DRAWS)]
            found = [make(**setting).fit(X, np.where(known, data.y, -1)).transduction_ for known in masks]
            right = [(labels == data.y)[~known].mean() for labels, known in zip(found, masks, strict=True)]
            return float(np.mean(right))
    except NotFiniteError:
        return 0.0


def labelled(y: np.ndarray, draw: int) -> np.ndarray:
    """Return which samples are labelled: 5 of every class, or half of a small one."""
    rng = np.random.default_rng(draw)
    known = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        known[rng.choice(members, min(LABELS, len(members) // 2), replace=False)] = True
    return known


def search(estimators: list[str], rows: list[Row]) -> Iterator[Row]:
    """Yield a row for every figure that is not there yet."""
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()
    done = {(row["estimator"], row["set"], json.dumps(row["setting"])) for row in rows}
    for name in (*CHOICE, *HELD_OUT):
        for estimator in estimators:
            if estimator.startswith("KGL") and len(data_set(name).views) > 1:
                continue  # it takes one kernel of one table
            for setting in settings(estimator) if name in CHOICE else (before(estimator), {}):
                if (estimator, name, json.dumps(setting)) not in done:
                    start = time.process_time()
                    found = score(estimator, setting, data_set(name))
                    row = {"estimator": estimator, "set": name, "setting": setting, "accuracy": round(found, 4)}
                    yield row | {"seconds": round(time.process_time() - start, 2), "commit": commit}
        print(name, flush=True)


def page(rows: list[Row]) -> str:
    """Return the means by estimator and setting, the best first."""
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    parts = [
        "# Defaults of SMKL, KGL and PMKL\n",
        f"Written by `python -m benchmarks.family_defaults` (commits {commits}). A small search: one setting changed "
        f"at a time, at most {LARGEST} samples of each set, clustering with one seed, classification from {LABELS} "
        f"labels per class with {DRAWS} draws. Differences below .01 mean little. Chosen on {', '.join(CHOICE)} (KGL: "
        f"those of one table); held out: {', '.join(HELD_OUT)}.\n",
    ]
    for estimator in ESTIMATORS:
        mine = [row for row in rows if row["estimator"] == estimator]
        means = {key: [_mean(mine, key, sets) for sets in (CHOICE, HELD_OUT)] for key in _keys(mine)}
        best = sorted(means, key=lambda key: -means[key][0])
        lines = ["| setting | mean accuracy | held out |", "| --- | --- | --- |"]
        lines += [f"| {_named(key)} | {means[key][0]:.3f} | {_cell(means[key][1])} |" for key in best]
        parts.append(f"## {estimator}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _keys(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(json.dumps(row["setting"]) for row in rows))


def _mean(rows: list[Row], key: str, sets: tuple[str, ...]) -> float:
    found = [row["accuracy"] for row in rows if row["set"] in sets and json.dumps(row["setting"]) == key]
    return float(np.mean(found)) if found else float("nan")


def _cell(mean: float) -> str:
    return "" if np.isnan(mean) else f"{mean:.3f}"


def _named(key: str) -> str:
    setting = json.loads(key)
    if BEFORE.items() <= setting.items():
        return "before: no scaling, all edges"
    return ", ".join(f"{name}={value!r}" for name, value in setting.items()) or "**default**"


def main() -> None:
    """Compute what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("estimators", nargs="*", default=[], help=f"of {', '.join(ESTIMATORS)}; all by default")
    parser.add_argument("--table", action="store_true", help="write the table of the stored rows only")
    arguments = parser.parse_args()
    rows: list[Row] = json.loads(STORE.read_text()) if STORE.exists() else []
    for row in () if arguments.table else search(arguments.estimators or list(ESTIMATORS), rows):
        rows.append(row)
        STORE.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    PAGE.write_text(page(rows))
    print(page(rows))


if __name__ == "__main__":
    main()
