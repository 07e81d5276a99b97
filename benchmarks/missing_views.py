"""What missing samples cost: `python -m benchmarks.missing_views [--sets name ...] [--draws 3]`.

A share of the samples lacks one of the views, drawn at random. NMI with all samples in all views, with gaps, and of the
best single complete view, which only the labels can choose. Stored in benchmarks/results/missing_views.md.
"""

from __future__ import annotations

import argparse
import json
import warnings
from typing import Any

import numpy as np

from benchmarks._commits import computed, stamp
from benchmarks._sets import ROOT, DataSet, load, usual_scale
from kernelweave import SMKLClustering, Views, WeaveClustering
from kernelweave.metrics import normalized_mutual_information

RESULTS = ROOT / "benchmarks" / "results"
SETS = ("msrcv1", "mfeat", "breast_tcga", "3sources", "bbcsport")
SHARE = 0.3


def weave(data: DataSet, views: Views) -> np.ndarray:
    """WeaveClustering as it comes."""
    return WeaveClustering(data.c, random_state=0, dtype="float32").fit(views).labels_


def smkl(data: DataSet, views: Views) -> np.ndarray:
    """SMKLClustering as it comes, each view on the scale that Weave would choose; 7 kernels per view if n is large."""
    views = views.map(dict.fromkeys(views.names, _to_scale))
    kernels = "released-7" if len(data.y) > 1000 else "released-12"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SMKLClustering(data.c, kernels=kernels, random_state=0, dtype="float32").fit(views).labels_


def _to_scale(table: Any) -> Any:
    return usual_scale(table)


METHODS = {"WeaveClustering": weave, "SMKLClustering": smkl}


def gaps(data: DataSet, share: float, draw: int) -> dict[str, np.ndarray]:
    """Draw the samples that lack one view each."""
    rng = np.random.default_rng(draw)
    n, v = len(data.y), len(data.views)
    lacking = rng.choice(n, round(share * n), replace=False)
    which = rng.integers(v, size=len(lacking))
    return {f"view {i}": lacking[which == i] for i in range(v)}


def run(name: str, n_draws: int) -> dict[str, dict[str, float]]:
    """Return the NMI of every method on one set."""
    data = load(name)
    rows = {}
    for method, labels in METHODS.items():
        if method == "SMKLClustering" and len(data.y) > 1000:
            n_draws = 1

        def score(views: Views, labels: Any = labels) -> float:
            return float(normalized_mutual_information(data.y, labels(data, views)))

        singles = [score(Views([view])) for view in data.views]
        incomplete = [score(Views(data.views, missing=gaps(data, SHARE, draw))) for draw in range(n_draws)]
        rows[method] = {
            "complete": score(Views(data.views)),
            "gaps": float(np.mean(incomplete)),
            "worst": min(incomplete),
            "best": max(incomplete),
            "draws": n_draws,
            "single": max(singles),
        }
        print(name, method, {key: round(value, 3) for key, value in rows[method].items()}, flush=True)
    return rows


def table(stored: dict[str, Any]) -> str:
    """Return the figures as a table."""
    lines = ["| set | method | complete | 30 % lack a view: mean (least to most of the draws) | best single view |"]
    lines.append("|---|---|---|---|---|")
    for name, rows in stored.items():
        for method, row in rows.items():
            spread = f"{row['gaps']:.3f} ({row['worst']:.3f} to {row['best']:.3f} of {row['draws']})"
            lines.append(f"| {name} | {method} | {row['complete']:.3f} | {spread} | {row['single']:.3f} |")
    return "\n".join(lines)


def main() -> None:
    """Run the sets that were asked for and write both result files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--draws", type=int, default=5)
    arguments = parser.parse_args()
    path = RESULTS / "missing_views.json"
    for name in arguments.sets:
        rows = run(name, arguments.draws)
        stored = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps(stored | {name: rows}, indent=1) + "\n")
        stamp("missing_views", name)
    stored = json.loads(path.read_text())
    note = (
        "NMI, written by `python -m benchmarks.missing_views`: 30 % of the samples lack one view, drawn at random. The "
        "best single view is complete and chosen by the labels, which a user does not have."
    )
    parts = ["# Samples that lack a view", note, table(stored), computed("missing_views")]
    (RESULTS / "missing_views.md").write_text("\n\n".join(parts) + "\n")
    print(table(stored))


if __name__ == "__main__":
    main()
