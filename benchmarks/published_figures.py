"""Figures that others published for LMVSC and FastMICE beside those of kernelweave's implementations.

`python -m benchmarks.published_figures`: ACC on data sets at hand. The settings of the source are known for mfeat only.
"mean" is over ten seeds (twenty for FastMICE), with the lowest and the highest; "best" is the best of the settings
that are searched with the labels, so it is no figure of a method in use.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._stored import Page, Rows, line
from kernelweave import Views
from kernelweave._types import Samples
from kernelweave.baselines import LMVSC, FastMICE
from kernelweave.datasets import load_dataset
from kernelweave.metrics import clustering_accuracy

DATA = Path(os.environ.get("KERNELWEAVE_DATA", Path(__file__).parents[2] / "shared" / "data"))
ALPHAS = (0.01, 1.0, 100.0)

Scores = Callable[[str], list[float]]


@dataclass(frozen=True, slots=True)
class Published:
    """A figure of others, and how it is computed here."""

    method: str
    dataset: str
    figure: float
    source: str
    protocol: str
    shown: Literal["mean", "best"]
    scores: Scores


def lmvsc_of_a_public_program(name: str) -> list[float]:
    """Return the ACC of LMVSC with alpha 1 and 100 anchors for ten seeds; every view between 0 and 1."""
    views, y, c = _views(name, _between_0_and_1)
    return [_accuracy(LMVSC(c, alpha=1.0, n_anchors=100, random_state=seed), views, y) for seed in range(10)]


def lmvsc_of_its_authors(name: str) -> list[float]:
    """Return the ACC of LMVSC for the settings of its authors' program, with the tables as they are."""
    views, y, c = _views(name, lambda table: table)
    models = [LMVSC(c, alpha=alpha, n_anchors=anchors, random_state=0) for alpha in ALPHAS for anchors in (c, 50, 100)]
    return [_accuracy(model, views, y) for model in models]


def fastmice(name: str) -> list[float]:
    """Return the ACC of FastMICE for twenty seeds, with the tables as they are."""
    views, y, c = _views(name, lambda table: table)
    return [_accuracy(FastMICE(c, random_state=seed), views, y) for seed in range(20)]


def _views(name: str, scaled: Callable[[Samples], Samples]) -> tuple[Views, np.ndarray, int]:
    bunch = load_dataset(name, data_home=DATA)
    return bunch.data.map(dict.fromkeys(bunch.data.names, scaled)), bunch.target, len(np.unique(bunch.target))


def _between_0_and_1(table: Samples) -> Samples:
    return (table - table.min()) / (table.max() - table.min())


def _accuracy(model: LMVSC | FastMICE, views: Views, y: np.ndarray) -> float:
    return clustering_accuracy(y, model.fit(views).labels_)


ROWS = (
    Published("LMVSC", "mfeat", 0.9255, "github.com/sohanghosh29/Clustering-Codes, an independent program, one seed",
              "every view between 0 and 1, alpha 1, 100 anchors", "mean", lmvsc_of_a_public_program),
    Published("LMVSC", "bbcsport", 0.7535, "Qin et al., CVPR 2026, as a baseline",
              "alpha .01, 1, 100; c, 50, 100 anchors", "best", lmvsc_of_its_authors),
    Published("FastMICE", "prokaryotic", 0.5629, "wizwand.com, from later papers", "nothing to set", "mean", fastmice),
)  # fmt: skip


def table(rows: Rows) -> str:
    """Return published and own figures side by side."""
    lines = [
        line(("method", "data set", "published", "ours", "protocol", "source")),
        "| :-- | :-- | --: | --: | :-- | :-- |",
    ]
    for row in ROWS:
        if found := rows.get(row.method, {}).get(row.dataset):
            cells = (row.method, row.dataset, f"{row.figure:.4f}", _shown(row, found), row.protocol, row.source)
            lines.append(line(cells))
    return "\n".join(lines)


def _shown(row: Published, found: list[float]) -> str:
    if row.shown == "best":
        return f"best {max(found):.3f}"
    return f"mean {np.mean(found):.3f} ({min(found):.3f} to {max(found):.3f})"


def main() -> None:
    """Compute the figures of the data sets that were asked for, or all, and write the page."""
    page = Page("published_figures", "Published figures of LMVSC and FastMICE", __doc__ or "", table)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sets = [row.dataset for row in ROWS]
    parser.add_argument("--sets", nargs="+", choices=sets, default=sets)
    chosen = parser.parse_args().sets
    with threadpool_limits(1):
        for row in ROWS:
            if row.dataset in chosen:
                page.keep(row.method, row.dataset, row.scores(row.dataset))
    page.write()


if __name__ == "__main__":
    main()
