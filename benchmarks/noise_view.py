"""The weight of a noise view among real ones: `python -m benchmarks.noise_view [--sets ...] [--label text]`.

Two kinds of noise: normal numbers, and a real view whose rows are permuted, which looks like the real ones but is not
related to them. Stored in benchmarks/results/noise_view.json; noise_view.md shows the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._sets import DataSet, load
from benchmarks._stored import Page, Rows, line
from kernelweave import Views, WeaveClustering
from kernelweave.metrics import clustering_accuracy

SETS = ("msrcv1", "breast_tcga", "3sources", "webkb", "bbcsport", "mfeat")
DRAWS = 3


def normal(data: DataSet, rng: np.random.Generator) -> Any:
    """Return independent normal numbers, 50 columns."""
    return rng.normal(size=(len(data.y), 50))


def permuted(data: DataSet, rng: np.random.Generator) -> Any:
    """Return one of the views with its rows permuted."""
    return data.views[rng.integers(len(data.views))][rng.permutation(len(data.y))]


KINDS = {"normal": normal, "permuted": permuted}


def measure(name: str) -> dict[str, Any]:
    """Return the shares of the views and ACC, without noise and with one view of each kind, means over draws."""
    data = load(name)
    draws = DRAWS if name != "mfeat" else 1  # 84 kernels of 2000 samples
    found = {"clean": [_shares(data, data.views, seed) for seed in range(draws)]}
    for kind, noise in KINDS.items():
        found[kind] = [_shares(data, [*data.views, _drawn(data, noise, seed)], seed) for seed in range(draws)]
    return {kind: np.mean(figures, axis=0).round(4).tolist() for kind, figures in found.items()}


def _drawn(data: DataSet, noise: Any, seed: int) -> Any:
    return noise(data, np.random.default_rng(seed))


def _shares(data: DataSet, views: list[Any], seed: int) -> Any:
    """Return ACC and the share of every view."""
    model = WeaveClustering(data.c, random_state=seed, dtype=data.dtype).fit(Views(views))
    return np.r_[clustering_accuracy(data.y, model.labels_), model.view_shares_]


def table(rows: Rows) -> str:
    """Return the weight of noise as a multiple of an equal share, and what becomes of the real views and of ACC."""
    head = ["default", "data set", "real views", "equal share"]
    for kind in KINDS:
        head += [f"{kind}: share", "of an equal share", "least real view kept", "ACC"]
    lines = [line([*head, "ACC without noise"]), line(["---"] * (len(head) + 1))]
    for default, row in rows.items():
        for name in (name for name in SETS if name in row):
            clean = np.array(row[name]["clean"])
            cells = [default, name, str(len(clean) - 1), f"{1 / len(clean):.3f}"]
            for kind in KINDS:
                acc, *real, noise = row[name][kind]
                kept = np.min(np.array(real) / (1 - noise) / clean[1:])
                cells += [f"{noise:.3f}", f"{noise * len(clean):.2f}", f"{kept:.2f}", f"{acc:.3f}"]
            lines.append(line([*cells, f"{clean[0]:.3f}"]))
    return "\n".join(lines)


PAGE = Page(
    "noise_view",
    "A noise view among real ones",
    f"Written by `python -m benchmarks.noise_view`, means over {DRAWS} draws (mfeat: one): WeaveClustering with one "
    "more view, of normal numbers in 50 columns, or a real view with its rows permuted. Least real view kept: the "
    "share of a real view among the real ones, divided by its share without noise, for the view that loses most.",
    table,
)


def main() -> None:
    """Run the sets that were asked for and write both result files."""
    PAGE.run(SETS, measure)


if __name__ == "__main__":
    main()
