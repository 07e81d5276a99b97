"""What a picture shows, and whole small tables in every format, letter by letter."""

import struct

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from kernelweave.experiments.cells import NEAR
from kernelweave.experiments.pictures import draw_comparison
from kernelweave.experiments.published import Figure, Published
from kernelweave.experiments.render import Entry, Table, to_html, to_latex, to_markdown
from kernelweave.experiments.selection import Cell, Score


def cell(dataset, method, acc, *, settled=True):
    scores = {} if acc is None else {"acc": Score(acc, None)}
    return Cell(dataset, method, None, "oracle", None, scores, "alpha=1", 2, 0, 0, 1, 1.0, settled)


def drawn(cells, methods, monkeypatch):
    """Return the figure of a made-up table of two data sets, and the size of its picture."""
    kept = []
    close = plt.close
    monkeypatch.setattr(plt, "close", kept.append)
    figures = [Figure("acc", 25.0 * (i + 1), dataset=d, method=m) for m in methods for i, d in enumerate(("a", "b"))]
    picture = draw_comparison(cells, Published("Made up.", "Table 9", "A caption", "percent", tuple(figures)))
    monkeypatch.undo()
    (figure,) = kept
    close(figure)
    return figure, struct.unpack(">2I", picture[16:24])


def test_a_picture_has_a_point_for_every_cell_that_the_paper_has(monkeypatch):
    cells = [
        cell("a", "A", 0.5), cell("b", "A", 0.25, settled=False), cell("c", "A", 0.5), cell("a", "B", None),
        cell("b", "B", 0.75),
    ]  # fmt: skip
    figure, _ = drawn(cells, "AB", monkeypatch)
    first, second = figure.axes
    points = [c for c in first.collections if len(c.get_offsets()) and c.get_sizes().size]
    assert [np.ravel(p.get_offsets()).tolist() for p in points] == [[0.25, 0.5], [0.5, 0.25]]
    assert [p.get_sizes().tolist() for p in points] == [[22], [22]]
    assert [tuple(p.get_edgecolor()[0]) for p in points] == [to_rgba("C0"), to_rgba("C1")]
    assert tuple(points[0].get_facecolor()[0]) == to_rgba("C0")
    assert len(points[1].get_facecolor()) == 0  # hollow: no setting converged
    (other,) = [c for c in second.collections if len(c.get_offsets()) and c.get_sizes().size]
    assert np.ravel(other.get_offsets()).tolist() == [0.5, 0.75]


def test_every_panel_has_the_diagonal_and_the_band_that_counts_as_a_match(monkeypatch):
    figure, _ = drawn([], "AB", monkeypatch)
    for ax, title in zip(figure.axes, "AB", strict=True):
        (line,) = ax.lines
        assert line.get_xydata().tolist() == [[0, 0], [1, 1]]
        assert line.get_linewidth() == 0.8
        band = ax.collections[0]
        corners = {(x, round(y, 12)) for x, y in band.get_paths()[0].vertices}
        assert corners == {(0, -NEAR), (1, 1 - NEAR), (1, 1 + NEAR), (0, NEAR)}
        assert band.get_linewidth() == 0
        assert (ax.get_xlim(), ax.get_ylim(), ax.get_aspect()) == ((0, 1.02), (0, 1.02), 1)
        assert (ax.get_title(), ax.title.get_fontsize()) == (title, 10)
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("published ACC", "ACC here")
    assert {text.get_fontsize() for text in (figure._supxlabel, figure._supylabel)} == {10}


@pytest.mark.parametrize(("methods", "shape"), [("A", (1, 1)), ("ABCD", (1, 4)), ("ABCDE", (2, 4))])
def test_panels_stand_in_rows_of_four(methods, shape, monkeypatch):
    figure, pixels = drawn([], methods, monkeypatch)
    assert len(figure.axes) == shape[0] * shape[1]
    assert figure.axes[0].get_gridspec().get_geometry() == shape
    assert [ax.get_visible() for ax in figure.axes] == [i < len(methods) for i in range(len(figure.axes))]
    assert figure.get_size_inches().tolist() == pytest.approx([2.6 * shape[1], 2.6 * shape[0]])
    assert pixels == (int(110 * 2.6 * shape[1]), int(110 * 2.6 * shape[0]))
    assert all(ax.get_shared_x_axes().joined(ax, figure.axes[0]) for ax in figure.axes[1:])
    assert all(ax.get_shared_y_axes().joined(ax, figure.axes[0]) for ax in figure.axes[1:])


def test_the_legend_names_the_data_sets_in_their_colours(monkeypatch):
    figure, _ = drawn([], "AB", monkeypatch)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["A", "B"]
    assert legend._ncols == 2
    assert not legend.get_frame_on()
    handles = legend.legend_handles
    assert [tuple(mark.get_facecolor()[0]) for mark in handles] == [to_rgba("C0"), to_rgba("C1")]
    assert [mark.get_sizes().tolist() for mark in handles] == [[22], [22]]
    places = [ax.get_position() for ax in figure.axes]
    top = max(place.y1 for place in places)
    assert min(place.x0 for place in places) > 0 < min(place.y0 for place in places)
    assert max(place.x1 for place in places) <= 1
    assert 0.8 < top <= 0.95  # room for the legend above the panels


TABLE = Table(
    "Two | three",
    ["Data", "ACC", "said"],
    [
        [Entry("A"), Entry("1", bold=True, tone="near"), Entry("x")],
        [Entry("A"), Entry("2"), Entry()],
        [Entry("B"), Entry("−3", tone="far"), Entry("y_z", bold=True)],
    ],
    ["First.", "Second <b>."],
    last_words=1,
)


def test_markdown_letter_by_letter():
    plain = Table("", ["a"], [[Entry("1")]], words=0)
    assert to_markdown([TABLE, plain]) == (
        "### Two \\| three\n\n| Data | ACC | said |\n| :-- | --: | :-- |\n| A | **1** | x |\n| A | 2 | – |\n"
        "| B | −3 | **y\\_z** |\n\nFirst.\n\nSecond \\<b>.\n\n| a |\n| --: |\n| 1 |\n"
    )


def test_latex_letter_by_letter():
    assert to_latex([TABLE]) == (
        "% needs \\usepackage{booktabs,longtable}\n"
        "\\begin{longtable}{lrl}\n\\caption{Two | three}\\\\\n\\toprule\nData & ACC & said \\\\\n\\midrule\n\\endhead\n"
        "\\bottomrule\n\\endfoot\nA & \\textbf{1} & x \\\\\nA & 2 & -- \\\\\n\\midrule\n"
        "B & $-$3 & \\textbf{y\\_z} \\\\\n"
        "\\end{longtable}\n\\noindent First.\\par\n\\noindent Second \\textless{}b\\textgreater{}.\\par\n"
    )


def test_html_letter_by_letter():
    page = to_html("T & U", [TABLE], ["note"], ["<svg></svg>"])
    head, body = page.split("<body>\n")
    assert head.startswith('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport"')
    assert "<title>T &amp; U</title>\n<style>\n" in head
    assert body == (
        '<h1>T &amp; U</h1>\n<p class="note">note</p>\n<h2>Two | three</h2>\n<div class="wide"><table>\n<thead><tr>'
        '<th scope="col" class="words">Data</th><th scope="col">ACC</th><th scope="col" class="words">said</th></tr>'
        '</thead>\n<tbody>\n<tr><td class="words">A</td><td class="near"><strong>1</strong></td>'
        '<td class="words">x</td></tr>\n<tr><td class="words">A</td><td>2</td><td class="words">–</td></tr>\n'
        '<tr class="block"><td class="words">B</td><td class="far">−3</td><td class="words"><strong>y_z</strong></td>'
        '</tr>\n</tbody></table></div>\n<p class="note">First.</p>\n<p class="note">Second &lt;b&gt;.</p>\n'
        "<figure><svg></svg></figure>\n</body>\n</html>\n"
    )


def test_an_entry_is_a_dash_and_a_table_has_one_column_of_words_unless_said_otherwise():
    assert Entry() == Entry("–", bold=False, tone="")
    table = Table("t", ["a", "b"], [])
    assert (table.words, table.last_words, table.notes) == (1, 0, ())
    assert [table.is_words(i) for i in range(2)] == [True, False]
