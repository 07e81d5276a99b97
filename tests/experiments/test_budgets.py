"""The table of the sizes of the searches."""

from kernelweave.experiments.cells import budget_table
from kernelweave.experiments.selection import Cell


def cell(dataset, method, labels, n_settings, n_runs):
    return Cell(
        dataset, method, labels, "oracle", None, {}, "defaults", n_settings, n_failed=0, n_unsettled=0, n_runs=n_runs,
        seconds=1.0, settled=True,
    )  # fmt: skip


def texts(table):
    return [[entry.text for entry in row] for row in table.rows]


def test_the_fewest_settings_and_runs_over_the_percentages_of_labels_are_shown():
    cells = [cell("yale", "LGC", 10, 56, 20), cell("yale", "LGC", 30, 42, 20), cell("yale", "LGC", 50, 56, 5)]
    table = budget_table(cells, {("yale", "LGC"): 42}, "sizes")
    assert table.header == ["Method", "YALE"]
    assert texts(table) == [["LGC", "42 × 5"]]


def test_a_search_that_is_not_finished_names_its_plan_and_an_absent_one_has_a_dash():
    cells = [cell("yale", "S2LRR", 10, 2, 20), cell("ba", "SCAN", 10, 30, 20)]
    table = budget_table(cells, {("yale", "S2LRR"): 30, ("ba", "SCAN"): 30}, "sizes")
    assert texts(table) == [["S2LRR", "2 of 30 × 20", "–"], ["SCAN", "–", "30 × 20"]]
