import numpy as np
import pytest
from numpy.testing import assert_allclose

from kernelweave.errors import InvalidInputError
from kernelweave.estimators import ViewImportance
from kernelweave.plots import plot_view_importance, plot_weights


def importance(n_resamples=3, **scores):
    return ViewImportance(
        view_names=("words", "links"),
        shares=np.array([0.7, 0.3]),
        kernel_names=("words: a", "words: b", "links: a"),
        kernel_views=("words", "words", "links"),
        kernel_shares=np.array([0.3, 0.4, 0.3]),
        resampled=np.tile([0.35, 0.4, 0.25], (n_resamples, 1)),
        agreement=np.array([0.2, 0.9]),
        modularity=0.5,
        modularity_without=np.array([0.3, 0.5]),
        **scores,
    )


def test_bars_are_the_shares_and_ticks_those_of_the_resamples(ax, texts):
    plot_view_importance(importance(), ax=ax)
    assert_allclose([bar.get_width() for bar in ax.patches], [0.7, 0.3])
    ticks = [line.get_xdata() for line in ax.lines[1:]]
    assert_allclose(ticks, [[0.75] * 3, [0.25] * 3])
    assert texts(ax)[:2] == ["70.0%, ARI 0.20 without", "30.0%, ARI 0.90 without"]


def test_the_change_of_the_score_is_shown_where_there_is_one(ax, texts):
    plot_view_importance(importance(score=0.8, score_without=np.array([0.5, 0.81])), ax=ax)
    assert texts(ax)[0].endswith("score -0.30")
    assert texts(ax)[1].endswith("score +0.01")


def test_no_resamples_leave_bars_alone(ax):
    plot_view_importance(importance(0), ax=ax)
    assert [bar.get_width() for bar in ax.patches] == [0.7, 0.3]


def test_the_axis_of_shares_ends_at_100_percent(ax):
    plot_view_importance(importance(0), ax=ax)
    ticks = ax.get_xticks()
    assert len(ticks) > 2
    assert (ticks.min(), ticks.max()) == (0, pytest.approx(1, abs=0.26))
    assert ticks.max() <= 1


def test_something_else_is_refused():
    with pytest.raises(InvalidInputError, match="draws a result of view_importance; got dict"):
        plot_view_importance({})


def test_weights_are_grouped_by_view_from_the_largest_view(fitted, ax):
    model = fitted(
        kernel_shares=np.array([0.2, 0.3, 0.4, 0.1]),
        kernel_names=("links: a", "words: a", "words: b", "links: b"),
        kernel_views=("links", "words", "words", "links"),
        view_names=("links", "words"),
        view_shares=np.array([0.3, 0.7]),
    )
    plot_weights(model, ax=ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["words: b", "words: a", "links: a", "links: b"]
    colours = [bar.get_facecolor() for bar in ax.patches]
    assert colours[0] == colours[1] != colours[2] == colours[3]
