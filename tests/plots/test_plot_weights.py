import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.plots import plot_weights


def names(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def test_bars_are_the_shares_from_the_largest_on_top(clusterer, ax):
    plot_weights(clusterer, ax=ax)
    bars = sorted(ax.patches, key=lambda bar: ax.transData.transform((0, bar.get_y()))[1], reverse=True)
    assert_allclose([bar.get_width() for bar in bars], [0.5, 0.3, 0.2])
    assert_allclose(ax.get_yticks(), [bar.get_y() + bar.get_height() / 2 for bar in bars])
    assert names(ax) == ["cosine", "gaussian(t=1)", "linear"]


def test_every_share_is_written_at_the_end_of_its_bar(clusterer, ax, texts):
    plot_weights(clusterer, ax=ax)
    assert texts(ax)[:3] == ["50.0%", "30.0%", "20.0%"]
    ax.figure.canvas.draw()
    for bar, text in zip(ax.patches, ax.texts, strict=False):
        bar, text = bar.get_window_extent(), text.get_window_extent()
        assert 0 < text.x0 - bar.x1 < text.width
        assert bar.y0 < text.y0 + text.height / 2 < bar.y1


def test_equal_shares_keep_the_order_of_the_kernels(fitted, ax):
    plot_weights(fitted(kernel_shares=np.full(4, 0.25), kernel_names=tuple("dbca")), ax=ax)
    assert names(ax) == list("dbca")


def test_a_line_marks_equal_shares(clusterer, ax, texts):
    plot_weights(clusterer, ax=ax)
    (line,) = ax.lines
    assert_allclose(line.get_xdata(), 1 / 3)
    assert texts(ax)[-1] == "3 kernels (dotted: equal shares, 33.3%)"


def test_a_single_kernel_has_all_the_weight(fitted, ax, texts):
    plot_weights(fitted(kernel_shares=np.ones(1), kernel_names=["linear"]), ax=ax)
    assert [bar.get_width() for bar in ax.patches] == [1]
    assert texts(ax) == ["100.0%", "1 kernel"]
    assert not ax.lines


@pytest.mark.parametrize(("share", "text"), [(0.0, "0.0%"), (1e-6, "< 0.1%"), (0.0006, "0.1%")])
def test_a_tiny_share_is_not_written_as_zero(fitted, ax, texts, share, text):
    plot_weights(fitted(kernel_shares=np.array([1 - share, share]), kernel_names=("a", "b")), ax=ax)
    assert texts(ax)[1] == text


def test_long_names_are_broken_at_brackets_and_lose_nothing(fitted, ax):
    name = "CosineNormalized(Polynomial(degree=2, offset=1.0))"
    plot_weights(fitted(kernel_shares=np.array([1.0]), kernel_names=(name,)), ax=ax)
    (shown,) = names(ax)
    assert shown == "CosineNormalized(Polynomial(\ndegree=2, offset=1.0))"
    assert shown.replace("\n", "") == name


def test_a_dollar_sign_in_a_name_starts_no_formula(fitted):
    ax = plot_weights(fitted(kernel_shares=np.array([1.0]), kernel_names=("$k_1$ and $",)))
    ax.figure.canvas.draw()
    assert names(ax) == [r"\$k_1\$ and \$"]


def test_more_kernels_make_a_higher_figure(fitted):
    heights = [
        plot_weights(fitted(kernel_shares=np.full(r, 1 / r), kernel_names=["k"] * r)).figure.get_figheight()
        for r in (2, 12, 40)
    ]
    assert heights == sorted(set(heights))


@pytest.mark.parametrize("views", [{}, {"kernel_views": ("X",) * 3}], ids=["without views", "with one view"])
def test_the_kernels_of_one_view_have_one_colour_and_no_mention_of_views(clusterer, ax, texts, views):
    clusterer.view_names_, clusterer.view_shares_ = ("X",), np.ones(1)
    for name, value in views.items():
        setattr(clusterer, f"{name}_", value)
    plot_weights(clusterer, ax=ax)
    assert len({bar.get_facecolor() for bar in ax.patches}) == 1
    assert texts(ax)[-1] == "3 kernels (dotted: equal shares, 33.3%)"


def test_the_subtitle_lies_inside_a_new_figure_beside_long_names_of_kernels_and_views(fitted):
    names = ("a long name of a view: polynomial", "another long name of a view: linear")
    model = fitted(
        kernel_shares=np.array([0.6, 0.4]),
        kernel_names=names,
        kernel_views=("a long name of a view", "another long name of a view"),
        view_names=("a long name of a view", "another long name of a view"),
        view_shares=np.array([0.6, 0.4]),
    )
    figure = plot_weights(model).figure
    figure.canvas.draw()
    assert figure.get_tightbbox().x1 <= figure.get_size_inches()[0]
