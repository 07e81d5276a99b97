"""Fits on halves against the fit on everything: `python -m benchmarks.slices [--sets ...] [--label text]`.

Stored in benchmarks/results/slices.json; slices.md shows the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._sets import DataSet, load
from benchmarks._stored import Page, Rows, line
from benchmarks.new_samples import AGREEMENT, samples
from kernelweave import WeaveClustering
from kernelweave.metrics import clustering_accuracy

HALVES = 20


def measure(name: str) -> dict[str, float]:
    """Return the agreement of the halves with the whole on the samples that both have, and their ACC."""
    data = load(name)
    n = len(data.y)
    whole = _clusters(data, np.arange(n), 0)
    agreement, acc = [], []
    for draw in range(HALVES):
        rows = np.sort(np.random.default_rng(draw).permutation(n)[: n // 2])
        half = _clusters(data, rows, draw)
        agreement.append(adjusted_rand_score(whole[rows], half))
        acc.append(clustering_accuracy(data.y[rows], half))
    figures = {
        "agreement": np.mean(agreement),
        "worst": np.min(agreement),
        "acc of halves": np.mean(acc),
        "worst acc": np.min(acc),
        "acc of whole": clustering_accuracy(data.y, whole),
    }
    return {key: round(float(value), 4) for key, value in figures.items()}


def _clusters(data: DataSet, rows: Any, seed: int) -> Any:
    return WeaveClustering(data.c, random_state=seed, dtype=data.dtype).fit(samples(data.views, rows)).labels_


def table(rows: Rows) -> str:
    """Return one line for each default and data set."""
    columns = ("ARI with the whole, mean", "worst half", "ACC of halves, mean", "worst half", "ACC of the whole")
    cells = [
        [default, name, *(f"{value:.3f}" for value in row[name].values())]
        for default, row in rows.items()
        for name in AGREEMENT
        if name in row
    ]
    return "\n".join([line(["default", "data set", *columns]), line(["---"] * 7), *map(line, cells)])


PAGE = Page(
    "slices",
    "Halves against the whole",
    f"Written by `python -m benchmarks.slices`: {HALVES} random halves of each data set are clustered and compared "
    "with the clusters of all samples, on the samples that both have. mfeat in single precision.",
    table,
)


def main() -> None:
    """Run the sets that were asked for and write both result files."""
    PAGE.run(AGREEMENT, measure)


if __name__ == "__main__":
    main()
