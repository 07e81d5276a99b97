"""Which views the model relies on, and what changes without each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelweave._shares import percent
from kernelweave.errors import InvalidInputError
from kernelweave.plots._style import COLOURS, GREY, INK, counted, headline, new_axes, plain, strip_spines, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelweave.estimators import ViewImportance

__all__ = ["plot_view_importance"]


def plot_view_importance(importance: ViewImportance, *, ax: Axes | None = None) -> Axes:
    """Draw the share of every view, its values under resampling, and how far the labels agree without the view.

    Parameters
    ----------
    importance : ViewImportance
        The result of `kernelweave.view_importance`.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure that fits the number of views.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    InvalidInputError
        If `importance` is not a result of `view_importance`.
    """
    if not hasattr(importance, "resampled_shares"):
        msg = f"plot_view_importance draws a result of view_importance; got {type(importance).__name__}."
        raise InvalidInputError(msg)
    shares, resampled = importance.shares, importance.resampled_shares
    if ax is None:
        ax = new_axes(6.4, 1.6 + 0.45 * len(shares))
    rows = np.arange(len(shares))
    ax.axvline(1 / len(shares), color=GREY, linewidth=1, linestyle=":", zorder=0)
    ax.barh(rows, shares, height=0.6, color=COLOURS[0])
    for row, drawn in zip(rows, resampled.T, strict=True):
        ax.plot(drawn, np.full(len(drawn), row), linestyle="", marker="|", markersize=11, color=INK, alpha=0.6)
    ends = np.maximum(shares, resampled.max(axis=0)) if len(resampled) else shares
    for row, end in zip(rows, ends, strict=True):
        text = f"{percent(shares[row], 1)}, ARI {importance.agreement[row]:.2f} without"
        if importance.score is not None and importance.score_without is not None:
            text += f", score {importance.score_without[row] - importance.score:+.2f}"
        ax.annotate(
            text,
            (end, row),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=INK,
            bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1},
        )
    names = [wrapped(plain(name), 24) for name in importance.view_names]
    ax.set_yticks(rows, names, fontsize=9)
    ax.set_ylim(len(shares) - 0.4, -0.6)
    ax.set_xlim(0, 2.1 * max(ends))  # with room for the texts, beside an axis that ends at 100 %
    ax.set_xticks([tick for tick in ax.get_xticks() if 0 <= tick <= min(1.0, 2.1 * max(ends))])
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    ax.tick_params(axis="x", labelsize=9, colors=GREY)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of the weight", fontsize=9)
    strip_spines(ax, ("top", "right", "left"))
    ticks = f"; ticks: {counted(len(resampled), 'random subset')} of the samples" if len(resampled) else ""
    headline(ax, "Which view mattered", f"{counted(len(shares), 'view')} (dotted: equal shares{ticks})", names)
    return ax
