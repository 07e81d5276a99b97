"""Run the zoo: `python -m benchmarks.zoo [--sets name ...] [--methods name ...] [--label text]`.

Stored in benchmarks/results/zoo.json; zoo.md shows the table.
"""

from __future__ import annotations

import numpy as np

from benchmarks._stored import Page, Rows, line
from benchmarks.zoo import METHODS, RIVALS, ZOO, n_classes, scores

SEEDS = range(5)
BEHIND = 0.12


def measure(name: str, method: str) -> dict[str, float]:
    """Return ACC and ARI of a method on one set, means over seeds of data and method."""
    found = []
    for seed in SEEDS:
        X, y = ZOO[name].build(seed)
        found.append(scores(y, METHODS[method](X, n_classes(y), seed)))
    return {key: round(float(np.mean([score[key] for score in found])), 4) for key in ("acc", "ari")}


def table(rows: Rows) -> str:
    """Return ACC by set and method, with the sets where a default is far behind the best of the others."""
    rows = {method: rows[method] for method in sorted(rows, key=lambda method: method in RIVALS)}
    sets = [name for name in ZOO if all(name in rows[method] for method in METHODS)]
    common = [name for name in sets if all(name in row for row in rows.values())]
    gaps = {method: _behind(rows, method, sets) for method in rows if method not in RIVALS}
    lines = [line(["ACC", "kind", *rows]), line(["---"] * (len(rows) + 2))]
    for name in sets:
        marks = {method: " ▼" if name in gaps.get(method, {}) else "" for method in rows}
        cells = [f"{row[name]['acc']:.3f}{marks[method]}" if name in row else "–" for method, row in rows.items()]
        lines.append(line([name, ZOO[name].kind, *cells]))
    for some in (common, sets) if len(common) < len(sets) else (sets,):
        having = [row if all(name in row for name in some) else None for row in rows.values()]
        means = ["–" if row is None else f"**{np.mean([row[name]['acc'] for name in some]):.4f}**" for row in having]
        lines.append(line([f"**mean of {len(some)}**", "", *means]))
    return "\n".join([*lines, "", *(_verdict(method, behind) for method, behind in gaps.items())])


def _behind(rows: Rows, method: str, sets: list[str]) -> dict[str, float]:
    """Return how far a default is behind the best other row, for the sets where that is far."""
    sets = [name for name in sets if name in rows[method]]
    best = {
        name: max(row[name]["acc"] for other, row in rows.items() if other != method and name in row) for name in sets
    }
    gaps = {name: best[name] - rows[method][name]["acc"] for name in sets}
    return {name: gap for name, gap in gaps.items() if gap > BEHIND}


def _verdict(method: str, behind: dict[str, float]) -> str:
    said = ", ".join(f"{name} ({gap:.2f})" for name, gap in behind.items())
    return f"- {method}: more than {BEHIND} behind the best of the others on {said or 'no set'}."


PAGE = Page(
    "zoo",
    "The zoo",
    f"Written by `python -m benchmarks.zoo`: ACC, means over {len(SEEDS)} seeds, with the true number of clusters. "
    "Outliers do not count. The rivals see the table as it is, or with every column standardised; ▼ marks where a "
    f"default is more than {BEHIND} behind the best of the others.",
    table,
)


def main() -> None:
    """Run the sets and methods that were asked for and write both result files."""
    parser = PAGE.parser(ZOO)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    arguments = parser.parse_args()
    for name in arguments.sets:
        for method in arguments.methods:
            row = method if method in RIVALS else arguments.label
            figures = measure(name, method)
            PAGE.keep(row, name, figures)
            print(f"{name:18s} {row:28s} {figures['acc']:.3f}", flush=True)
    PAGE.write()


if __name__ == "__main__":
    main()
