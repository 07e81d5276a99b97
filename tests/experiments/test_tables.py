"""Tables: what a cell shows, that nothing missing is shown as a number, and that every format can be read."""

import json
import re
import stat
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from types import SimpleNamespace

import pandas as pd
import pytest

from kernelweave.errors import InvalidInputError, ResultsError
from kernelweave.experiments.render import Entry, Table, to_html, to_latex, to_markdown
from kernelweave.experiments.rows import COLUMNS
from kernelweave.experiments.tables import tables_of, write_atomically, write_tables

TABLE2 = SimpleNamespace(name="table2", kind="clustering")


def made(*rows):
    """Rows of an experiment, of which only what matters is said."""
    same = {"dataset": "yale", "method": "SMKL", "selection": "oracle", "parameters": "{}", "kernel": "", "split": ""}
    frame = pd.DataFrame(
        [{**same, "seed": 0, "seconds": 1.0, "outcome": "CONVERGED", **row} for row in rows], columns=list(COLUMNS)
    )
    return frame.astype(COLUMNS)


def run(alpha, seed, acc, **more):
    return {"parameters": json.dumps({"alpha": alpha}), "seed": seed, "acc": acc, **more}


def fields(table, **where):
    """The fields of the one row with these values in these columns, by column; the last of columns of one name."""
    rows = [dict(zip(table.header, row, strict=True)) for row in table.rows]
    (found,) = [row for row in rows if all(row[column].text == text for column, text in where.items())]
    return found


class Reader(HTMLParser):
    """Checks that tags are closed in their order, and keeps what tags and attributes there are."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "img", "link", "path", "use"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in self.open:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read_html(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def test_a_cell_has_mean_deviation_printed_figure_difference_and_count():
    rows = made(run(1, 0, 0.58), run(1, 1, 0.6), run(2, 0, 0.1), run(2, 1, None))
    row = fields(tables_of(rows, "table2", "clustering")[-1], Method="SMKL")
    assert row["ACC"].text == "0.5900 ± 0.0141"
    assert row["published"].text == "0.6000"
    assert row["Δ"].text == "−0.0100"
    assert (row["settings"].text, row["failed"].text, row["runs"].text) == ("2", "1", "2")
    assert row["Rule"].text == "oracle*"
    assert row["setting"].text == "alpha=1"


def test_percentages_stand_beside_percentages():
    rows = made(run(1, 0, 0.5, fraction=0.1, split="same-positions"))
    table = tables_of(rows, "table3", "classification")[-1]
    row = fields(table, Method="SMKL", Labels="10 %")
    assert (row["ACC"].text, row["published"].text, row["Δ"].text) == ("50.00", "55.87 ± 12.26", "−5.87")
    assert any("same-positions" in note for note in table.notes)


def test_the_best_of_a_rule_is_bold_and_one_alone_is_not():
    rows = made(
        {"method": "SC", "acc": 0.5},
        {"method": "KGL", "acc": 0.6},
        {"method": "defaults", "selection": "fixed", "acc": 0.9},
    )
    table = tables_of(rows, "table2", "clustering")[-1]
    assert [fields(table, Method=name)["ACC"].bold for name in ("SC", "KGL", "defaults")] == [False, True, False]


def test_methods_stand_in_the_order_of_the_paper_and_those_of_ours_apart():
    rows = made(
        {"method": "SMKL", "acc": 0.5},
        {"method": "new", "acc": 0.6},
        {"method": "newer", "acc": 0.6},
        {"method": "SC", "acc": 0.5},
    )
    paper, ours, _ = tables_of(rows, "table2", "clustering")
    assert list(paper.header[2:]) == ["SC", "SMKL"]
    assert list(ours.header[2:]) == ["new", "newer"]


def test_what_is_missing_or_failed_is_a_dash_and_never_a_number():
    rows = made(
        {"method": "SC", "acc": 0.5, "nmi": 0.4},
        {"method": "KGL", "acc": None},
        {"method": "SC", "dataset": "jaffe", "acc": 0.5},
    )
    for table in tables_of(rows, "table2", "clustering"):
        assert all(len(row) == len(table.header) for row in table.rows)
        for text in (to_markdown([table]), to_latex([table]), to_html("x", [table])):
            assert not re.search(r"\b(nan|None|inf|NA)\b", text)
    overview, detail = tables_of(rows, "table2", "clustering")
    assert fields(overview, Data="JAFFE", Metric="ACC")["KGL"].text == "–"
    assert fields(detail, Data="YALE", Method="KGL")["ACC"].text == "–"
    assert fields(detail, Data="YALE", Method="KGL")["failed"].text == "1"


def test_only_figures_chosen_by_labels_are_marked():
    rows = made(run(1, 0, 0.5), run(2, 0, 0.6), {"method": "SSR", "selection": "fixed", "acc": 0.5})
    overview, detail = tables_of(rows, "table2", "clustering")
    assert list(overview.header[2:]) == ["SSR", "SMKL*"]
    assert any("tuned on labels" in note for note in detail.notes)
    (plain,) = tables_of(made({"selection": "fixed", "acc": 0.5}), "table2", "clustering")
    assert not any("tuned on labels" in note for note in plain.notes)


def test_table_1_sets_measured_beside_printed_sizes():
    ba = {"dataset": "ba", "n_samples": 1404, "n_features": 320, "n_classes": 36, "selection": ""}
    (table,) = tables_of(made(ba), "table1", "data")
    (row,) = table.rows
    texts = [entry.text for entry in row]
    assert texts == ["BA", "1404", "–", "–", "320", "–", "–", "36", "39", "−3"]
    assert any("Section 5.1" in note for note in table.notes)


def test_an_experiment_of_your_own_has_no_published_columns():
    (table,) = tables_of(made({"acc": 0.5, "dataset": "iris"}), "mine", "clustering")
    assert "published" not in table.header
    assert "mine" in table.title


def test_a_metric_that_one_method_alone_has_is_shown_and_a_dash_for_the_others():
    table = tables_of(made({"acc": 0.5, "purity": 0.6}, {"acc": 0.5, "method": "PMKL"}), "mine", "clustering")[0]
    shown = {entry.text for row in table.rows for entry in row}
    assert {"0.6", "0.60", "0.600", "0.6000"} & shown
    assert "—" in shown or "–" in shown


def test_writes_three_formats_whole_and_leaves_nothing_else(tmp_path):
    paths = write_tables(made(run(1, 0, 0.58), run(2, 0, 0.6)), TABLE2, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    assert {path.name for path in paths} == {"table2.md", "table2.tex", "table2.html"}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o644 for path in paths)
    page = read_html((tmp_path / "table2.html").read_text())
    assert "0.6000" in page.text
    assert {"script", "link", "img", "iframe"}.isdisjoint(page.tags)
    assert not any(name in ("src", "href") for name, _ in page.attributes)


def test_a_search_over_parameters_is_drawn_as_well(tmp_path):
    grid = [
        {"parameters": json.dumps({"alpha": a, "beta": 10, "gamma": g}), "acc": a + g / 10, "nmi": a}
        for a in (0.1, 0.2)
        for g in (1, 2)
    ]
    spec = SimpleNamespace(name="figure1", kind="surface")
    paths = {path.name: path for path in write_tables(made(*grid), spec, tmp_path)}
    for kind in ("surface", "heatmap"):
        assert paths[f"figure1_{kind}.png"].read_bytes().startswith(b"\x89PNG")
        assert ET.parse(paths[f"figure1_{kind}.svg"]).getroot().tag.endswith("svg")
    first = {name: path.read_bytes() for name, path in paths.items()}
    write_tables(made(*grid), spec, tmp_path)
    assert {name: path.read_bytes() for name, path in paths.items()} == first
    page = paths["figure1.html"].read_text()
    assert page.count("<svg") == 2
    assert "<?xml" not in page


def test_no_rows_make_no_tables(tmp_path):
    with pytest.raises(InvalidInputError, match="'table2' has no rows yet"):
        write_tables(made(), TABLE2, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_replaced_stays_and_the_error_says_so(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(ResultsError, match="taken could not be written"):
        write_atomically(tmp_path / "taken", b"new")
    with pytest.raises(ResultsError, match=r"a\.md could not be written"):
        write_atomically(tmp_path / "absent" / "a.md", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


NASTY = Table("50 % of <b> & $x_1$ #1", ["a|b", "c^2"], [[Entry(r"{~\}*"), Entry("1 ± 2", bold=True)]], ["α − β_x"])


def test_latex_escapes_what_latex_reads_as_commands():
    text = to_latex([NASTY])
    caption = next(line for line in text.splitlines() if line.startswith(r"\caption"))
    assert caption == r"\caption{50 \% of \textless{}b\textgreater{} \& \$x\_1\$ \#1}\\"
    assert r"\{\textasciitilde{}\textbackslash{}\}*" in text
    assert r"\textbf{1 $\pm$ 2}" in text
    assert r"c\textasciicircum{}2" in text
    assert text.replace(r"\{", "").replace(r"\}", "").count("{") == text.replace(r"\{", "").replace(r"\}", "").count(
        "}"
    )
    assert text.isascii()


def test_markdown_keeps_the_number_of_columns_whatever_the_names():
    lines = [line for line in to_markdown([NASTY]).splitlines() if line.startswith("|")]
    assert {len(re.split(r"(?<!\\)\|", line)) for line in lines} == {4}


def test_html_shows_names_and_does_not_run_them():
    page = read_html(to_html("<script>", [NASTY]))
    assert "script" not in page.tags
    assert "50 % of <b> & $x_1$ #1" in page.text
    assert page.tags.count("td") == 2
    assert page.tags.count("strong") == 1


def test_html_is_for_light_and_dark():
    text = to_html("x", [NASTY])
    assert "prefers-color-scheme: dark" in text
    assert "color-scheme: light dark" in text


def test_a_cell_that_did_not_converge_is_marked_never_bold_and_counted():
    rows = made(
        run(1, 0, 0.9, outcome="MAX_ITER"),
        {"method": "SC", "acc": 0.5},
        {"method": "KGL", "acc": 0.4},
    )
    overview, detail = tables_of(rows, "table2", "clustering")
    row = fields(overview, Metric="ACC")
    assert row["SMKL"].text.startswith("0.9000†")
    assert [row[name].bold for name in ("SC", "KGL", "SMKL")] == [True, False, False]
    assert any(note.startswith("†") for note in overview.notes)
    assert fields(detail, Method="SMKL")["not converged"].text == "1"
    assert fields(detail, Method="SC")["not converged"].text == "0"


def test_the_settings_that_the_file_plans_stand_beside_those_that_were_run():
    row = fields(tables_of(made(run(1, 0, 0.5)), "table2", "clustering")[-1], Method="SMKL")
    assert row["settings"].text == "1"
    assert int(row["planned"].text) >= 30
    assert "planned" not in tables_of(made(run(1, 0, 0.5)), "mine", "clustering")[-1].header
