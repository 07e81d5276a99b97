"""Stored rows: a random sample of the cells is computed again and gives the stored figures."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.rerun_cells import rows_of, run_again, same_figure, tasks_of, write_comparison
from kernelweave.experiments import load_spec
from kernelweave.experiments.reading import read_cells, read_results
from kernelweave.experiments.selection import select_cells

RESULTS = Path(__file__).parents[2] / "experiments" / "results"
SMALL = 250  # samples


@pytest.fixture(scope="module", params=["table2", "table3"])
def stored(request):
    rows = read_cells(read_results(RESULTS / request.param))
    return load_spec(request.param, "full"), rows, select_cells(rows)


def test_the_tasks_of_a_cell_hold_all_its_rows(stored):
    spec, rows, cells = stored
    for cell in cells[::7]:
        part = rows_of(cell, rows)
        first = part.iloc[0]
        setting = first["parameters"], first["kernel"], first["preprocessing"]
        found = [p.seed for t in tasks_of(part, spec) for p in t.points if t.setting(p) == setting]
        assert sorted(found) == sorted(part["seed"]), cell
        assert len(part) == cell.n_runs, cell


def test_a_cell_of_a_path_is_run_with_its_path(stored):
    spec, rows, cells = stored
    if spec.name != "table2":
        assert not any(task.path for cell in cells[::7] for task in tasks_of(rows_of(cell, rows), spec))
        return
    cell = next(c for c in cells if c.method == "SMKL" and "safeguarded" in c.setting)
    (task,) = tasks_of(rows_of(cell, rows), spec)
    assert task.path
    assert len({point.parameters["alpha"] for point in task.points}) > 1


def test_figures_are_equal_in_four_digits_or_differ():
    assert same_figure(0.61234, 0.61236)
    assert not same_figure(0.6123, 0.6124)


def test_the_comparison_names_what_differs_and_what_was_left_out():
    same = {"setting": "defaults", "runs": 20, "cpu_seconds": 1.0, "commit": "abc", "acc": [0.5, 0.5]}
    other = same | {"acc": [0.5, 0.6], "acc_rows_apart": 3}
    cells = {"table3: YALE 10 %, LGC": same | {"acc_rows_apart": 0}, "table3: YALE 30 %, LGC": other}
    page = write_comparison({"seed": 4, "seconds": 60.0, "cells": cells, "left_out": {"table3: BA 50 %, SMKL": 540.0}})
    assert "2 cells run again; 1 of them with other figures in the first four digits" in page
    assert "table3: BA 50 %, SMKL: its rows took 540 s" in page
    assert "| table3: YALE 30 %, LGC | defaults | 20 | ACC | 0.5000 | 0.6000 | 3 | 1.0 | abc |" in page


@pytest.mark.slow
def test_ten_random_cells_give_the_stored_figures_again(stored, shared_data):
    spec, rows, cells = stored
    small = set(rows.loc[rows["n_samples"] < SMALL, "dataset"])
    cells = [c for c in cells if c.dataset in small and c.settled]
    for i in np.random.default_rng(0).permutation(len(cells))[:10]:
        again = run_again(rows_of(cells[i], rows), spec, shared_data / "paper")
        assert same_figure(cells[i].scores["acc"].mean, np.mean([row["acc"] for row in again])), cells[i]
