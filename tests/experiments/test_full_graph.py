"""SMKL with the full graph of the paper beside settings that keep a part of it."""

import json

import pandas as pd

from kernelweave.experiments import findings
from kernelweave.experiments.rows import COLUMNS
from kernelweave.experiments.selection import entries_kept, select_cells, with_full_graph


def made(*settings):
    """Rows of YALE with 10 % of the labels: method, n_neighbors, accuracy."""
    same = {
        "dataset": "yale",
        "selection": "oracle",
        "kernel": "",
        "split": "same-positions",
        "fraction": 0.1,
        "seed": 0,
    }
    more = {"seconds": 1.0, "outcome": "CONVERGED", "preprocessing": "none"}
    rows = [
        {**same, **more, "method": method, "parameters": json.dumps({"n_neighbors": n}), "acc": acc}
        for method, n, acc in settings
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def test_the_entries_kept_are_those_of_smkl_alone():
    rows = made(("SMKL", 15, 0.5), ("SCAN", 9, 0.5))
    assert [entries_kept(cell) for cell in select_cells(rows)] == [15, None]
    assert entries_kept(select_cells(made(("SMKL", "all", 0.5)))[0]) is None


def test_the_full_graph_is_only_given_where_it_is_not_chosen():
    cut = made(("SMKL", "all", 0.4), ("SMKL", 15, 0.5))
    (cell,) = with_full_graph(cut).values()
    assert cell.scores["acc"].mean == 0.4
    assert with_full_graph(made(("SMKL", "all", 0.5), ("SMKL", 15, 0.4))) == {}
    assert with_full_graph(made(("SMKL", 15, 0.5))) == {}


def test_the_page_names_the_cells_where_a_part_of_the_graph_is_chosen():
    said = findings.classification(made(("SMKL", "all", 0.4), ("SMKL", 15, 0.5)))
    assert any(line.endswith("The second is chosen on (ACC, %): YALE 10 % 50.00, full graph 40.00.") for line in said)
    assert not any("full graph" in line for line in findings.classification(made(("SMKL", "all", 0.5))))
