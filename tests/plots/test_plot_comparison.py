"""Methods beside each other, from a table of results."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import KMeans

from kernelweave.errors import InvalidInputError
from kernelweave.plots import plot_comparison

ROWS = {
    "dataset": ["yale", "yale", "yale", "iris", "iris"],
    "method": ["SMKL", "SMKL", "KGL", "SMKL", "KGL"],
    "acc": [0.4, 0.6, 0.3, 0.9, 0.8],
}


def means(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xdata()


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame], ids=lambda kind: kind.__module__)
def test_a_dot_is_the_mean_of_the_runs_of_a_method_on_a_data_set(kind, ax):
    plot_comparison(kind(ROWS), value="acc", ax=ax)
    assert means(ax, "SMKL") == pytest.approx([0.5, 0.9])
    assert means(ax, "KGL") == pytest.approx([0.3, 0.8])


def test_data_sets_keep_the_order_of_the_table(ax):
    plot_comparison(ROWS, value="acc", ax=ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["yale", "iris"]


def test_a_line_joins_the_smallest_and_the_largest_of_several_runs(ax):
    plot_comparison(ROWS, value="acc", ax=ax)
    spans = [line.get_xdata().tolist() for line in ax.lines if line.get_linestyle() == "-"]
    assert spans == [[0.4, 0.6]]


def test_rows_without_a_score_are_left_out(ax):
    plot_comparison({**ROWS, "acc": [0.4, None, 0.3, float("nan"), 0.8]}, value="acc", ax=ax)
    np.testing.assert_allclose(means(ax, "SMKL"), [0.4, np.nan])


def test_the_reference_is_a_hollow_mark(ax):
    plot_comparison({**ROWS, "published": [0.5, 0.5, 0.2, 0.7, 0.6]}, value="acc", reference="published", ax=ax)
    hollow = [line.get_xdata() for line in ax.lines if line.get_markerfacecolor() == "none"]
    np.testing.assert_allclose(hollow, [[0.5, 0.7], [0.2, 0.6]])


def test_without_axes_a_new_figure_holds_all_texts():
    figure = plot_comparison(ROWS, value="acc").figure
    figure.canvas.draw()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(box.x0, box.y0) >= 0
    assert box.x1 <= width
    assert box.y1 <= height


def test_names_the_columns_there_are(ax):
    with pytest.raises(InvalidInputError, match="no column 'nmi'; choose one of 'dataset', 'method', 'acc'"):
        plot_comparison(ROWS, value="nmi", ax=ax)


def test_refuses_scores_that_are_no_numbers(ax):
    with pytest.raises(InvalidInputError, match="'method' must hold numbers"):
        plot_comparison(ROWS, value="method", ax=ax)


def test_refuses_a_table_without_any_score(ax):
    with pytest.raises(InvalidInputError, match="'acc' holds no number"):
        plot_comparison({**ROWS, "acc": [None] * 5}, value="acc", ax=ax)


def test_a_model_is_no_table_of_scores():
    with pytest.raises(InvalidInputError, match="draws a table with the column 'acc' of scores; got KMeans"):
        plot_comparison(KMeans(2), value="acc")
