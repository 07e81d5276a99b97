"""Maps and surfaces over alpha and gamma: a panel for every metric and beta, and what is missing stays empty."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from sklearn.cluster import KMeans

from kernelweave.errors import InvalidInputError
from kernelweave.plots.surface import plot_heatmap, plot_surface

ALPHAS, GAMMAS, BETAS = (1e-5, 1e-3, 0.1), (0.1, 1.0), (10, 100)
both = pytest.mark.parametrize("plot", [plot_heatmap, plot_surface], ids=lambda plot: plot.__name__)


@pytest.fixture
def rows():
    """Accuracies that tell from which setting they are: 0.1 · place of alpha + 0.01 · place of gamma + beta/1000."""
    made = [
        {
            "dataset": "yale",
            "method": "SMKL",
            "parameters": json.dumps({"alpha": alpha, "beta": beta, "gamma": gamma, "scheme": "released"}),
            "seed": seed,
            "acc": 0.1 * i + 0.01 * j + beta / 1000 + (0.002 if seed else -0.002),
            "nmi": 0.5 * (0.1 * i + 0.01 * j),
        }
        for beta in BETAS
        for i, alpha in enumerate(ALPHAS)
        for j, gamma in enumerate(GAMMAS)
        for seed in (0, 1)
    ]
    return pd.DataFrame(made).sample(frac=1, random_state=0)


def failed(rows, alpha, gamma, beta):
    lost = rows["parameters"] == json.dumps({"alpha": alpha, "beta": beta, "gamma": gamma, "scheme": "released"})
    return rows.assign(acc=rows["acc"].mask(lost), nmi=rows["nmi"].mask(lost))


@both
def test_has_a_panel_for_every_metric_and_beta_that_says_which(plot, rows):
    axes = plot(rows)
    assert axes.shape == (2, 2)
    for row, metric in zip(axes, ("ACC", "NMI"), strict=True):
        for ax, beta in zip(row, BETAS, strict=True):
            title = ax.get_title() or ax.get_title(loc="left")
            assert metric in title
            assert f"= {beta}" in title
    assert "SMKL on yale" in axes[0, 0].figure.get_suptitle()


@both
def test_draws_the_metrics_and_betas_that_are_asked_for(plot, rows):
    assert plot(rows, metrics=("nmi",), betas=(100,)).shape == (1, 1)


@both
def test_all_texts_lie_inside_the_figure(plot, rows):
    figure = plot(rows)[0, 0].figure
    figure.canvas.draw()
    drawn, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= 0
    assert drawn.x1 <= width
    assert drawn.y1 <= height


@both
def test_leaves_the_rows_as_they_were_and_opens_one_figure(plot, rows):
    before = rows.copy()
    plot(rows)
    pd.testing.assert_frame_equal(rows, before)
    assert len(plt.get_fignums()) == 1


@both
def test_draws_rows_of_which_some_failed(plot, rows):
    plot(failed(rows, 1e-3, 1.0, 10))[0, 0].figure.canvas.draw()


def test_the_map_shows_the_mean_over_seeds_with_alpha_across_and_gamma_up(rows):
    image = plot_heatmap(rows)[0, 1].images[0]
    expected = [[0.1 * i + 0.01 * j + 0.1 for i in range(3)] for j in range(2)]
    np.testing.assert_allclose(np.asarray(image.get_array()), expected)
    assert image.origin == "lower"


def test_maps_of_a_metric_share_one_scale(rows):
    (first, second), (other, _) = plot_heatmap(rows)
    assert first.images[0].get_clim() == second.images[0].get_clim() != other.images[0].get_clim()


def test_a_cell_without_a_result_has_a_dash_and_no_colour(rows):
    ax = plot_heatmap(failed(rows, 1e-3, 1.0, 10))[0, 0]
    values = ax.images[0].get_array()
    assert np.ma.getmaskarray(values).nonzero() == (1, 1)
    assert [text.get_text() for text in ax.texts if text.get_position() == (1, 1)] == ["–"]
    assert "nan" not in " ".join(text.get_text() for text in ax.texts)


def test_only_the_best_cell_of_a_metric_is_framed(rows):
    first, second = plot_heatmap(rows)[0]
    assert len(first.patches) == 0
    (frame,) = second.patches
    assert frame.get_xy() == (1.5, 0.5)


def test_numbers_stand_out_from_their_cell(rows):
    def brightness(colour):
        return np.dot(to_rgb(colour), (0.299, 0.587, 0.114))

    ax = plot_heatmap(rows)[0, 0]
    image = ax.images[0]
    for text in ax.texts:
        column, row = text.get_position()
        behind = image.cmap(image.norm(image.get_array()[row, column]))[:3]
        assert abs(brightness(text.get_color()) - brightness(behind)) > 0.25


def test_surfaces_stand_on_one_scale_from_zero_to_one(rows):
    assert {ax.get_zlim() for ax in plot_surface(rows).flat} == {(0, 1)}


def test_a_surface_needs_two_values_of_each(rows):
    one = rows[rows["parameters"].str.contains('"gamma": 0.1')]
    with pytest.raises(InvalidInputError, match="at least two values of alpha and of gamma, got 3 and 1"):
        plot_surface(one)
    assert plot_heatmap(one).shape == (2, 2)


@both
def test_refuses_rows_that_are_no_search_of_one_method_on_one_data_set(plot, rows):
    with pytest.raises(InvalidInputError, match=r"must have the same dataset, got 2 .*rows\.dataset == "):
        plot(pd.concat([rows, rows.assign(dataset="jaffe")]))
    with pytest.raises(InvalidInputError, match="have no number 'beta'"):
        plot(rows.assign(parameters='{"alpha": 1, "gamma": 1}'))
    with pytest.raises(InvalidInputError, match="no column 'purity'"):
        plot(rows, metrics=("purity",))
    with pytest.raises(InvalidInputError, match="no beta 7: choose among 10, 100"):
        plot(rows, betas=(7,))
    with pytest.raises(InvalidInputError, match="No row has a value of acc"):
        plot(rows.assign(acc=np.nan))


@both
def test_what_is_no_table_is_refused_by_its_type(plot):
    for thing in (KMeans(2), "rows.csv", None):
        with pytest.raises(InvalidInputError, match=f"draw the rows of an experiment.* got {type(thing).__name__}"):
            plot(thing)
