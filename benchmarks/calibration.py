"""How often samples of a given confidence are right: `python -m benchmarks.calibration [--sets ...] [--label text]`.

Clusters are matched with classes one to one; a sample is right if its cluster is the one of its class. Stored in
benchmarks/results/calibration.json; calibration.md shows the tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._sets import OTHERS, PAPER, DataSet, load
from benchmarks._stored import Page, Rows, line
from benchmarks.new_samples import matched, samples
from benchmarks.zoo import NOISE
from kernelweave import WeaveClustering

EDGES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
SETS = PAPER + OTHERS
SEEDS = range(3)
N_RANDOM = 3  # clusters asked for, and classes drawn at random, where there is no structure
Bins = list[list[float]]  # samples, sum of their confidence, how many are right; for each bin of confidence


def measure(name: str) -> Bins:
    """Return the bins of one data set, over all seeds."""
    bins: Bins = np.sum([binned(*_outcome(name, seed)) for seed in SEEDS], axis=0).round(4).tolist()
    return bins


def _outcome(name: str, seed: int) -> tuple[Any, Any]:
    """Return the confidence of every sample, and whether it is right."""
    if name in NOISE:
        X, _ = NOISE[name].build(seed)
        data = DataSet(name, [X], np.random.default_rng(seed).integers(N_RANDOM, size=len(X)))
    else:
        data = load(name)
    model = WeaveClustering(data.c, random_state=seed, dtype=data.dtype)
    model.fit(samples(data.views, np.arange(len(data.y))))
    return model.confidence_, matched(data.y, model.labels_)


def binned(confidence: Any, right: Any) -> Any:
    """Return of every bin of confidence the samples, the sum of their confidence, and how many are right."""
    place = np.clip(np.searchsorted(EDGES, confidence, side="right") - 1, 0, len(EDGES) - 2)
    bins = np.zeros((len(EDGES) - 1, 3))
    np.add.at(bins, place, np.column_stack([np.ones(len(right)), confidence, right]))
    return bins


def table(rows: Rows) -> str:
    """Return the reliability of every default over all sets, and by set."""
    parts = []
    for default, row in rows.items():
        known = [name for name in SETS if name in row]
        parts += [f"**{default}**", reliability({name: np.array(row[name]) for name in known})]
        parts += [_by_set({name: np.array(row[name]) for name in (*known, *(name for name in NOISE if name in row))})]
    return "\n\n".join(parts)


def reliability(bins: dict[str, Any]) -> str:
    """Return the diagram as a table; every data set counts alike, whatever its size."""
    total = np.sum([part / part[:, 0].sum() for part in bins.values()], axis=0) / len(bins)
    lines = [line(["confidence", "share of samples", "mean confidence", "share right"]), line(["---"] * 4)]
    for i, (share, confidence, right) in enumerate(total):
        if share > 0:
            cells = [f"{EDGES[i]} to {EDGES[i + 1]}", *(f"{x:.3f}" for x in (share, confidence / share, right / share))]
            lines.append(line(cells))
    share, confidence, right = total.sum(axis=0)
    lines.append(line(["**all**", f"**{share:.3f}**", f"**{confidence:.3f}**", f"**{right:.3f}**"]))
    gap = np.abs(total[:, 1] - total[:, 2]).sum()
    return "\n".join([*lines, "", f"Mean difference of confidence and share right, over the bins: {gap:.3f}."])


def _by_set(bins: dict[str, Any]) -> str:
    lines = [line(["data set", "mean confidence", "share right", "share at .9 or more", "share right of those"])]
    lines.append(line(["---"] * 5))
    sure = EDGES.index(0.9)
    for name, part in bins.items():
        n, confidence, right = part.sum(axis=0)
        high, _, high_right = part[sure:].sum(axis=0)
        cells = [confidence / n, right / n, high / n]
        lines.append(line([name, *(f"{x:.3f}" for x in cells), f"{high_right / high:.3f}" if high else "–"]))
    return "\n".join(lines)


PAGE = Page(
    "calibration",
    "Confidence against correctness",
    f"Written by `python -m benchmarks.calibration`: WeaveClustering with the true number of clusters, {len(SEEDS)} "
    "seeds. A sample is right if its cluster is the one matched with its class; where classes are not the groups that "
    "the data show, no confidence can tell. The default was chosen on these sets: none of them is held out. The noise "
    f"sets have no groups: {N_RANDOM} clusters against {N_RANDOM} classes drawn at random.",
    table,
)


def main() -> None:
    """Run the sets that were asked for and write both result files."""
    arguments = PAGE.parser([*SETS, *NOISE]).parse_args()
    for name in arguments.sets:
        bins = measure(name)
        PAGE.keep(arguments.label, name, bins)
        n, confidence, right = np.sum(bins, axis=0)
        print(f"{name:12s} confidence {confidence / n:.3f}, right {right / n:.3f}", flush=True)
    PAGE.write()


if __name__ == "__main__":
    main()
