"""Which kernels the model relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave._shares import percent
from kernelweave.plots._fitted import kernel_views, learned
from kernelweave.plots._style import COLOURS, GREY, INK, counted, headline, new_axes, plain, strip_spines, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_weights"]


def plot_weights(model: BaseEstimator, *, ax: Axes | None = None) -> Axes:
    """Draw the share of every kernel in the consensus as a bar, the largest on top, grouped by view.

    Parameters
    ----------
    model : estimator
        A fitted model with ``kernel_shares_`` and ``kernel_names_``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure that fits the number of kernels.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the model has no kernel weights.

    Notes
    -----
    The dotted line marks equal shares, one divided by the number of kernels.
    """
    shares = np.asarray(learned(model, "kernel_shares_")[1], dtype=float)
    names = learned(model, "kernel_names_")[1]
    views, view = kernel_views(model, len(shares))
    of_view = np.bincount(view, weights=shares)[view]
    order = np.lexsort((-shares, view, -of_view))
    shares, view = shares[order], view[order]
    texts = [wrapped(plain(names[i]), 32) for i in order]
    if ax is None:
        ax = new_axes(6.4, 1.3 + sum(0.1 + 0.17 * (1 + text.count("\n")) for text in texts))

    rows = np.arange(len(shares))
    if len(shares) > 1:
        ax.axvline(1 / len(shares), color=GREY, linewidth=1, linestyle=":", zorder=0)
    bars = ax.barh(rows, shares, height=0.7, color=[COLOURS[v % len(COLOURS)] for v in view])
    values = ax.bar_label(bars, [percent(share, 1) for share in shares], padding=4, fontsize=9, color=INK)
    for value in values:  # the dotted line must not cross the figures
        value.set_bbox({"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 1})
    ax.set_yticks(rows, texts, fontsize=9)
    ax.set_ylim(len(shares) - 0.4, -0.6)
    ax.set_xlim(0, 1.18 * shares.max())
    ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")
    ax.locator_params(axis="x", nbins=6)
    ax.tick_params(axis="x", labelsize=9, colors=GREY)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of the weight", fontsize=9)
    strip_spines(ax, ("top", "right", "left"))
    equal = f" (dotted: equal shares, {percent(1 / len(shares), 1)})" if len(shares) > 1 else ""
    of_views = f" of {counted(len(views), 'view')}, one colour per view" if len(views) > 1 else ""
    headline(ax, "Kernel weights", counted(len(shares), "kernel") + of_views + equal, texts)
    return ax
