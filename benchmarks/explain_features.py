"""Whether `explain_clusters` finds what is there: `python -m benchmarks.explain_features [--repeats 20]`.

Planted features in simulations, known markers of real sets beside permuted copies of their columns, and noise. Stored
in benchmarks/results/explain.md.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from benchmarks._sets import ROOT
from benchmarks._tables import Row, markdown, show
from kernelweave import WeaveClustering
from kernelweave.explain import Explanation, explain_clusters

RESULTS = ROOT / "benchmarks" / "results"
TOP = 10
RATE = 0.05

# From the descriptions of the sets and the literature on them, not from this library.
REAL: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "iris": (load_iris, ("petal length (cm)", "petal width (cm)")),
    "wine": (load_wine, ("flavanoids", "proline", "color_intensity")),
    "breast cancer": (load_breast_cancer, ("worst concave points", "worst perimeter", "worst radius")),
}


def simulated(n_clusters: int, rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, set[str]], int]:
    """Return 200 columns of which five of every cluster are shifted by three standard deviations, up or down."""
    y = rng.integers(n_clusters, size=60 * n_clusters)
    X = rng.normal(size=(len(y), 200))
    markers = rng.permutation(200)[: 5 * n_clusters].reshape(n_clusters, 5)
    for k, own in enumerate(markers):
        X[np.ix_(y == k, own)] += 3 * rng.choice([-1, 1], 5)
    scale = np.exp(rng.normal(size=200))
    table = pd.DataFrame(X * scale, columns=[f"f{j}" for j in range(200)])
    return table, {str(k): {f"f{j}" for j in own} for k, own in enumerate(markers)}, n_clusters


def noisy(load: Callable[..., Any], rng: np.random.Generator) -> tuple[pd.DataFrame, int]:
    """Return a real set with three permuted copies of every column beside it, and its number of classes."""
    bunch = load(as_frame=True)
    table = bunch.data
    copies = {
        f"permuted {i} {name}": rng.permutation(table[name].to_numpy()) for i in range(3) for name in table.columns
    }
    return table.assign(**copies), int(bunch.target.nunique())


def clustered(table: pd.DataFrame, n_clusters: int) -> tuple[WeaveClustering, Explanation, float]:
    """Return a model, its tested explanation, and the seconds that the explanation took without the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = WeaveClustering(n_clusters, scale="zscore", random_state=0).fit(table)
        begun = time.perf_counter()
        explain_clusters(model, table)
        seconds = time.perf_counter() - begun
        return model, explain_clusters(model, table, test=True, n_features=None), seconds


def row(name: str, hits: list[list[bool]], null: list[np.ndarray], alarms: list[bool], seconds: list[float]) -> Row:
    """Return a row: whether every marker of every cluster was found, and q-values of columns that mean nothing."""
    false = np.concatenate(null) if null else np.array([])
    return {
        "data": name,
        "clusters": len(hits),
        f"markers in the top {TOP}": f"{np.mean(hits):.1%}" if hits else "",
        f"clusters with all in the top {TOP}": f"{np.mean([all(own) for own in hits]):.1%}" if hits else "",
        f"null features with q <= {RATE}": f"{np.mean(false <= RATE):.2%} of {len(false)}" if len(false) else "",
        "tables with a false one": f"{np.mean(alarms):.1%} of {len(alarms)}" if alarms else "",
        "seconds": float(np.median(seconds)),
    }


def tops(found: Explanation) -> list[set[str]]:
    """Return the first features of every cluster."""
    return [{each["feature"] for each in found.of(name)[:TOP]} for name in found.names]


def planted(n_clusters: int, repeats: int) -> Row:
    """Return the row of a simulation; a cluster is judged by the markers of the class that most of it belongs to."""
    hits, null, seconds = [], [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        table, markers, c = simulated(n_clusters, rng)
        _, found, spent = clustered(table, c)
        seconds.append(spent)
        planted_ones = found.features["feature"].isin(set().union(*markers.values()))
        null.append(found.features["q_value"][~planted_ones].to_numpy(dtype=float))
        hits += [max(([name in top for name in own] for own in markers.values()), key=sum) for top in tops(found)]
    return row(f"planted, {n_clusters} clusters", hits, null, [], seconds)


def real(name: str, repeats: int) -> Row:
    """Return the row of a real set: known markers of its clusters among permuted copies, which mean nothing.

    The test fits models of the columns and their copies; the markers are those of clusters of the columns alone.
    """
    load, markers = REAL[name]
    hits, null, seconds = [], [], []
    for seed in range(repeats):
        table, c = noisy(load, np.random.default_rng(seed))
        _, found, spent = clustered(table, c)
        own = WeaveClustering(c, scale="zscore", random_state=seed).fit(table[load(as_frame=True).data.columns])
        seconds.append(spent)
        null.append(found.features[found.features["feature"].str.startswith("permuted")]["q_value"].to_numpy(float))
        hits += [[name in top for name in markers] for top in tops(explain_clusters(own.labels_, table))]
    return row(f"{name}, {len(markers)} known markers", hits, null, [], seconds)


def noise(repeats: int) -> Row:
    """Return the row of tables of noise, in which every feature found is false."""
    null, alarms, seconds = [], [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        _, found, spent = clustered(pd.DataFrame(rng.normal(size=(150, 20))), 4)
        seconds.append(spent)
        null.append(found.features["q_value"].to_numpy(dtype=float))
        alarms.append(bool((null[-1] <= RATE).any()))
    return row("noise", [], null, alarms, seconds)


def rows(repeats: int) -> Iterator[Row]:
    """Yield all rows."""
    for n_clusters in (3, 6):
        yield planted(n_clusters, repeats)
    for name in REAL:
        yield real(name, repeats)
    yield noise(10 * repeats)


def main() -> None:
    """Measure everything and write both result files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    found = []
    for each in rows(parser.parse_args().repeats):
        found.append(each)
        show([each])
    (RESULTS / "explain.json").write_text(json.dumps(found, indent=1) + "\n")
    note = (
        "Written by `python -m benchmarks.explain_features`. WeaveClustering with standardised columns; clusters as "
        "found, not as planted. Simulations have 200 columns, five of them planted for every cluster. Real sets have "
        "three permuted copies of every column beside it, which mean nothing: the markers are ranked among them for "
        "clusters of the real columns, and the test is applied to clusters of all columns. Seconds are those of the "
        "explanation without the test.\n"
    )
    (RESULTS / "explain.md").write_text(f"# Features that set clusters apart\n\n{note}\n{markdown(found)}")


if __name__ == "__main__":
    main()
