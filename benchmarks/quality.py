"""How good the defaults are without labels: `python -m benchmarks.quality [section ...] [--sets ...] [--methods ...]`.

Every section prints a table and stores its rows in benchmarks/results/quality.json; quality.md shows all tables.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks._commits import computed, stamp
from benchmarks._rivals import CLASSIFIERS, CLUSTERERS, PUBLISHED, weave
from benchmarks._sets import MORE, OTHERS, PAPER, ROOT, SEMI_SUPERVISED, DataSet, load
from benchmarks._toy_numbers import KINDS, toys
from kernelweave import WeaveClustering
from kernelweave.datasets import label_split
from kernelweave.metrics import clustering_accuracy, normalized_mutual_information

RESULTS = ROOT / "benchmarks" / "results"
Rows = dict[str, dict[str, Any]]  # method -> data set or column -> figure

FRACTIONS = (0.1, 0.3, 0.5)
N_DRAWS = 3
AUTOMATIC_SEEDS = range(3)


def clustering(names: Iterable[str], store: Callable[[Rows], None], rows: Rows) -> None:
    """ACC and NMI of every clusterer on every set, means over seeds."""
    for name in names:
        data = load(name)
        for method, (run, n_seeds) in CLUSTERERS.items():
            start = time.perf_counter()
            found = [run(data, seed) for seed in range(n_seeds)]
            seconds = (time.perf_counter() - start) / n_seeds
            score = None if found[0] is None else _scores(data, found) | {"seconds": round(seconds, 2)}
            rows.setdefault(method, {})[name] = score
            print(f"{name:12s} {method:16s} {'diverged' if score is None else score}", flush=True)
        store(rows)


def classification(names: Iterable[str], store: Callable[[Rows], None], rows: Rows) -> None:
    """Accuracy on the unlabelled samples, mean over draws of labels per class."""
    for name in names:
        data = load(name)
        for fraction in FRACTIONS:
            masks = [label_split(data.y, fraction, random_state=draw) for draw in range(N_DRAWS)]
            for method, run in CLASSIFIERS.items():
                right = [np.mean(run(data, np.where(known, data.y, -1))[~known] == data.y[~known]) for known in masks]
                rows.setdefault(method, {}).setdefault(name, {})[f"{fraction:.0%}"] = round(float(np.mean(right)), 4)
            print(f"{name:10s} {fraction:.0%}", {m: rows[m][name][f"{fraction:.0%}"] for m in CLASSIFIERS}, flush=True)
        store(rows)


VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "scale unit": {"scale": "unit"},
    "scale zscore": {"scale": "zscore"},
    "scale unit, one graph": {"scale": "unit", "n_neighbors": 10},
    "rows raw": {"embedding": "raw"},
    "weights uniform": {"weights": "uniform"},
    "rows soft": {"embedding": "soft"},
    "rows unit": {"embedding": "unit"},
    "rows commute": {"embedding": "commute"},
    "graph knn": {"graph": "knn"},
    "graph both": {"graph": "both"},
    "gamma 0.03": {"gamma": 0.03},
    "gamma 0.3": {"gamma": 0.3},
    "n_neighbors 5": {"n_neighbors": 5},
    "n_neighbors 15": {"n_neighbors": 15},
}


def options(names: Iterable[str], store: Callable[[Rows], None], rows: Rows) -> None:
    """ACC when one option of WeaveClustering is changed, mean of two seeds."""
    for name in names:
        data = load(name)
        for variant, given in VARIANTS.items():
            rows.setdefault(variant, {})[name] = _scores(data, [weave(data, seed, **given) for seed in range(2)])
        print(f"{name:12s}", {v: rows[v][name]["acc"] for v in VARIANTS}, flush=True)
        store(rows)


def junk(names: Iterable[str], store: Callable[[Rows], None], rows: Rows) -> None:
    """ACC by weights, with the kernels as they are and with a third of them permuted; mean of three draws."""
    for name in names:
        data = load(name)
        H = data.kernels()
        for weights in ("self", "uniform"):
            for label, stack in (("clean", [H]), ("a third permuted", [_permuted(H, draw) for draw in range(3)])):
                found = [_precomputed(data, stack[seed % len(stack)], seed, weights) for seed in range(3)]
                rows.setdefault(f"{weights}, {label}", {})[name] = _scores(data, found)
        print(f"{name:12s}", {v: r[name]["acc"] for v, r in rows.items() if name in r}, flush=True)
        store(rows)
    data = load("ba")
    for bank in ("released-7", "released-12"):
        for weights in ("self", "uniform"):
            found = [weave(data, seed, kernels=bank, weights=weights) for seed in range(3)]
            rows.setdefault(f"{weights}, {bank}", {})["ba"] = _scores(data, found)
    store(rows)


def automatic(names: Iterable[str], store: Callable[[Rows], None], rows: Rows) -> None:
    """Count the clusters that n_clusters="auto" finds, beside the classes, with several seeds."""
    for name in names:
        data = load(name)
        X, given = data.for_weave()
        rows.setdefault("classes", {})[name] = data.c
        chosen = [WeaveClustering("auto", random_state=seed, **given).fit(X).n_clusters_ for seed in AUTOMATIC_SEEDS]
        for seed, k in zip(AUTOMATIC_SEEDS, chosen, strict=True):
            rows.setdefault(f"chosen, seed {seed}", {})[name] = k
        print(f"{name:12s} {data.c:3d} classes, {chosen} chosen", flush=True)
        store(rows)


def automatic_table(rows: Rows) -> str:
    """Return the numbers side by side and how often and how far they differ."""
    sets = [name for name in (*PAPER, *OTHERS, *MORE) if name in rows.get("classes", {})]
    lines = [_line("", sets), _line("---", ["---"] * len(sets))]
    lines += [_line(kind, [str(found[name]) for name in sets]) for kind, found in rows.items()]
    c = np.array([rows["classes"][name] for name in sets])
    k = np.array([[found[name] for name in sets] for kind, found in rows.items() if kind != "classes"])
    off = np.abs(np.log2(k / c))
    verdict = (
        f"Of {k.size} fits: exact in {np.count_nonzero(k == c)}, within a quarter in "
        f"{np.count_nonzero(abs(k - c) <= c / 4)}, within a factor of two in {np.count_nonzero(off <= 1)}; "
        f"off by a factor of {2 ** np.median(off):.2f} in the median."
    )
    return "\n".join([*lines, "", verdict])


def counted_toys(names: Iterable[str], store: Callable[[Rows], None], rows: Rows) -> None:
    """Count how often n_clusters="auto" is exact, and how often one off at most, on toys of every kind."""
    for name in names:
        drawn = list(toys(name))
        k = np.array([WeaveClustering("auto", random_state=0).fit(toy.X).n_clusters_ for toy in drawn])
        off = k - [toy.c for toy in drawn]
        rows.setdefault("fits", {})[name] = len(off)
        rows.setdefault("exact", {})[name] = int(np.count_nonzero(off == 0))
        rows.setdefault("one off", {})[name] = int(np.count_nonzero(abs(off) == 1))
        rows.setdefault("too few", {})[name] = int(np.count_nonzero(off < -1))
        rows.setdefault("too many", {})[name] = int(np.count_nonzero(off > 1))
        seen = [abs(found - toy.n_peaks) <= 1 for found, toy in zip(k, drawn, strict=True) if toy.n_peaks is not None]
        rows.setdefault("peaks, at most one off", {})[name] = int(np.count_nonzero(seen)) if seen else "–"
        print(f"{name:18s}", {kind: row[name] for kind, row in rows.items()}, flush=True)
        store(rows)


def toys_table(rows: Rows) -> str:
    """Return how many fits of every kind were exact, one off, and further off."""
    sets = [name for name in KINDS if name in rows.get("fits", {})]
    lines = [_line("", sets), _line("---", ["---"] * len(sets))]
    lines += [_line(kind, [str(row[name]) for name in sets]) for kind, row in rows.items()]
    note = (
        "Blobs overlap where less than 95 % of the samples are nearest to their own centre. The density that blobs are "
        "drawn from has fewer peaks than blobs where two centres are near each other: the last row compares with the "
        "peaks. Thresholds were chosen on other seeds."
    )
    return "\n".join([*lines, "", note])


def _permuted(H: np.ndarray, draw: int) -> np.ndarray:
    rng = np.random.default_rng(draw)
    H = H.copy()
    for i in rng.choice(len(H), len(H) // 3, replace=False):
        order = rng.permutation(H.shape[1])
        H[i] = H[i][np.ix_(order, order)]
    return H


def _precomputed(data: DataSet, H: np.ndarray, seed: int, weights: str) -> np.ndarray:
    return WeaveClustering(data.c, kernels="precomputed", weights=weights, random_state=seed).fit(H).labels_


def _scores(data: DataSet, found: list[Any]) -> dict[str, float]:
    return {
        "acc": round(float(np.mean([clustering_accuracy(data.y, labels) for labels in found])), 4),
        "nmi": round(float(np.mean([normalized_mutual_information(data.y, labels) for labels in found])), 4),
    }


def clustering_table(rows: Rows) -> str:
    """Return the table of ACC with its means."""
    sets = [name for name in (*PAPER, *OTHERS) if any(name in r for r in rows.values())]
    lines = [_line("ACC", [*sets, "**paper's six**", "**all fifteen**"]), _line("---", ["---"] * (len(sets) + 2))]
    for method, row in rows.items():
        accs = {name: row[name]["acc"] for name in sets if row.get(name)}
        cells = [f"{accs[name]:.3f}" if name in accs else "–" for name in sets]
        lines.append(_line(method, [*cells, _mean(accs, PAPER), _mean(accs, PAPER + OTHERS)]))
    published = [f"{PUBLISHED[name]:.3f}" if name in PUBLISHED else "–" for name in sets]
    if "weave" in rows:
        lines.append(_line("the paper's SMKL, tuned on labels", [*published, _mean(PUBLISHED, PAPER), "–"]))
    return "\n".join(lines)


def classification_table(rows: Rows) -> str:
    """Return the table of accuracies at every fraction of labels, with their means."""
    sets = [name for name in SEMI_SUPERVISED if any(name in r for r in rows.values())]
    lines = [_line("10 / 30 / 50 % labels", [*sets, "**mean**"]), _line("---", ["---"] * (len(sets) + 1))]
    for method, row in rows.items():
        cells = [" / ".join(f"{row[name][f'{f:.0%}']:.3f}" for f in FRACTIONS) for name in sets]
        means = [np.mean([row[name][f"{f:.0%}"] for name in sets]) for f in FRACTIONS]
        lines.append(_line(method, [*cells, " / ".join(f"{mean:.3f}" for mean in means)]))
    return "\n".join(lines)


def options_table(rows: Rows) -> str:
    """Return the table of ACC of variants with the mean over the sets of each row."""
    sets = [name for name in (*PAPER, *OTHERS, *MORE) if any(name in r for r in rows.values())]
    lines = [_line("ACC", [*sets, "**mean**"]), _line("---", ["---"] * (len(sets) + 1))]
    for variant, row in rows.items():
        accs = {name: row[name]["acc"] for name in sets if name in row}
        cells = [f"{accs[name]:.3f}" if name in accs else "–" for name in sets]
        lines.append(_line(variant, [*cells, _mean(accs, tuple(accs))]))
    return "\n".join(lines)


def _line(head: str, cells: Iterable[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


def _mean(accs: dict[str, float], names: tuple[str, ...]) -> str:
    return f"**{np.mean([accs[name] for name in names]):.4f}**" if set(names) <= set(accs) else "–"


SECTIONS: dict[str, tuple[Callable[..., None], Callable[[Rows], str], tuple[str, ...], str]] = {
    "clustering": (clustering, clustering_table, PAPER + OTHERS, "Clustering, one default for all sets"),
    "classification": (classification, classification_table, SEMI_SUPERVISED, "Classification from a few labels"),
    "options": (
        options,
        options_table,
        tuple(n for n in PAPER + OTHERS + MORE if n != "mfeat"),
        "One option of WeaveClustering changed",
    ),
    "automatic": (automatic, automatic_table, PAPER + OTHERS + MORE, 'The number of clusters, n_clusters="auto"'),
    "toys": (counted_toys, toys_table, KINDS, 'The number of clusters of toys, n_clusters="auto"'),
    "junk": (junk, options_table, tuple(n for n in PAPER + OTHERS if n != "mfeat"), "Weights and junk kernels"),
}


def main() -> None:
    """Run the sections that were asked for, all by default, and write both result files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="all if none is named")
    parser.add_argument("--sets", nargs="+", help="only these data sets; the others keep their stored rows")
    parser.add_argument(
        "--methods", nargs="+", help="only these methods of the first two sections; the others keep theirs"
    )
    arguments = parser.parse_args()
    for known in (CLUSTERERS, CLASSIFIERS):
        for method in set(known) - set(arguments.methods or known):
            del known[method]
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "quality.json"
    stored = json.loads(path.read_text()) if path.exists() else {}
    for section in arguments.sections or SECTIONS:
        run, table, names, title = SECTIONS[section]
        rows = stored.setdefault(section, {}) if arguments.sets or arguments.methods else {}

        def store(rows: Rows, section: str = section) -> None:
            stored.update(json.loads(path.read_text()) if path.exists() else {})  # another section may be running
            stored[section] = rows
            path.write_text(json.dumps(stored, indent=1) + "\n")
            stamp("quality", section)

        print(f"\n{title}")
        run([name for name in names if not arguments.sets or name in arguments.sets], store, rows)
        print("\n" + table(rows))
    stored = json.loads(path.read_text())
    parts = [f"## {SECTIONS[s][3]}\n\n{SECTIONS[s][1](stored[s])}\n" for s in SECTIONS if s in stored]
    note = (
        "Written by `make bench-quality`. The defaults of Weave were chosen on these sets: none of them is held out.\n"
    )
    (RESULTS / "quality.md").write_text(
        "\n".join(["# Quality without labels\n", note, *parts, f"{computed('quality')}\n"])
    )


if __name__ == "__main__":
    main()
