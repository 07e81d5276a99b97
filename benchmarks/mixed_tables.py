"""Tables of numbers and categories with known groups: `python -m benchmarks.mixed_tables [--sets ...] [--label text]`.

Three groups of 300 samples. Some categories follow the group in four of five samples, the others are noise; the means
of the numbers differ by a multiple of their deviation. Seeds from 100 on: how kernels are combined was chosen on
others. Stored in benchmarks/results/mixed_tables.json; mixed_tables.md shows the table.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks._stored import Page, Rows, line
from kernelweave import WeaveClassifier, WeaveClustering
from kernelweave.errors import ColumnsWarning

SEEDS = range(100, 104)
SAMPLES, GROUPS, LABELS = 300, 3, 5


class Kind(NamedTuple):
    """The columns of a table: numbers, how far groups are apart in each, categories of the groups, and of noise."""

    numbers: int
    apart: float
    telling: int
    noise: int


SETS = {
    "categories beside 1 number of noise": Kind(1, 0.0, 5, 0),
    "categories beside 3 numbers that tell little": Kind(3, 0.3, 5, 0),
    "categories beside 8 numbers that tell little": Kind(8, 0.3, 5, 0),
    "both tell the groups": Kind(5, 1.0, 5, 0),
    "12 numbers and 3 categories tell them": Kind(12, 0.8, 3, 0),
    "numbers, 1 telling category of 4": Kind(4, 2.0, 1, 3),
    "numbers, 1 category of noise": Kind(4, 2.0, 0, 1),
    "numbers, 4 categories of noise": Kind(4, 2.0, 0, 4),
    "12 numbers, 3 categories of noise": Kind(12, 2.0, 0, 3),
}


def drawn(kind: Kind, seed: int) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """Return a table of a kind, and the group of every row."""
    rng = np.random.default_rng(seed)
    y = rng.integers(GROUPS, size=SAMPLES)
    centres = kind.apart * rng.normal(size=(GROUPS, kind.numbers))
    numbers = rng.normal(size=(SAMPLES, kind.numbers)) + centres[y]
    table = pd.DataFrame(numbers, columns=[f"number {i}" for i in range(kind.numbers)])
    for j in range(kind.telling + kind.noise):
        codes = rng.integers(GROUPS, size=SAMPLES)
        if j < kind.telling:
            codes = np.where(rng.random(SAMPLES) < 0.8, rng.permutation(GROUPS)[y], codes)
        table[f"category {j}"] = np.array(["a", "b", "c"])[codes]
    return table, y


def measure(name: str) -> list[float]:
    """Return ARI of Weave and of k-means on z-scores and indicators, and the accuracy from five labels per class."""
    return np.mean([_figures(SETS[name], seed) for seed in SEEDS], axis=0).round(4).tolist()


def _figures(kind: Kind, seed: int) -> list[float]:
    table, y = drawn(kind, seed)
    numbers = table.filter(like="number")
    indicators = pd.get_dummies(table.filter(like="category")).astype(float)
    joint = np.hstack([(numbers - numbers.mean()) / numbers.std(), indicators])
    labels = WeaveClustering(GROUPS, random_state=seed).fit(table).labels_
    plain = KMeans(GROUPS, n_init=10, random_state=seed).fit_predict(joint)
    rng = np.random.default_rng(seed)
    known = np.concatenate([rng.choice(np.flatnonzero(y == k), LABELS, replace=False) for k in range(GROUPS)])
    partly = np.full(SAMPLES, -1)
    partly[known] = y[known]
    found = WeaveClassifier().fit(table, partly).transduction_
    return [adjusted_rand_score(y, labels), adjusted_rand_score(y, plain), float((found == y)[partly < 0].mean())]


def table(rows: Rows) -> str:
    """Return the figures of every kind of table."""
    head = [
        "default",
        "table",
        "ARI",
        "ARI of k-means on z-scores and indicators",
        f"accuracy, {LABELS} labels per class",
    ]
    lines = [line(head), line(["---"] * len(head))]
    for default, row in rows.items():
        lines += [line([default, name, *(f"{one:.3f}" for one in row[name])]) for name in SETS if name in row]
    return "\n".join(lines)


PAGE = Page(
    "mixed_tables",
    "Tables of numbers and categories",
    f"Written by `python -m benchmarks.mixed_tables`, means over {len(SEEDS)} draws of {SAMPLES} samples in {GROUPS} "
    "groups; telling categories follow the group in four of five samples. WeaveClustering and WeaveClassifier with "
    "their defaults, and the number of groups given.",
    table,
)


def main() -> None:
    """Run the tables that were asked for and write both result files."""
    warnings.simplefilter("ignore", ColumnsWarning)
    PAGE.run(SETS, measure)


if __name__ == "__main__":
    main()
