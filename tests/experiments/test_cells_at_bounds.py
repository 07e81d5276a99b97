"""Cells of tables where scores tie, differ by the tolerance, or where only some have labels, metrics or a rule."""

import math

import pandas as pd
import pytest

from kernelweave.experiments.cells import NEAR, compared, detail_table, overview_tables, sizes_table
from kernelweave.experiments.published import Figure, Published
from kernelweave.experiments.selection import Cell, Score


def cell(method, acc, *, dataset="iris", labels=None, rule="fixed", settled=True, **more):
    scores = {name: Score(value, None) for name, value in {"acc": acc, **more}.items() if value is not None}
    number = 2 if rule == "oracle" else 1
    return Cell(dataset, method, labels, rule, None, scores, "defaults", number, 0, 0, 1, 0.5, settled)


def paper(*figures, unit="share"):
    return Published("Made up.", "Table 9", "A caption", unit, figures)


def text(table):
    return [" | ".join(("*" if entry.bold else "") + entry.text for entry in row) for row in table.rows]


def test_a_difference_counts_as_far_below_the_tolerance_only():
    near = paper(Figure("acc", NEAR, dataset="iris", method="A"), Figure("acc", 0.0, dataset="iris", method="B"))
    below = math.nextafter(NEAR, 1)
    far = paper(Figure("acc", below, dataset="iris", method="A"), Figure("acc", 0.0, dataset="iris", method="B"))
    cells = [cell("A", 0.0), cell("B", 0.9)]
    for published, tone in ((near, "near"), (far, "far")):
        (table,) = overview_tables(cells, published)
        assert [entry.tone for entry in table.rows[0]] == ["", "", tone, "near"]
        detail = detail_table(cells, published, "mine")
        assert [entry.tone for entry in detail.rows[0]][3:6] == ["", "", tone]


def test_all_of_equal_best_are_bold_and_what_did_not_converge_is_not():
    cells = [cell("A", 0.5), cell("B", 0.5), cell("C", 0.25), cell("D", 0.9, settled=False)]
    (table,) = overview_tables(cells, None)
    assert text(table) == ["IRIS | ACC | *0.5000 | *0.5000 | 0.2500 | 0.9000†"]
    (pair,) = overview_tables([cell("A", 0.5), cell("D", 0.9, settled=False)], None)
    assert text(pair) == ["IRIS | ACC | 0.5000 | 0.9000†"]  # one alone is not the best of anything


def test_metrics_and_labels_are_shown_if_a_cell_has_them():
    cells = [cell("A", 0.5, labels=10), cell("B", 0.25, purity=0.75)]
    (table,) = overview_tables(cells, None)
    assert table.header == ["Data", "Labels", "Metric", "A", "B"]
    assert text(table) == [
        "IRIS | 10 % | ACC | 0.5000 | –",
        "IRIS | 10 % | purity | – | –",
        "IRIS | – | ACC | – | 0.2500",
        "IRIS | – | purity | – | 0.7500",
    ]
    detail = detail_table(cells, None, "mine")
    assert detail.header[:6] == ["Data", "Labels", "Method", "Rule", "ACC", "purity"]
    assert [row.split(" | ")[:6] for row in text(detail)] == [
        ["IRIS", "–", "B", "fixed", "0.2500", "0.7500"],
        ["IRIS", "10 %", "A", "fixed", "0.5000", "–"],
    ]
    assert detail.words == 4


def test_details_stand_by_data_set_then_by_labels_and_the_best_of_each_rule_is_bold():
    cells = [
        cell("A", 0.5, dataset="wine", labels=30), cell("A", 0.5, labels=10), cell("A", 0.75, dataset="wine", labels=5),
        cell("B", 0.25, labels=10), cell("C", 0.9, labels=10, rule="oracle"), cell("B", 0.9, labels=30),
    ]  # fmt: skip
    found = [row.split(" | ")[:5] for row in text(detail_table(cells, None, "mine"))]
    assert found == [
        ["WINE", "5 %", "A", "fixed", "0.7500"],
        ["WINE", "30 %", "A", "fixed", "0.5000"],
        ["IRIS", "10 %", "A", "fixed", "*0.5000"],
        ["IRIS", "10 %", "B", "fixed", "0.2500"],
        ["IRIS", "10 %", "C", "oracle*", "0.9000"],
        ["IRIS", "30 %", "B", "fixed", "0.9000"],
    ]


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ([cell("A", 0.5), cell("B", 0.5)], "fixed: one setting, not searched."),
        ([cell("A", 0.5), cell("B", 0.5, rule="unsupervised")],
         "fixed: one setting, not searched. unsupervised: the setting selected without labels."),
        ([cell("A", 0.5), cell("B", 0.5, rule="mine")],
         "fixed: one setting, not searched. mine: see the experiment."),
        ([cell("A", 0.5, rule="oracle"), cell("B", 0.5)],
         "* tuned on labels: the best setting of the search, selected with the labels that score it (as in the paper, "
         "apparently). fixed: one setting, not searched."),
    ],
)  # fmt: skip
def test_the_rules_of_the_cells_are_explained(cells, note):
    assert detail_table(cells, None, "mine").notes[1:] == [note]
    assert overview_tables(cells, None)[0].notes == [f"{note} Best in bold."]


def test_a_method_stands_once_for_every_rule_in_the_order_of_the_paper():
    published = paper(Figure("acc", 0.5, dataset="iris", method="B"), Figure("acc", 0.5, dataset="iris", method="A"))
    cells = [cell("A", 0.5), cell("B", 0.25, rule="oracle"), cell("A", 0.75, rule="oracle")]
    (table,) = overview_tables(cells, published)
    assert table.header == ["Data", "Metric", "B*", "A", "A*"]
    assert text(table) == ["IRIS | ACC | 0.2500 (−0.2500) | 0.5000 (0.0000) | *0.7500 (+0.2500)"]
    assert table.words == 2


def test_a_paper_without_a_figure_of_the_cells_is_not_compared_with():
    published = paper(Figure("acc", 0.5, dataset="yale", method="A"), Figure("acc", 0.5, dataset="yale", method="B"))
    (table,) = overview_tables([cell("A", 0.5), cell("B", 0.25)], published)
    assert table.notes == ["fixed: one setting, not searched. Best in bold."]
    (other,) = overview_tables([cell("C", 0.5), cell("D", 0.25)], published)
    assert other.title == "Table 9: A caption"  # no method of the paper has a cell
    assert overview_tables([cell("A", 0.5), cell("A", 0.5, dataset="wine")], published) == []


def test_a_score_of_a_share_or_percentage_is_compared_in_its_unit():
    figure = Figure("acc", 25.0, 1.234, dataset="iris", method="A")
    cells = [cell("A", 0.5), cell("A", 0.25, dataset="wine")]
    assert compared(cells[0], "acc", paper(figure, unit="percent")) == 0.25
    detail = detail_table(cells, paper(figure, unit="percent"), "mine")
    assert [row.split(" | ")[3:6] for row in text(detail)] == [["50.00", "25.00 ± 1.23", "+25.00"], ["25.00", "–", "–"]]
    share = paper(Figure("acc", 0.5, 0.1234, dataset="iris", method="A"))
    assert [row.split(" | ")[3:6] for row in text(detail_table(cells[:1], share, "mine"))] == [
        ["0.5000", "0.5000 ± 0.1234", "0.0000"]
    ]


def test_sizes_that_are_smaller_or_larger_are_signed():
    figures = (
        Figure("instances", 160, dataset="iris", where="the text"), Figure("features", 4, dataset="iris"),
        Figure("classes", 2, dataset="wine"),
    )  # fmt: skip
    rows = pd.DataFrame(
        [{"dataset": d, "n_samples": 150, "n_features": 4, "n_classes": 3} for d in ("iris", "wine", "iris")]
    )
    table = sizes_table(rows, paper(*figures, unit="count"))
    assert text(table) == [
        "IRIS | 150 | 160 | −10 | 4 | 4 | 0 | 3 | – | –",
        "WINE | 150 | – | – | 4 | – | – | 3 | 2 | +1",
    ]
    assert [[i for i, entry in enumerate(row) if entry.tone == "far"] for row in table.rows] == [[3], [9]]
    assert table.notes[-1] == "Given elsewhere in the paper, not in the table: IRIS (instances): the text."
    assert table.title == "Table 9: A caption"
    assert (table.words, table.last_words) == (1, 0)
