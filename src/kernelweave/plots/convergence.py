"""The objective and the change of the graph by iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave._types import Labels, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.plots._fitted import learned
from kernelweave.plots._style import (
    COLOURS,
    GREY,
    INK,
    character_width,
    counted,
    headline,
    new_axes,
    plain,
    strip_spines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["plot_convergence"]

_MARKED = 40  # up to this number of iterations, each has a marker
_WIDE = 30.0  # terms that differ by a larger factor are drawn on a logarithmic axis
_SMALL = 1e-8  # relative to the largest term; smaller values count as zero there
_LINEAR = 1e-6  # relative to the largest term; an axis that includes zero is linear below


def plot_convergence(model: BaseEstimator, *, ax: Axes | None = None) -> Axes:
    """Draw every term of the objective, their total, and the change of the graph, by iteration.

    Parameters
    ----------
    model : estimator
        A fitted model with ``history_`` and ``outcome_``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure. The change of the graph is drawn on a twin of these axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the terms and their total. The twin axes with the change are the last of the figure.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the model has no history, or an empty one.

    Notes
    -----
    Terms of very different size are drawn on a logarithmic axis, which is linear around zero if a term is zero, nearly
    zero or negative. The subtitle says why the iterations stopped.
    """
    history = learned(model, "history_")[1]
    outcome = learned(model, "outcome_")[1]
    if len(history) == 0:
        msg = f"history_ of {type(model).__name__} is empty, so there is nothing to draw: {outcome.value}"
        raise InvalidInputError(msg)
    if ax is None:
        ax = new_axes(6.8, 4.4)

    iterations = np.arange(1, len(history) + 1)
    markers: dict[str, Any] = {"marker": "o", "markersize": 3.5} if len(history) <= _MARKED else {}
    thick: dict[str, Any] = {"color": "#BBBBBB", "linewidth": 5, "marker": "o", "markersize": 5, "zorder": 1}
    lines = ax.plot(iterations, history.objective, label="total", **thick)
    for i, (name, values) in enumerate(history.terms.items()):
        lines += ax.plot(iterations, values, label=name, color=COLOURS[i % len(COLOURS)], linewidth=1.6, **markers)
    _draw_change(ax, iterations, history.change)
    _scale(ax, np.array([history.objective, *history.terms.values()]))
    _name_lines(ax, lines)
    ax.set_xlabel("iteration", fontsize=9)
    ax.set_ylabel("objective and its terms", fontsize=9)
    ax.tick_params(labelsize=9, colors=GREY)
    ax.grid(axis="y", color="#EEEEEE", linewidth=0.8)
    ax.set_axisbelow(True)
    strip_spines(ax)
    headline(ax, f"Convergence in {counted(len(history), 'iteration')}", outcome.value)
    return ax


def _draw_change(ax: Axes, iterations: Labels, change: Vector) -> None:
    """Draw the change of the graph on a second vertical axis, on the right."""
    twin = ax.twinx()
    markers: dict[str, Any] = {"marker": "x", "markersize": 4} if len(iterations) <= _MARKED else {}
    twin.plot(iterations, change, color=GREY, linewidth=1, linestyle="--", label="change of the graph", **markers)
    if (change > 0).any():
        twin.set_yscale("log", nonpositive="mask")
    else:
        twin.set_ylim(bottom=0)
    twin.set_ylabel("relative change of the graph (dashed)", fontsize=9, color=GREY)
    twin.tick_params(labelsize=9, colors=GREY)
    strip_spines(twin, ("top", "left", "bottom"))


def _scale(ax: Axes, values: Vector) -> None:
    """Make the vertical axis logarithmic if the values are of very different size."""
    values = values[np.isfinite(values)]
    sizes = np.abs(values)
    sizes = sizes[sizes > _SMALL * sizes.max(initial=0)]
    if sizes.size == 0:
        return
    if sizes.max() > _WIDE * sizes.min():
        if values.min() >= sizes.min():
            ax.set_yscale("log")
        else:
            values = np.append(values, 0)
            _scale_around_zero(ax, values, max(sizes.min(), _LINEAR * sizes.max()))
    # the default limits of an axis that is logarithmic on both sides of zero cut lines off
    scale = ax.yaxis.get_transform()
    low, high = scale.transform([values.min(), values.max()])
    margin = 0.05 * (high - low) or 0.05 * abs(high)
    ax.set_ylim(*scale.inverted().transform([low - margin, high + margin]).tolist())


def _scale_around_zero(ax: Axes, values: Vector, linear: float) -> None:
    """Make the axis logarithmic on both sides of zero, with few ticks: the default ones are crowded around zero."""
    first = int(np.floor(np.log10(linear)))
    ax.set_yscale("symlog", linthresh=10.0**first)
    last = int(np.floor(np.log10(np.abs(values).max())))
    decades = 10.0 ** np.arange(first, last + 1, 1 + (last - first) // 5)
    ticks = [*-decades[::-1], 0, *decades]
    ax.set_yticks([tick for tick in ticks if values.min() <= tick <= values.max()])


def _name_lines(ax: Axes, lines: list[Line2D]) -> None:
    """Write the name and last value of every line to its right, moved apart where they would overlap."""
    last = np.size(lines[0].get_xdata())
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in lines]
    texts = [f"{line.get_label()} {_number(end)}" for line, end in zip(lines, ends, strict=True)]
    room = min(0.5, (max(map(len, texts)) + 5) * character_width(ax))
    span = max(last - 1, 0.5)
    ax.set_xlim(1 - 0.03 * span, last + span * room / (1 - room))
    ax.set_xticks(_ticks(last))

    heights = _heights(ax, last, ends)
    gap = 11 / (72 * ax.bbox.height / ax.figure.dpi)
    for i, height in zip(np.argsort(heights, kind="stable"), _apart(np.sort(heights), gap), strict=True):
        ax.annotate(
            plain(texts[i]),
            (last, height),
            (7, 0),
            xycoords=ax.get_xaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=INK if i == 0 else lines[i].get_color(),
            fontweight="bold" if i == 0 else "normal",
        )


def _ticks(last: int) -> list[int]:
    """Return the first iteration and round ones up to the last."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(6, integer=True, steps=[1, 2, 5, 10]).tick_values(0, last)
    return sorted({1, *(int(tick) for tick in ticks if 1 <= tick <= last)})


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"


def _heights(ax: Axes, x: float, values: list[float]) -> Vector:
    """Return the heights of values on the axes, between 0 and 1; 1 for those that cannot be drawn."""
    ax.set_ylim(ax.get_ylim())  # fixes the limits, so that the names stay beside their lines
    points = ax.transData.transform([(x, value) for value in values])
    heights = np.asarray(ax.transAxes.inverted().transform(points))[:, 1]
    return np.where(np.isfinite(heights), np.clip(heights, 0, 1), 1.0)


def _apart(heights: Vector, gap: float) -> list[float]:
    """Return ascending heights, moved as little as needed to be at least `gap` apart."""
    clusters: list[list[float]] = []
    for height in heights:
        clusters.append([height])
        # a name too close to the one below joins its block, which is spread around its mean
        while len(clusters) > 1 and _bottom(clusters[-1], gap) - _top(clusters[-2], gap) < gap:
            clusters[-2:] = [clusters[-2] + clusters[-1]]
    return [_bottom(cluster, gap) + gap * i for cluster in clusters for i in range(len(cluster))]


def _bottom(cluster: list[float], gap: float) -> float:
    return max(0.0, float(np.mean(cluster)) - gap * (len(cluster) - 1) / 2)


def _top(cluster: list[float], gap: float) -> float:
    return _bottom(cluster, gap) + gap * (len(cluster) - 1)
