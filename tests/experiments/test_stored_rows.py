"""Stored rows: a random sample of the cells is computed again and gives the stored figures."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernelweave.experiments import load_spec
from kernelweave.experiments.data import identify
from kernelweave.experiments.execute import run_task
from kernelweave.experiments.reading import read_cells, read_results
from kernelweave.experiments.selection import select_cells
from kernelweave.experiments.store import SharedData
from kernelweave.experiments.tasks import Point, Task

RESULTS = Path(__file__).parents[2] / "experiments" / "results"
SMALL = 250  # samples


def task_of(row, spec):
    """The task that computes one row alone."""
    method = next(m for m in spec.methods if m.name == row["method"])
    named = row["kernel"] if method.input == "kernels" else row["kernel"].partition(" of ")[2]
    method = replace(method, kernels=named or method.kernels)
    point = Point(json.loads(row["parameters"]), row["kernel"], int(row["seed"]))
    split = (row["split"], float(row["fraction"])) if row["split"] else (None, None)
    data = identify(row["dataset"])
    return Task(spec.name, "full", spec.kind, data, method, (point,), *split, preprocessing=row["preprocessing"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table2", "table3"])
def test_ten_random_cells_give_the_stored_figures_again(name, shared_data, tmp_path):
    spec, rows = load_spec(name, "full"), read_cells(read_results(RESULTS / name))
    small = set(rows.loc[rows["n_samples"] < SMALL, "dataset"])
    cells = [c for c in select_cells(rows) if c.dataset in small and c.settled and c.method != "Weave defaults"]
    if name == "table2":  # a row of a path needs its path
        cells = [c for c in cells if "safeguarded" not in c.setting]
    for i in np.random.default_rng(0).permutation(len(cells))[:10]:
        cell = cells[i]
        same = (rows["dataset"] == cell.dataset) & (rows["method"] == cell.method) & (rows["setting"] == cell.setting)
        labels = rows["labels"].isna() if cell.labels is None else rows["labels"] == cell.labels
        tasks = [task_of(row, spec) for _, row in rows[same & labels].iterrows()]
        shared = SharedData.build(tmp_path, tasks, shared_data / "paper")
        again = np.mean([run_task(task, shared)[0]["acc"] for task in tasks])
        shared.remove()
        assert again == pytest.approx(cell.scores["acc"].mean, abs=5e-5), cell
