"""Whole tables, entry by entry: two methods of a paper and two others, with labels, failures and no convergence."""

import pandas as pd
import pytest

from kernelweave.experiments.cells import compared, detail_table, overview_tables, sizes_table
from kernelweave.experiments.published import Figure, Published
from kernelweave.experiments.selection import Cell, Score

PERCENT = Published(
    "Made up.",
    "Table 9",
    "A caption",
    "percent",
    (
        Figure(metric="acc", value=50.0, std=1.5, dataset="iris", method="SC", labels=10),
        Figure(metric="acc", value=80.0, dataset="iris", method="KGL", labels=10),
        Figure(metric="nmi", value=30.0, dataset="iris", method="SC", labels=10),
    ),
)


def cell(method, acc, *, labels=10, std=None, rule="oracle", dataset="iris", more=None, **other):
    scores = {} if acc is None else {"acc": Score(acc, std), **(more or {})}
    given = {"protocol": "random", "setting": "alpha=1", "n_settings": 3, "n_failed": 1, "n_unsettled": 0, "n_runs": 2}
    given |= {"seconds": 1.26, "settled": True} | other
    return Cell(dataset=dataset, method=method, labels=labels, rule=rule, scores=scores, **given)


CELLS = [
    cell("SC", 0.6, labels=30, settled=False, n_unsettled=2),
    cell("KGL", 0.7, more={"nmi": Score(0.25, None)}),
    cell("new", 0.9, rule="fixed", n_settings=1, n_failed=0),
    cell("SC", 0.5, std=0.0125, more={"nmi": Score(0.35, None)}),
    cell("other", None, rule="fixed", n_settings=1),
]


def text(table):
    return [" | ".join(("*" if entry.bold else "") + entry.text for entry in row) for row in table.rows]


def tones(table):
    return {(i, j): entry.tone for i, row in enumerate(table.rows) for j, entry in enumerate(row) if entry.tone}


def test_methods_of_the_paper_stand_beside_its_figures_and_others_apart():
    paper, others = overview_tables(CELLS, PERCENT)
    assert (paper.title, others.title) == ("Table 9: A caption", "Methods that are not in the paper")
    assert paper.header == ["Data", "Labels", "Metric", "SC*", "KGL*"]
    assert text(paper) == [
        "IRIS | 30 % | ACC | 60.00† | –",
        "IRIS | 30 % | NMI | – | –",
        "IRIS | 10 % | ACC | 50.00 (0.00) | *70.00 (−10.00)",
        "IRIS | 10 % | NMI | *35.00 (+5.00) | 25.00",
    ]
    assert tones(paper) == {(2, 3): "near", (2, 4): "far", (3, 3): "near"}
    assert [note.split()[0] for note in paper.notes] == ["*", "In", "†", "Labels"]
    assert others.header == ["Data", "Labels", "Metric", "new", "other"]
    assert text(others) == ["IRIS | 10 % | ACC | 90.00 | –", "IRIS | 10 % | NMI | – | –"]
    assert others.notes == [
        "fixed: one setting, not searched. Best in bold.",
        "Labels are drawn with the protocol random (see label_split).",
    ]
    assert (paper.words, paper.last_words, others.words) == (3, 0, 3)


def test_without_a_paper_all_methods_stand_in_one_table_of_shares():
    (table,) = overview_tables(CELLS, None)
    assert table.title == "Comparison of the methods"
    assert table.header == ["Data", "Labels", "Metric", "SC*", "KGL*", "new", "other"]
    assert text(table)[0] == "IRIS | 30 % | ACC | 0.6000† | – | – | –"
    assert text(table)[2] == "IRIS | 10 % | ACC | 0.5000 | 0.7000 | *0.9000 | –"
    assert not tones(table)
    assert overview_tables(CELLS[1:2], None) == []


def test_the_details_have_a_row_for_every_cell_by_data_set_and_labels():
    table = detail_table(CELLS, PERCENT, "mine", {("iris", "SC"): 7})
    assert table.title == "Table 9: all results"
    printed = ["ACC", "published", "Δ", "NMI", "published", "Δ"]
    counted = ["settings", "planned", "failed", "not converged", "runs", "s per run", "setting"]
    assert table.header == ["Data", "Labels", "Method", "Rule", *printed, *counted]
    assert text(table) == [
        "IRIS | 10 % | KGL | oracle* | *70.00 | 80.00 | −10.00 | 25.00 | – | – | 3 | – | 1 | 0 | 2 | 1.3 | alpha=1",
        "IRIS | 10 % | new | fixed | 90.00 | – | – | – | – | – | 1 | – | 0 | 0 | 2 | 1.3 | alpha=1",
        "IRIS | 10 % | SC | oracle* | 50.00 ± 1.25 | 50.00 ± 1.50 | 0.00 | *35.00 | 30.00 | +5.00 "
        "| 3 | 7 | 1 | 0 | 2 | 1.3 | alpha=1",
        "IRIS | 10 % | other | fixed | – | – | – | – | – | – | 1 | – | 1 | 0 | 2 | – | –",
        "IRIS | 30 % | SC | oracle* | 60.00† | – | – | – | – | – | 3 | 7 | 1 | 2 | 2 | 1.3 | alpha=1",
    ]
    assert tones(table) == {(0, 6): "far", (2, 6): "near", (2, 9): "near"}
    assert [note.split()[0] for note in table.notes] == ["Mean", "*", "†", "Labels"]
    assert "planned" in table.notes[0]
    assert (table.words, table.last_words) == (4, 1)


def test_the_details_without_a_paper_or_labels_have_no_columns_for_them():
    table = detail_table([cell("SC", 0.5, labels=None, protocol=None)], None, "mine")
    assert table.title == "mine: all results"
    assert table.header == [
        "Data", "Method", "Rule", "ACC", "settings", "failed", "not converged", "runs", "s per run", "setting",
    ]  # fmt: skip
    assert text(table) == ["IRIS | SC | oracle* | 0.5000 | 3 | 1 | 0 | 2 | 1.3 | alpha=1"]
    assert len(table.notes) == 2
    assert "planned" not in table.notes[0]


@pytest.mark.parametrize(("acc", "expected"), [(0.5, 0.0), (0.53, 0.03), (None, None)])
def test_a_score_is_compared_in_the_unit_of_the_scores(acc, expected):
    found = compared(cell("SC", acc), "acc", PERCENT)
    assert found == (None if expected is None else pytest.approx(expected))
    assert compared(cell("SC", acc), "purity", PERCENT) is None
    assert compared(cell("SC", acc), "acc", None) is None


def test_sizes_stand_beside_the_published_ones_and_differences_are_marked():
    figures = (
        Figure(metric="instances", value=150, dataset="iris"),
        Figure(metric="classes", value=2, dataset="iris", where="Section 5"),
    )
    rows = pd.DataFrame([{"dataset": "iris", "n_samples": 150, "n_features": 4, "n_classes": 3}])
    table = sizes_table(rows, Published("Made up.", "Table 9", "A caption", "count", figures))
    assert text(table) == ["IRIS | 150 | 150 | 0 | 4 | – | – | 3 | 2 | +1"]
    assert table.header == [
        "Data",
        *(one for size in ("instances", "features", "classes") for one in (size, "published", "Δ")),
    ]
    assert tones(table) == {(0, 9): "far"}
    assert table.notes[1:] == ["Made up.", "Given elsewhere in the paper, not in the table: IRIS (classes): Section 5."]
    alone = sizes_table(rows, None)
    assert alone.title == "Sizes"
    assert len(alone.notes) == 1
    assert text(alone) == ["IRIS | 150 | – | – | 4 | – | – | 3 | – | –"]
