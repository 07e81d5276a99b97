"""What holds for all plots: where they draw, what they refuse, and that they touch nothing else."""

import inspect
import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from sklearn.exceptions import NotFittedError

from kernelweave import plots
from kernelweave.errors import InvalidInputError

EVERY = [getattr(plots, name) for name in plots.__all__]
PLOTS = [plot for plot in EVERY if "model" in inspect.signature(plot).parameters]  # others draw tables
every_plot = pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.__name__)


def state(model):
    return {name: np.array(value, copy=True) for name, value in vars(model).items() if isinstance(value, np.ndarray)}


@every_plot
def test_draws_on_the_given_axes_and_opens_no_figure(plot, clusterer, ax):
    before = plt.get_fignums()
    assert plot(clusterer, ax=ax) is ax
    assert plt.get_fignums() == before


@every_plot
def test_without_axes_makes_one_new_figure(plot, clusterer):
    ax = plot(clusterer)
    assert isinstance(ax, Axes)
    assert plt.get_fignums() == [ax.figure.number]


@every_plot
def test_has_a_title(plot, clusterer, ax):
    assert plot(clusterer, ax=ax).get_title(loc="left")


@every_plot
def test_leaves_the_model_as_it_was(plot, clusterer, ax):
    before = state(clusterer)
    plot(clusterer, ax=ax)
    for name, value in state(clusterer).items():
        np.testing.assert_array_equal(value, before[name])


@every_plot
def test_all_texts_lie_inside_the_new_figure(plot, clusterer):
    figure = plot(clusterer).figure
    figure.canvas.draw()
    drawn = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= 0
    assert drawn.x1 <= width
    assert drawn.y1 <= height


@every_plot
@pytest.mark.parametrize("size", [(2, 2), (12, 3)])
def test_draws_in_axes_of_any_size(plot, clusterer, size):
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    plot(clusterer, ax=ax)
    figure.canvas.draw()


@every_plot
def test_refuses_a_model_that_is_not_fitted(plot, fitted, ax):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        plot(fitted(), ax=ax)


@every_plot
def test_says_that_no_plot_fits_a_model_without_anything_to_draw(plot, fitted, ax):
    with pytest.raises(InvalidInputError, match=r"Model has no .*_, which this plot draws: kernelweave has no other"):
        plot(fitted(classes=np.arange(2)), ax=ax)


@pytest.mark.parametrize(
    ("plot", "missing"),
    [
        (plots.plot_weights, "kernel_shares_"),
        (plots.plot_weights, "kernel_names_"),
        (plots.plot_graph, "graph_"),
        (plots.plot_convergence, "history_"),
        (plots.plot_convergence, "outcome_"),
        (plots.plot_embedding, "embedding_"),
        (plots.plot_spectrum, "eigenvalues_"),
        (plots.plot_confidence, "confidence_"),
    ],
)
def test_names_what_is_missing_and_the_plots_that_are_left(plot, missing, clusterer, ax):
    delattr(clusterer, missing)
    with pytest.raises(InvalidInputError, match=rf"Model has no .*{missing}.*, which this plot draws") as raised:
        plot(clusterer, ax=ax)
    for other in PLOTS:
        assert (other.__name__ in str(raised.value)) == (other is not plot)


@pytest.mark.parametrize(
    "plot",
    [plots.plot_graph, plots.plot_embedding, plots.plot_spectrum, plots.plot_confidence],
    ids=lambda plot: plot.__name__,
)
def test_groups_are_needed_to_sort_and_colour(plot, clusterer, ax):
    del clusterer.labels_
    with pytest.raises(InvalidInputError, match=r"no labels_ or transduction_.*plot_weights or plot_convergence"):
        plot(clusterer, ax=ax)


def test_pyplot_is_imported_only_for_a_new_figure():
    program = """
import sys
import numpy as np
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from kernelweave.plots import plot_graph, plot_weights

class Model(BaseEstimator):
    def fit(self, X): return self

model = Model()
model.kernel_shares_, model.kernel_names_ = np.array([0.4, 0.6]), ("a", "b")
model.graph_, model.labels_ = np.ones((4, 4)), np.array([0, 1, 0, 1])
for plot in (plot_weights, plot_graph):
    plot(model, ax=Figure().subplots())
assert "matplotlib.pyplot" not in sys.modules
plot_weights(model)
assert "matplotlib.pyplot" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "MPLBACKEND": "Agg"})
