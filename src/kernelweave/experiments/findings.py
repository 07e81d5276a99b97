"""What the rows say, in sentences: which published figures are met, by rules that are the same for every cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kernelweave.experiments.cells import NEAR, compared
from kernelweave.experiments.published import Figure, Published, load_published
from kernelweave.experiments.reading import grid_shares, measured_sizes
from kernelweave.experiments.selection import Cell, select_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NEAR", "classification", "clustering", "leak", "provenance", "sensitivity", "sizes"]

_OURS = "SMKL"
_LEAKING, _ALIGNED = "as released", "SMKL, rows aligned"  # the names in the experiment's file


def sizes(rows: pd.DataFrame) -> list[str]:
    """Say which data sets have the printed size."""
    published, measured = load_published("table1"), measured_sizes(rows)
    printed = [figure for figure in published.figures if figure.dataset in measured]
    apart = [figure for figure in printed if measured[figure.dataset][figure.metric] != figure.value]
    said = [f"{len(printed) - len(apart)} of {len(printed)} printed sizes are those of the data."]
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
    """Say which cells of Table 2 are met, what becomes of its claims, and what is had without tuning."""
    published, cells = load_published("table2"), select_cells(rows)
    said = _verdicts(cells, published, "acc") + _verdicts(cells, published, "nmi")[:1]
    return said + _claims(cells, published) + _untuned(cells, published)


def classification(rows: pd.DataFrame) -> list[str]:
    """Say which cells of Table 3 are met, and what becomes of its claims."""
    published, cells = load_published("table3"), select_cells(rows)
    return _verdicts(cells, published, "acc") + _claims(cells, published) + _untuned(cells, published)


def _verdicts(cells: Sequence[Cell], published: Published, metric: str) -> list[str]:
    """Sort the cells that have a published figure: as printed, above, below, missing."""
    figures = [figure for figure in published.figures if figure.metric == metric]
    found = {(cell.dataset, cell.method, cell.labels): cell for cell in cells if cell.rule == "oracle"}
    found = {(c.dataset, c.method, c.labels): c for c in cells} | found  # a method without parameters has no search
    ours = [found.get((figure.dataset, figure.method, figure.labels)) for figure in figures]
    apart = [(cell, compared(cell, metric, published)) for cell in ours if cell is not None]
    within = [(c, d) for c, d in apart if d is not None and abs(d) <= NEAR]
    above = [(c, d) for c, d in apart if d is not None and d > NEAR]
    below = [(c, d) for c, d in apart if d is not None and d < -NEAR]
    missing = [f for f, cell in zip(figures, ours, strict=True) if cell is None or metric not in cell.scores]
    said = [
        f"{metric.upper()}: of {len(figures)} published figures {len(within)} are met within {NEAR:g}, ours are higher "
        f"in {len(above)} and lower in {len(below)}; {len(missing)} have no row of ours."
    ]
    name = f"Met within {NEAR:g} ({metric.upper()})"
    said += _listed(name, within) + _listed(f"Higher ({metric.upper()})", above)
    said += _listed(f"Not reached ({metric.upper()})", sorted(below, key=lambda pair: pair[1]))
    if missing:
        names = _grouped((f.method or "", _place(f.dataset, f.labels)) for f in missing)
        said.append(f"No rows ({metric.upper()}): {names}.")
    return said


def _listed(name: str, pairs: Sequence[tuple[Cell, float]]) -> list[str]:
    if not pairs:
        return []
    places = _grouped((c.method, f"{_place(c.dataset, c.labels)} {d:+.3f}".replace("-", "−")) for c, d in pairs)
    return [f"{name}: {places}."]


def _grouped(pairs: Iterable[tuple[str, str]]) -> str:
    """Return "SC: YALE, TR11; KGL: TR45" of pairs of method and place."""
    places: dict[str, list[str]] = {}
    for method, place in pairs:
        places.setdefault(method, []).append(place)
    return "; ".join(f"{method}: {', '.join(found)}" for method, found in places.items())


def _place(dataset: str, labels: int | None) -> str:
    return dataset.upper() if labels is None else f"{dataset.upper()} {labels} %"


def _claims(cells: Sequence[Cell], published: Published) -> list[str]:
    """Count where SMKL is the best, in the paper and here, over the places where both have all methods."""
    methods = {figure.method for figure in published.figures}
    places = list(dict.fromkeys((figure.dataset, figure.labels) for figure in published.figures))
    ours = {(c.dataset, c.labels, c.method): c.scores["acc"].mean for c in cells if "acc" in c.scores}
    printed = {(f.dataset, f.labels, f.method): f.value for f in published.figures if f.metric == "acc"}
    whole = [place for place in places if all((*place, method) in ours for method in methods)]
    if not whole:
        return [f"Whether {_OURS} is the best cannot be said yet: no data set has rows of all {len(methods)} methods."]

    def leaders(scores: dict[tuple[str, int | None, str], float]) -> dict[tuple[str, int | None], str]:
        return {place: max(sorted(methods), key=lambda method: scores[(*place, method)]) for place in whole}

    theirs, here = leaders(printed), leaders(ours)
    count = sum(method == _OURS for method in theirs.values()), sum(method == _OURS for method in here.values())
    said = f"{_OURS} has the best ACC in {count[0]} of {len(whole)} places in the paper, and in {count[1]} here"
    others = _grouped((method, _place(*place)) for place, method in here.items() if method != _OURS)
    return [f"{said}; elsewhere the best is {others}." if others else f"{said}."]


def _untuned(cells: Sequence[Cell], published: Published) -> list[str]:
    """Put what was not tuned on labels beside the paper's figures, which were."""
    said = []
    free = [cell for cell in cells if cell.rule != "oracle" and "acc" in cell.scores]
    for method, rule in dict.fromkeys((cell.method, cell.rule) for cell in free):
        if published.find(free[0].dataset, "acc", method, free[0].labels) is not None:
            continue  # a method of the paper that has nothing to search
        found = [cell for cell in free if (cell.method, cell.rule) == (method, rule)]
        figures = ", ".join(f"{_place(c.dataset, c.labels)} {c.scores['acc'].mean:.3f}" for c in found)
        met = [f for c in found if (f := published.find(c.dataset, "acc", _OURS, c.labels)) is not None]
        reached = sum(
            c.scores["acc"].mean >= f.value / published.scale - NEAR
            for c in found
            if (f := published.find(c.dataset, "acc", _OURS, c.labels)) is not None
        )
        said.append(
            f"Not tuned on labels, {method} ({rule}): {figures}. That is at most {NEAR:g} below the published, tuned "
            f"{_OURS} in {reached} of {len(met)}."
        )
    return said


def sensitivity(rows: pd.DataFrame) -> list[str]:
    """Say how large the region is in which the result does not depend on the parameters."""
    shares = grid_shares(rows)
    said = [
        f"Of {shares.n_settings} settings {shares.below_half:.0%} fall below half of the best ACC ({shares.best:.4f}) "
        f"or fail, and {shares.near:.0%} are within 0.05 of it. The paper calls the result “not so sensitive”."
    ]
    for name, values in shares.region.items():
        said.append(f"{name} within 0.05 of the best ACC for some setting of the others: {', '.join(values)}.")
    return said


def leak(rows: pd.DataFrame) -> list[str]:
    """Say what the misaligned rows add to the accuracy."""
    cells = [cell for cell in select_cells(rows) if "acc" in cell.scores]
    published = load_published("table3")
    said = []
    for dataset, labels in dict.fromkeys((cell.dataset, cell.labels) for cell in cells):
        here = [c for c in cells if (c.dataset, c.labels) == (dataset, labels)]
        figures = "; ".join(f"{c.method} {100 * c.scores['acc'].mean:.2f}" for c in here)
        figure = published.find(dataset, "acc", _OURS, labels)
        printed = f"; published {figure.value:.2f}" if figure else ""
        said.append(f"{_place(dataset, labels)} of labels, {here[0].n_runs} draws, ACC in %: {figures}{printed}.")
    widest = _widest(cells)
    return [widest, *said] if widest else said


def _widest(cells: Sequence[Cell]) -> str:
    """Return where the program as released gains most over the same program with its rows aligned."""
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
        f"The order of the rows alone moves ACC by {100 * gains[place]:+.1f} points on {_place(*place)} of labels: "
        f"{acc[(*place, _ALIGNED)]:.3f} becomes {acc[(*place, _LEAKING)]:.3f} with the same data, draws and parameters."
    ).replace("-", "−")


def provenance(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the preset, the number of rows, of failures, the hours of computing, and the versions."""
    failed = int((rows["outcome"] == "FAILED").sum())
    names = ("kernelweave", "numpy", "scipy", "sklearn", "python")
    versions = ", ".join(f"{name} {' and '.join(sorted(set(rows[name])))}" for name in names)
    presets = " and ".join(sorted(set(rows["preset"])))
    return presets, str(len(rows)), str(failed), f"{rows['seconds'].sum() / 3600:.2f}", versions
