"""Results of a parameter search over its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelweave.errors import InvalidInputError
from kernelweave.plots._grid import Grid, Panel, read_grid, tick
from kernelweave.plots._style import GREY, INK, counted, ink_on

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

__all__ = ["plot_heatmap", "plot_surface"]

_MAP = "viridis"  # its lightness is uniform, so it can be read in grey and by all kinds of colour vision
_NO_RESULT = "#D9D9D9"
_NUMBERED = 120  # largest number of cells that have room for their values


def plot_heatmap(
    rows: pd.DataFrame, *, metrics: Sequence[str] = ("acc", "nmi"), betas: Sequence[float] | None = None
) -> npt.NDArray[np.object_]:
    """Draw heat maps of accuracy and NMI over alpha and gamma, one for every beta, in a new figure.

    Parameters
    ----------
    rows : pandas.DataFrame
        Rows of an experiment for one method with alpha, beta and gamma on one data set. Seeds are averaged.
    metrics : sequence of str, default=("acc", "nmi")
        Columns to draw, one row of maps each. The maps of a row share one colour scale.
    betas : sequence of float, default=None
        Which values of beta to draw; None draws all.

    Returns
    -------
    axes : ndarray of matplotlib Axes of shape (n_metrics, n_betas)
        The axes with the maps.

    Raises
    ------
    InvalidInputError
        If the rows belong to several data sets or methods, or lack a parameter, a metric or a beta.

    Notes
    -----
    Grey cells have no result: the run failed or is missing. The best cell of every row of maps is framed.
    """
    grid = read_grid(rows, metrics, betas)
    figure, axes = _new_figure(grid, width=0.62 * len(grid.alphas) + 0.7, height=0.36 * len(grid.gammas) + 0.9)
    for i, j, panel in grid:
        ax = axes[i, j]
        low, high = grid.limits(i)
        image = ax.imshow(panel.values, cmap=_MAP, vmin=low, vmax=high, origin="lower", aspect="auto")
        ax.set_facecolor(_NO_RESULT)
        _write_numbers(ax, panel, image)
        _frame_best(ax, panel, high)
        ax.set_xticks(range(len(grid.alphas)), [tick(alpha) for alpha in grid.alphas], fontsize=8)
        ax.set_yticks(range(len(grid.gammas)), [tick(gamma) for gamma in grid.gammas], fontsize=8)
        ax.set_xlabel("α", fontsize=9)
        ax.set_ylabel("γ", fontsize=9)
        ax.set_title(f"{panel.name}, β = {tick(panel.beta)}", loc="left", fontsize=10, color=INK)
        ax.tick_params(colors=GREY, length=0)
        ax.spines[:].set_visible(False)
        if j == len(grid.betas) - 1:
            figure.colorbar(image, ax=axes[i, :].tolist(), shrink=0.9, pad=0.01).outline.set_visible(False)
    return axes


def plot_surface(
    rows: pd.DataFrame, *, metrics: Sequence[str] = ("acc", "nmi"), betas: Sequence[float] | None = None
) -> npt.NDArray[np.object_]:
    """Draw surfaces of accuracy and NMI over alpha and gamma, one for every beta, as in the paper's Figure 1.

    Parameters
    ----------
    rows : pandas.DataFrame
        Rows of an experiment for one method with alpha, beta and gamma on one data set. Seeds are averaged.
    metrics : sequence of str, default=("acc", "nmi")
        Columns to draw, one row of surfaces each, from 0 to 1.
    betas : sequence of float, default=None
        Which values of beta to draw; None draws all.

    Returns
    -------
    axes : ndarray of mpl_toolkits.mplot3d.Axes3D of shape (n_metrics, n_betas)
        The axes with the surfaces.

    Raises
    ------
    InvalidInputError
        As `plot_heatmap`, and if there are fewer than two values of alpha or gamma.

    Notes
    -----
    The values of alpha and gamma are drawn at equal steps, in ascending order. A surface has a hole where there is no
    result.
    """
    grid = read_grid(rows, metrics, betas)
    if min(len(grid.alphas), len(grid.gammas)) < 2:
        msg = (
            f"A surface needs at least two values of alpha and of gamma, got {len(grid.alphas)} and "
            f"{len(grid.gammas)}: draw it with plot_heatmap."
        )
        raise InvalidInputError(msg)
    figure, axes = _new_figure(grid, width=3.4, height=3.1, projection="3d")
    across, along = np.meshgrid(range(len(grid.alphas)), range(len(grid.gammas)))
    for i, j, panel in grid:
        ax = axes[i, j]
        low, high = grid.limits(i)
        ax.plot_surface(
            across, along, panel.values, cmap=_MAP, vmin=low, vmax=high, edgecolor=INK, linewidth=0.3, antialiased=True
        )
        _set_few_ticks(ax.set_xticks, grid.alphas)
        _set_few_ticks(ax.set_yticks, grid.gammas)
        ax.set_zlim(0, 1)
        ax.tick_params(labelsize=7, colors=GREY, pad=0)
        ax.set_xlabel("α", fontsize=9, labelpad=2)
        ax.set_ylabel("γ", fontsize=9, labelpad=2)
        ax.set_zlabel(panel.name, fontsize=9, labelpad=0)
        ax.set_title(f"{panel.name}, β = {tick(panel.beta)}", fontsize=10, color=INK)
        ax.view_init(elev=28, azim=-125)
        ax.set_box_aspect(None, zoom=0.95)  # room for the labels
    _place_labels(figure)
    return axes


def _new_figure(
    grid: Grid, *, width: float, height: float, projection: str | None = None
) -> tuple[Figure, npt.NDArray[Any]]:
    """Return a figure with a title and its axes, one for every metric and beta; width and height of each in inches."""
    import matplotlib.pyplot as plt  # only here: pyplot picks a backend and keeps the figure alive

    shape = len(grid.panels), len(grid.betas)
    figure, axes = plt.subplots(
        *shape,
        figsize=(max(4.0, width * shape[1] + 0.8), height * shape[0] + 0.5),
        squeeze=False,
        layout="constrained",
        subplot_kw={"projection": projection} if projection else None,
    )
    points = f"{counted(len(grid.alphas), 'value')} of α, {len(grid.gammas)} of γ, {len(grid.betas)} of β"
    figure.suptitle(f"{grid.method} on {grid.dataset}: {points}", fontsize=11, fontweight="bold", color=INK)
    return figure, axes


def _place_labels(figure: Figure) -> None:
    """Draw once without a layout: matplotlib before 3.11 places the labels of 3-d axes only then."""
    figure.set_layout_engine("none")
    figure.draw_without_rendering()
    figure.set_layout_engine("constrained")


def _set_few_ticks(set_ticks: Callable[..., object], values: Sequence[float]) -> None:
    """Label at most every second of more than four values, so that the labels do not overlap on a slanted axis."""
    places = range(0, len(values), 1 if len(values) <= 4 else 2)
    set_ticks(places, [tick(values[i]) for i in places], fontsize=7)


def _write_numbers(ax: Axes, panel: Panel, image: AxesImage) -> None:
    """Write every value into its cell, black on light cells and white on dark ones."""
    if panel.values.size > _NUMBERED:
        return
    colours = image.to_rgba(panel.values)
    for (row, column), value in np.ndenumerate(panel.values):
        if np.isfinite(value):
            colour = ink_on(colours[row, column])
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
        else:
            ax.text(column, row, "–", ha="center", va="center", fontsize=8, color=INK)


def _frame_best(ax: Axes, panel: Panel, best: float) -> None:
    from matplotlib.patches import Rectangle

    for row, column in np.argwhere(panel.values == best):
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="#D55E00", linewidth=2))
