import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kernelweave.errors import InvalidInputError
from kernelweave.plots import plot_convergence
from kernelweave.solve.problem import Outcome

i = np.arange(12)


def twin(ax):
    return ax.figure.axes[-1]


def labels_of_lines(ax):
    """The names written beside the lines, with their height in pixels; the last text is the subtitle."""
    ax.figure.canvas.draw()
    return {text.get_text(): text.get_window_extent().y0 for text in ax.texts if not text.get_text().endswith(".")}


def test_lines_are_the_terms_and_their_total(run, ax):
    terms = {"fit": 3 + np.exp(-i), "ridge": 2 - np.exp(-i), "smoothness": 0.5 + 0 * i}
    plot_convergence(run(terms, 0.5**i), ax=ax)
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines) == ["total", *terms]
    for name, values in (*terms.items(), ("total", sum(terms.values()))):
        assert_array_equal(lines[name].get_xdata(), i + 1)
        assert_allclose(lines[name].get_ydata(), values)


def test_the_change_of_the_graph_has_a_logarithmic_axis_of_its_own(run, ax):
    plot_convergence(run({"fit": 3.0 + i}, 0.5**i), ax=ax)
    (line,) = twin(ax).lines
    assert_allclose(line.get_ydata(), 0.5**i)
    assert twin(ax).get_yscale() == "log"
    assert twin(ax).get_ylabel() == "relative change of the graph (dashed)"


@pytest.mark.parametrize("outcome", Outcome)
def test_the_subtitle_says_why_it_stopped(run, outcome):
    ax = plot_convergence(run({"fit": 3.0 + i}, 0.5**i, outcome))
    assert ax.get_title(loc="left") == "Convergence in 12 iterations"
    assert ax.texts[-1].get_text().replace("\n", " ") == outcome.value


def test_a_subtitle_wider_than_the_axes_is_wrapped(run, ax):
    ax.figure.set_size_inches(3, 3)
    plot_convergence(run({"fit": 3.0 + i}, 0.5**i, Outcome.NOT_FINITE), ax=ax)
    assert ax.texts[-1].get_text().count("\n") >= 2


def test_one_iteration_is_drawn(run):
    ax = plot_convergence(run({"fit": [3], "ridge": [0]}, [0.2]))
    ax.figure.canvas.draw()
    assert ax.get_title(loc="left") == "Convergence in 1 iteration"
    assert all(line.get_marker() == "o" for line in ax.lines)
    assert_array_equal(ax.get_xticks(), [1])


@pytest.mark.parametrize(
    ("terms", "scale"),
    [
        ({"fit": 3.0 + i, "ridge": 20.0 + i}, "linear"),
        ({"fit": -3.0 - i, "ridge": 0.0 * i + 5}, "linear"),
        ({"fit": 3.0 + i, "perturbation": 2e4 - i}, "log"),
        ({"fit": -60.0 + i, "perturbation": 2e4 - i}, "symlog"),
        ({"fit": 3.0 + i, "smoothness": 0.0 * i, "perturbation": 2e4 - i}, "symlog"),
        ({"fit": 3.0 + i, "smoothness": 0.0 * i + 1e-12, "perturbation": 2e4 - i}, "symlog"),
        ({"fit": (-1.0) ** i * 10.0**i, "ridge": 1.0 + i}, "symlog"),
        ({"fit": 0.0 * i, "ridge": 0.0 * i}, "linear"),
        ({"fit": 0.0 * i + 7}, "linear"),
    ],
)
def test_the_scale_suits_the_terms_and_shows_all_of_them(run, terms, scale):
    ax = plot_convergence(run(terms, 0.5**i))
    ax.figure.canvas.draw()
    assert ax.get_yscale() == scale
    low, high = ax.get_ylim()
    for line in ax.lines:
        assert low < line.get_ydata().min()
        assert line.get_ydata().max() < high


@pytest.mark.parametrize(
    "change", [np.zeros(12), np.r_[np.inf, 0.5 ** i[1:]], np.r_[0.5 ** i[1:], 0], np.full(12, np.nan)]
)
def test_a_change_that_has_no_logarithm_is_no_obstacle(run, change):
    ax = plot_convergence(run({"fit": 3.0 + i}, change))
    ax.figure.canvas.draw()
    assert_array_equal(twin(ax).lines[0].get_ydata(), change)
    assert np.isfinite(twin(ax).get_ylim()).all()


def test_terms_that_are_not_finite_are_left_out(run):
    ax = plot_convergence(run({"fit": np.r_[3.0 + i[1:], np.nan], "ridge": np.r_[np.inf, 1.0 + i[1:]]}, 0.5**i))
    ax.figure.canvas.draw()
    assert np.isfinite(ax.get_ylim()).all()


def test_every_line_is_named_with_its_last_value(run, ax):
    plot_convergence(run({"fit": 3.0 + i, "perturbation": 20_000.0 - i}, 0.5**i), ax=ax)
    assert set(labels_of_lines(ax)) == {"fit 14", "perturbation 19,989", "total 20,003"}


@pytest.mark.parametrize("level", [0.0, 5.0, 10.0])
def test_names_of_lines_that_end_together_do_not_overlap(run, level):
    terms = {name: np.full(12, level) for name in ("fit", "ridge", "smoothness", "perturbation")}
    ax = plot_convergence(run(terms | {"more": 10.0 - level + 0 * i}, 0.5**i))
    heights = sorted(labels_of_lines(ax).values())
    text = ax.texts[0].get_window_extent().height
    assert len(heights) == 6
    assert np.diff(heights).min() >= 0.8 * text
    assert heights[0] >= ax.get_window_extent().y0 - text


@pytest.mark.parametrize("n", [1, 2, 3, 7, 25, 100, 1000])
def test_ticks_are_whole_iterations_that_took_place(run, ax, n):
    plot_convergence(run({"fit": np.arange(n) + 3.0}, np.full(n, 0.1)), ax=ax)
    ticks = ax.get_xticks()
    assert ticks[0] == 1
    assert ticks[-1] <= n
    assert_array_equal(ticks, np.round(ticks))
    assert len(ticks) <= 8


def test_an_empty_history_is_refused_with_the_reason(run, ax):
    with pytest.raises(InvalidInputError, match=r"history_ of Model is empty, .* A step produced inf or nan"):
        plot_convergence(run({}, [], Outcome.NOT_FINITE), ax=ax)
