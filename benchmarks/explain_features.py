"""Whether `explain_clusters` finds what is there: `python -m benchmarks.explain_features [--repeats 20]`.

Planted features in simulations, markers of the classes of real sets beside permuted copies of their columns, and noise.
Stored in benchmarks/results/explain.md. `--only wine` measures the rows of one set again and keeps the others.
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
from sklearn.feature_selection import f_classif

from benchmarks._commits import computed, stamp
from benchmarks._sets import ROOT
from benchmarks._tables import Row, markdown, show
from kernelweave import WeaveClustering
from kernelweave.explain import Explanation, explain_clusters

RESULTS = ROOT / "benchmarks" / "results"
TOP = 10
RATE = 0.05
MATCHED = 0.5  # overlap (Jaccard) from which a cluster is one of the classes

# Real sets and their numbers of markers: the columns with the largest F statistics between the true classes, which
# neither the clustering nor this library has seen. Those of iris are the ones that its description marks as highly
# correlated with the class; flavanoids and proline are the most important ones of wine in Mor et al., "Physicochemical
# properties importance for type classification of wines using machine learning techniques", 2022.
REAL: dict[str, tuple[Callable[..., Any], int]] = {
    "iris": (load_iris, 2),
    "wine": (load_wine, 3),
    "breast cancer": (load_breast_cancer, 3),
}


def markers_of(bunch: Any, number: int) -> list[str]:
    """Return the columns that tell the true classes best."""
    strength = f_classif(bunch.data, bunch.target)[0]
    return [str(bunch.data.columns[j]) for j in np.argsort(-strength)[:number]]


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


def noisy(bunch: Any, rng: np.random.Generator) -> tuple[pd.DataFrame, int]:
    """Return a real set with three permuted copies of every column beside it, and its number of classes."""
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


def real(name: str, repeats: int) -> list[Row]:
    """Return the rows of a real set: markers of its classes among permuted copies, which mean nothing.

    First for clusters of the columns alone, then for clusters of the columns and their copies: all of them, and those
    that are one of the classes. The test fits models of the columns and their copies.
    """
    load, number = REAL[name]
    bunch = load(as_frame=True)
    markers = markers_of(bunch, number)
    alone, mixed, matched, null, seconds = [], [], [], [], []
    for seed in range(repeats):
        table, c = noisy(bunch, np.random.default_rng(seed))
        model, found, spent = clustered(table, c)
        own = WeaveClustering(c, scale="zscore", random_state=seed).fit(bunch.data)
        seconds.append(spent)
        null.append(found.features[found.features["feature"].str.startswith("permuted")]["q_value"].to_numpy(float))
        alone += [[each in top for each in markers] for top in tops(explain_clusters(own.labels_, table))]
        among = [[each in top for each in markers] for top in tops(found)]
        mixed += among
        is_class = matches(model.labels_, bunch.target.to_numpy(), found.names)
        matched += [hit for hit, right in zip(among, is_class, strict=True) if right]
    title = f"{name}, {number} markers"
    return [
        row(title, alone, null, [], seconds),
        row(f"{title}, clusters found among the copies", mixed, [], [], seconds),
        row(f"{title}, those of them that match a class", matched, [], [], seconds),
    ]


def matches(labels: np.ndarray, classes: np.ndarray, names: tuple[str, ...]) -> list[bool]:
    """Return whether each cluster shares half or more of its union with some class."""
    found = []
    for name in names:
        own = labels.astype(str) == name
        others = [classes == k for k in np.unique(classes)]
        found.append(max((own & other).sum() / (own | other).sum() for other in others) >= MATCHED)
    return found


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


def rows(repeats: int, only: str | None = None) -> Iterator[Row]:
    """Yield all rows, or those of one real set."""
    if only is None:
        for n_clusters in (3, 6):
            yield planted(n_clusters, repeats)
    for name in REAL:
        if only in (None, name):
            yield from real(name, repeats)
    if only is None:
        yield noise(10 * repeats)


def main() -> None:
    """Measure everything, or one real set, and write both result files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", choices=list(REAL), help="one real set; the other rows are kept")
    given = parser.parse_args()
    path = RESULTS / "explain.json"
    found: list[Row] = []
    for each in rows(given.repeats, given.only):
        found.append(each)
        show([each])
    if given.only is not None:
        found = merged(json.loads(path.read_text()), found, given.only)
    path.write_text(json.dumps(found, indent=1) + "\n")
    stamp("explain", given.only or "all")
    note = (
        "Written by `python -m benchmarks.explain_features`. WeaveClustering with standardised columns; clusters as "
        "found, not as planted. Simulations have 200 columns, five of them planted for every cluster. Real sets have "
        "three permuted copies of every column beside it, which mean nothing. Their markers are the columns with the "
        "largest F statistics between the true classes, ranked among all columns and copies: for clusters of the real "
        "columns, and for clusters of all columns. Three quarters of these are noise, so that some of those clusters "
        "are no class at all, and rightly have other features; the last row of a set leaves them out (Jaccard index "
        "below 0.5 with every class). The test is applied to clusters of all columns. Seconds are those of the "
        "explanation without the test.\n"
    )
    (RESULTS / "explain.md").write_text(
        f"# Features that set clusters apart\n\n{note}\n{markdown(found)}\n{computed('explain')}\n"
    )


def merged(stored: list[Row], new: list[Row], name: str) -> list[Row]:
    """Return stored rows with those of one set replaced, in their place."""
    place = next(i for i, each in enumerate(stored) if str(each["data"]).startswith(f"{name},"))
    others = [each for each in stored if not str(each["data"]).startswith(f"{name},")]
    return [*others[:place], *new, *others[place:]]


if __name__ == "__main__":
    main()
