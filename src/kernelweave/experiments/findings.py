"""The results of the experiments in sentences, computed from the rows by the same rules for every cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from kernelweave._plural import counted
from kernelweave.experiments.cells import NEAR, compared
from kernelweave.experiments.published import Figure, Published, load_published
from kernelweave.experiments.reading import grid_shares, means_of_sets, measured_sizes, read_cells
from kernelweave.experiments.selection import Cell, entries_kept, select_cells, with_full_graph

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "NEAR", "classification", "clustering", "leak", "more_draws", "provenance", "restarts", "sensitivity", "sizes"
]  # fmt: skip

_OURS = "SMKL"
_DRAWS = 20  # of the paper
_LEAKING, _ALIGNED = "as released", "SMKL, rows aligned"  # the names in the experiment's file
Place: TypeAlias = tuple[str, int | None, str | None]  # data set, percentage of labels, method


def sizes(rows: pd.DataFrame) -> list[str]:
    """Compare the sizes of the data sets with the published ones."""
    published, measured = load_published("table1"), measured_sizes(rows)
    printed = [figure for figure in published.figures if figure.dataset in measured]
    apart = [figure for figure in printed if measured[figure.dataset][figure.metric] != figure.value]
    said = [f"Published sizes that agree with the data: {len(printed) - len(apart)} of {len(printed)}."]
    said += [
        f"{figure.dataset.upper()} has {measured[figure.dataset][figure.metric]} {figure.metric}; "
        f"the paper ({figure.where or published.table}) says {figure.value:g}."
        for figure in apart
    ]
    return said + _unmeasured(published.figures, set(measured))


def _unmeasured(figures: Iterable[Figure], measured: set[str]) -> list[str]:
    missing = sorted({figure.dataset.upper() for figure in figures} - {name.upper() for name in measured})
    return [f"Not measured: {', '.join(missing)}."] if missing else []


def clustering(rows: pd.DataFrame) -> list[str]:
    """Compare with Table 2, check its claims, and give the results without tuning."""
    published, cells = load_published("table2"), select_cells(rows)
    said = _verdicts(cells, published, "acc")
    nmi = _verdicts(cells, published, "nmi")
    said += nmi[:1] + [line for line in nmi[1:] if line.startswith("Not reached")]
    return said + _claims(cells, published) + _untuned(cells, published)


def classification(rows: pd.DataFrame) -> list[str]:
    """Compare with Table 3, check its claims, and give the results without tuning."""
    published, cells = load_published("table3"), select_cells(rows)
    said = _verdicts(cells, published, "acc") + _claims(cells, published)
    return said + _cut_graphs(cells, rows) + _untuned(cells, published)


def _cut_graphs(cells: Sequence[Cell], rows: pd.DataFrame) -> list[str]:
    """Name the cells of SMKL whose setting keeps a part of the graph, which is not in the paper, with the full one."""
    full = with_full_graph(rows)
    pairs = [(c, full[c.dataset, c.labels]) for c in cells if entries_kept(c) and (c.dataset, c.labels) in full]
    if not pairs:
        return []
    listed = "; ".join(
        f"{_place(c.dataset, c.labels)} {100 * c.scores['acc'].mean:.2f}, full graph {100 * f.scores['acc'].mean:.2f}"
        for c, f in pairs
    )
    kept = ", ".join(sorted({str(entries_kept(c)) for c, _ in pairs}))
    return [
        f"{_OURS} is searched over the paper's full graph and over one that keeps the {kept} strongest entries of "
        f"every row, which is ours. The second is chosen on (ACC, %): {listed}."
    ]


def _verdicts(cells: Sequence[Cell], published: Published, metric: str) -> list[str]:
    """Count and list the published figures that are matched, exceeded, not reached and not computed."""
    figures = [figure for figure in published.figures if figure.metric == metric]
    # a method without parameters has no search, and so no cell with the rule "oracle"
    oracle_last = sorted(cells, key=lambda cell: cell.rule == "oracle")
    found: dict[Place, Cell] = {(cell.dataset, cell.labels, cell.method): cell for cell in oracle_last}
    ours = [found.get((figure.dataset, figure.labels, figure.method)) for figure in figures]
    loose = [cell for cell in ours if cell is not None and not cell.settled and metric in cell.scores]
    apart = [(cell, compared(cell, metric, published)) for cell in ours if cell is not None and cell.settled]
    within = [(c, d) for c, d in apart if d is not None and abs(d) <= NEAR]
    above = [(c, d) for c, d in apart if d is not None and d > NEAR]
    below = [(c, d) for c, d in apart if d is not None and d < -NEAR]
    missing = [f for f, cell in zip(figures, ours, strict=True) if cell is None or metric not in cell.scores]
    said = [
        f"{metric.upper()}: {counted(len(figures), 'published figure')}, of which {len(within)} matched within "
        f"{NEAR:g}, {len(above)} exceeded, {len(below)} not reached, {len(loose)} without a setting that converged, "
        f"{len(missing)} not computed."
    ]
    name = f"Matched within {NEAR:g} ({metric.upper()})"
    said += _listed(name, within) + _listed(f"Exceeded ({metric.upper()})", above)
    said += _listed(f"Not reached ({metric.upper()})", sorted(below, key=lambda pair: pair[1]))
    if loose:
        names = _grouped((cell.method, _place(cell.dataset, cell.labels)) for cell in loose)
        said.append(f"Without a setting that converged in all its runs ({metric.upper()}): {names}.")
    if missing:
        names = _grouped((f.method or "", _place(f.dataset, f.labels)) for f in missing)
        said.append(f"Not computed ({metric.upper()}): {names}.")
    return said


def _listed(name: str, pairs: Sequence[tuple[Cell, float]]) -> list[str]:
    if not pairs:
        return []
    places = _grouped((c.method, f"{_place(c.dataset, c.labels)} {d:+.3f}".replace("-", "−")) for c, d in pairs)
    return [f"{name}: {places}."]


def _grouped(pairs: Iterable[tuple[str, str]]) -> str:
    """Return pairs of method and place as text, such as "SC: YALE, TR11; KGL: TR45"."""
    places: dict[str, list[str]] = {}
    for method, place in pairs:
        places.setdefault(method, []).append(place)
    return "; ".join(f"{method}: {', '.join(found)}" for method, found in places.items())


def _place(dataset: str, labels: int | None) -> str:
    return dataset.upper() if labels is None else f"{dataset.upper()} {labels} %"


def _labelled(dataset: str, labels: int | None) -> str:
    return dataset.upper() if labels is None else f"{dataset.upper()} with {labels} % of the labels"


def _claims(cells: Sequence[Cell], published: Published) -> list[str]:
    """Count in how many cases SMKL is the best, in the paper and here, where all methods have a score."""
    methods = {figure.method for figure in published.figures if figure.method is not None}
    places = list(dict.fromkeys((figure.dataset, figure.labels) for figure in published.figures))
    ours: dict[Place, float] = {
        (c.dataset, c.labels, c.method): c.scores["acc"].mean for c in cells if "acc" in c.scores and c.settled
    }
    printed: dict[Place, float] = {
        (f.dataset, f.labels, f.method): f.value for f in published.figures if f.metric == "acc"
    }
    whole = [place for place in places if all((*place, method) in ours for method in methods)]
    if not whole:
        return [f"It is not known yet whether {_OURS} is the best: no data set has rows of all {len(methods)} methods."]

    def leaders(scores: dict[Place, float]) -> dict[tuple[str, int | None], str]:
        return {place: max(sorted(methods), key=lambda method: scores[(*place, method)]) for place in whole}

    theirs, here = leaders(printed), leaders(ours)
    count = sum(method == _OURS for method in theirs.values()), sum(method == _OURS for method in here.values())
    cases = counted(len(whole), "case")
    said = f"{_OURS} has the best ACC in {count[0]} of {cases} in the paper, and in {count[1]} of {cases} here."
    others = _grouped((method, _place(*place)) for place, method in here.items() if method != _OURS)
    return [f"{said} The best in the others: {others}." if others else said]


def _untuned(cells: Sequence[Cell], published: Published) -> list[str]:
    """Compare methods that were not tuned on labels with the published figures, which were."""
    said = []
    free = [cell for cell in cells if cell.rule != "oracle" and "acc" in cell.scores]
    for method, rule in dict.fromkeys((cell.method, cell.rule) for cell in free):
        if published.find(free[0].dataset, "acc", method, free[0].labels) is not None:
            continue  # a method of the paper without parameters to search
        found = [cell for cell in free if (cell.method, cell.rule) == (method, rule)]
        figures = ", ".join(f"{_place(c.dataset, c.labels)} {c.scores['acc'].mean:.3f}" for c in found)
        met = [f for c in found if (f := published.find(c.dataset, "acc", _OURS, c.labels)) is not None]
        reached = sum(
            c.scores["acc"].mean >= f.value / published.scale - NEAR
            for c in found
            if (f := published.find(c.dataset, "acc", _OURS, c.labels)) is not None
        )
        said.append(
            f"Without tuning on labels, {method} ({rule}): {figures}. At most {NEAR:g} below the published, tuned "
            f"{_OURS} in {reached} of {counted(len(met), 'case')}."
        )
    return said


def sensitivity(rows: pd.DataFrame) -> list[str]:
    """Give the shares of settings far from and near the best, and the values of the parameters near it."""
    shares = grid_shares(rows)
    said = [
        f"Of {counted(shares.n_settings, 'setting')}, {shares.below_half:.0%} have less than half of the best ACC "
        f"({shares.best:.4f}) or failed, and {shares.near:.0%} are within 0.05 of it. The paper calls the result “not "
        "so sensitive”."
    ]
    for name, values in shares.region.items():
        said.append(
            f"{name}: within 0.05 of the best ACC, for some values of the other parameters: {', '.join(values)}."
        )
    return said


def leak(rows: pd.DataFrame) -> list[str]:
    """Give the effect of the misaligned rows on the accuracy."""
    cells = [cell for cell in select_cells(rows) if "acc" in cell.scores]
    published = load_published("table3")
    said = []
    for dataset, labels in dict.fromkeys((cell.dataset, cell.labels) for cell in cells):
        here = [c for c in cells if (c.dataset, c.labels) == (dataset, labels)]
        most = max(c.n_runs for c in here)
        figures = "; ".join(
            f"{c.method} {100 * c.scores['acc'].mean:.2f}"
            + ("" if c.n_runs == most else f" ({counted(c.n_runs, 'draw')})")
            for c in here
        )
        figure = published.find(dataset, "acc", _OURS, labels)
        printed = f"; published {figure.value:.2f}" if figure else ""
        said.append(f"{_labelled(dataset, labels)}, {counted(most, 'draw')}, ACC in %: {figures}{printed}.")
    widest = _widest(cells)
    return [widest, *said] if widest else said


def _widest(cells: Sequence[Cell]) -> str:
    """Return the largest gain of the program as released over the same program with its rows aligned."""
    acc = {(cell.dataset, cell.labels, cell.method): cell.scores["acc"].mean for cell in cells}
    gains = {
        place: acc[(*place, _LEAKING)] - acc[(*place, _ALIGNED)]
        for place in dict.fromkeys((cell.dataset, cell.labels) for cell in cells)
        if (*place, _LEAKING) in acc and (*place, _ALIGNED) in acc
    }
    if not gains:
        return ""
    place = max(gains, key=lambda place: gains[place])
    return (
        f"The order of the rows alone changes ACC by {100 * gains[place]:+.1f} points on {_labelled(*place)}: from "
        f"{acc[(*place, _ALIGNED)]:.3f} to {acc[(*place, _LEAKING)]:.3f}, with the same data, draws and parameters."
    ).replace("-", "−")


def restarts(rows: pd.DataFrame) -> list[str]:
    """Give the range of the accuracy over single starts of k-means, for the settings of Table 2."""
    frame = rows[rows["acc"].notna()]
    searched = frame.groupby(["dataset", "method", "parameters", "kernel"], sort=False)["acc"]
    spread = searched.std().mean()
    width = (searched.max() - searched.min()).max()
    return [
        f"Over {counted(int(frame['seed'].nunique()), 'single start')} of k-means at the settings of Table 2, ACC "
        f"deviates by {spread:.3f} on average, and by at most {width:.3f} between the best and the worst start."
    ]


def more_draws(rows: pd.DataFrame) -> list[str]:
    """Give the means of sets of 20 draws of labels, for settings of Table 3."""
    said = []
    frame = read_cells(rows)
    for (dataset, labels), runs in frame[frame["acc"].notna()].groupby(["dataset", "labels"], sort=False):
        means = [f"{100 * mean:.2f}" for mean in means_of_sets(runs, "acc", _DRAWS)]
        said.append(
            f"{_OURS} on {_labelled(str(dataset), int(labels))}: means of {_DRAWS} draws each, in %: "
            f"{', '.join(means)}; mean of all {len(runs)}: {100 * runs['acc'].mean():.2f}. Table 3 has the first "
            f"{_DRAWS}."
        )
    return said


def provenance(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return preset, rows, failures, runs that did not converge, hours of computing, versions and commits."""
    failed = int((rows["outcome"] == "FAILED").sum())
    stopped = int((rows["outcome"] == "MAX_ITER").sum())
    names = ("kernelweave", "numpy", "scipy", "sklearn", "python")
    versions = ", ".join(f"{name} {' and '.join(sorted(set(rows[name])))}" for name in names)
    presets = " and ".join(sorted(set(rows["preset"])))
    commits = "; ".join(
        f"{commit or 'not stored'}: {counted(n, 'row')}" for commit, n in rows["commit"].value_counts().items()
    )
    counts = str(len(rows)), str(failed), str(stopped)
    return presets, *counts, f"{rows['seconds'].sum() / 3600:.2f}", versions, commits
