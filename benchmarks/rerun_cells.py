"""Run random cells of Tables 2 and 3 again and compare them with the stored rows: `python -m benchmarks.rerun_cells`.

The cells are those of the methods in the paper. Of each the chosen setting is run on all its stored seeds or draws. A
cell whose rows took more than `--seconds` is left out and named, and the next one is taken. The exit code is 1 if a
figure differs in its first four digits.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from benchmarks._stored import RESULTS, line
from kernelweave._plural import counted
from kernelweave.experiments import load_spec
from kernelweave.experiments.commits import source_commit
from kernelweave.experiments.data import identify
from kernelweave.experiments.execute import run_task
from kernelweave.experiments.published import load_published
from kernelweave.experiments.reading import read_cells, read_results
from kernelweave.experiments.rows import Row
from kernelweave.experiments.selection import Cell, select_cells
from kernelweave.experiments.spec import Spec
from kernelweave.experiments.store import SharedData
from kernelweave.experiments.tasks import Point, Task, expand

__all__ = ["rows_of", "run_again", "same_figure", "tasks_of", "write_comparison"]

STORED = Path(__file__).parents[1] / "experiments" / "results"
TABLES = ("table2", "table3")
_DIGITS = 5e-5  # figures that differ by less are equal in four digits
_METRICS = ("acc", "nmi")

Figures: TypeAlias = dict[str, Any]


def rows_of(cell: Cell, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a cell's chosen setting; `rows` are from `read_cells`."""
    same = (rows["dataset"] == cell.dataset) & (rows["method"] == cell.method) & (rows["setting"] == cell.setting)
    labels = rows["labels"].isna() if cell.labels is None else rows["labels"] == cell.labels
    return rows[same & labels & (rows["rule"] == cell.rule)]


def tasks_of(part: pd.DataFrame, spec: Spec) -> list[Task]:
    """Return the tasks that compute the rows of one setting: a row of a path needs the rows before it."""
    first = part.iloc[0]
    seeds = set(part["seed"])
    setting = first["parameters"], first["kernel"], first["preprocessing"]
    if first["method"] not in {method.name for method in spec.methods if any(grid.path for grid in method.grids)}:
        return [_task(part, spec)]
    paths = [
        task
        for task in expand(spec.narrowed([first["dataset"]], [first["method"]]))
        if task.path and any(task.setting(point) == setting and point.seed in seeds for point in task.points)
    ]
    return paths or [_task(part, spec)]


def _task(part: pd.DataFrame, spec: Spec) -> Task:
    first = part.iloc[0]
    method = next(m for m in spec.methods if m.name == first["method"])
    named = first["kernel"] if method.input == "kernels" else first["kernel"].partition(" of ")[2]
    method = replace(method, kernels=named or method.kernels)
    points = tuple(Point(json.loads(first["parameters"]), first["kernel"], int(seed)) for seed in part["seed"])
    return Task(
        spec.name, "full", spec.kind, identify(first["dataset"]), method, points,
        protocol=first["split"] or None,
        fraction=float(first["fraction"]) if first["split"] else None,
        preprocessing=first["preprocessing"],
    )  # fmt: skip


def same_figure(stored: float, again: float) -> bool:
    """Return whether two figures are equal in four digits."""
    return abs(stored - again) < _DIGITS


def run_again(part: pd.DataFrame, spec: Spec, data_home: Path | None) -> list[Row]:
    """Compute the rows of one setting and return them."""
    tasks = tasks_of(part, spec)
    first = part.iloc[0]
    setting = first["parameters"], first["kernel"], first["preprocessing"]
    with tempfile.TemporaryDirectory() as folder:
        shared = SharedData.build(Path(folder), tasks, data_home)
        found = [row for task in tasks for row in run_task(task, shared)]
    return [row for row in found if (row["parameters"], row["kernel"], row["preprocessing"]) == setting]


def _compared(cell: Cell, part: pd.DataFrame, spec: Spec, data_home: Path | None) -> Figures:
    """Return the stored and the new means of a cell, and how many of its rows differ."""
    begun = process_time()
    again = pd.DataFrame(run_again(part, spec, data_home)).set_index("seed")
    seconds = process_time() - begun
    stored = part.set_index("seed")
    figures: Figures = {"runs": len(stored), "cpu_seconds": round(seconds, 1), "commit": source_commit() or "unknown"}
    for metric in _METRICS:
        if metric in cell.scores:
            new = again.loc[stored.index, metric].astype(float)
            figures[metric] = [float(stored[metric].mean()), float(new.mean())]
            apart = ~np.isclose(new.to_numpy(), stored[metric].to_numpy(dtype=float), rtol=0, atol=_DIGITS)
            figures[f"{metric}_rows_apart"] = int(apart.sum())
    return figures


def _shuffled(seed: int) -> Iterator[tuple[str, Cell, pd.DataFrame]]:
    """Yield the cells of both tables in random order, each with its table and its rows."""
    rows = {name: read_cells(found) for name in TABLES if (found := read_results(STORED / name)) is not None}
    cells = [(name, cell) for name, found in rows.items() for cell in select_cells(found) if _published(name, cell)]
    for i in np.random.default_rng(seed).permutation(len(cells)):
        name, cell = cells[i]
        yield name, cell, rows_of(cell, rows[name])


def _published(table: str, cell: Cell) -> bool:
    """Return whether the paper has a figure for a cell that has one here."""
    return bool(cell.scores) and load_published(table).find(cell.dataset, "acc", cell.method, cell.labels) is not None


def _name(table: str, cell: Cell) -> str:
    labels = "" if cell.labels is None else f" {cell.labels} %"
    return f"{table}: {cell.dataset.upper()}{labels}, {cell.method}"


def write_comparison(stored: Figures) -> str:
    """Return the page of the results."""
    cells, left_out = stored["cells"], stored["left_out"]
    heads = ("cell", "setting", "runs", "metric", "stored", "again", "rows that differ", "CPU seconds", "commit")
    lines = [line(heads), line((":--", ":--", "--:", ":--", "--:", "--:", "--:", "--:", ":--"))]
    for name, found in cells.items():
        for metric in (m for m in _METRICS if m in found):
            before, again = (f"{value:.4f}" for value in found[metric])
            shown = (name, found["setting"], str(found["runs"]), metric.upper(), before, again)
            rest = (str(found[f"{metric}_rows_apart"]), f"{found['cpu_seconds']:.1f}", found["commit"])
            lines.append(line((*shown, *rest)))
    apart = sum(not _equal(found) for found in cells.values())
    other = f"{apart or 'none'} of them with other figures in the first four digits"
    said = f"{counted(len(cells), 'cell')} run again; {other}."
    skipped = [f"- {name}: its rows took {seconds:.0f} s" for name, seconds in left_out.items()]
    if skipped:
        said += " Drawn but left out, as they take too long:"
    note = (
        f"Written by `python -m benchmarks.rerun_cells --seed {stored['seed']} --seconds {stored['seconds']:g}`: "
        "random cells of Tables 2 and 3, the chosen setting on all its stored seeds or draws."
    )
    return "\n\n".join(["# Stored cells run again", note, said, *(["\n".join(skipped)] if skipped else []),
                        "\n".join(lines)]) + "\n"  # fmt: skip


def _equal(found: Figures) -> bool:
    return all(same_figure(*found[metric]) for metric in _METRICS if metric in found)


def main() -> None:
    """Run the cells, and store and print the comparison after each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the random order of the cells")
    parser.add_argument("--cells", type=int, default=10, help="how many to run")
    parser.add_argument("--seconds", type=float, default=200.0, help="leave out cells whose stored rows took longer")
    parser.add_argument("--data-dir", type=Path, help="folder of the data files; else KERNELWEAVE_DATA, else the cache")
    chosen = parser.parse_args()
    stored: Figures = {"seed": chosen.seed, "seconds": chosen.seconds, "left_out": {}, "cells": {}}
    for table, cell, part in _shuffled(chosen.seed):
        took = float(part["seconds"].sum())
        if took > chosen.seconds:
            stored["left_out"][_name(table, cell)] = took
            continue
        found = _compared(cell, part, load_spec(table, "full"), chosen.data_dir)
        stored["cells"][_name(table, cell)] = {"setting": cell.setting, **found}
        print(_name(table, cell), "equal" if _equal(found) else "DIFFERS", found, flush=True)
        (RESULTS / "rerun_cells.json").write_text(json.dumps(stored, indent=1) + "\n")
        (RESULTS / "rerun_cells.md").write_text(write_comparison(stored))
        if len(stored["cells"]) == chosen.cells:
            break
    sys.exit(not all(_equal(found) for found in stored["cells"].values()))


if __name__ == "__main__":
    main()
