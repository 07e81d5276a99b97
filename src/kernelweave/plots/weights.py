"""Which kernels the model relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave.plots._fitted import learned
from kernelweave.plots._style import COLOURS, GREY, INK, counted, headline, new_axes, plain, strip_spines, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_weights"]


def plot_weights(model: Any, *, ax: Axes | None = None) -> Axes:
    """Bars of the share that every kernel has in the consensus, the largest on top; view by view if there are several.

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
        If the model has learned no weights.

    Notes
    -----
    The dotted line marks equal shares, one part in the number of kernels: bars that pass it are favoured.
    """
    shares = np.asarray(learned(model, "kernel_shares_")[1], dtype=float)
    names = learned(model, "kernel_names_")[1]
    order = _order(model, shares)
    shares = shares[order]
    texts = [wrapped(plain(names[i]), 32) for i in order]
    if ax is None:
        ax = new_axes(6.4, 1.3 + sum(0.1 + 0.17 * (1 + text.count("\n")) for text in texts))

    rows = np.arange(len(shares))
    if len(shares) > 1:
        ax.axvline(1 / len(shares), color=GREY, linewidth=1, linestyle=":", zorder=0)
    views = list(getattr(model, "view_names_", ("",)))
    group = [views.index(view) for view in getattr(model, "kernel_views_", [views[0]] * len(shares))]
    bars = ax.barh(rows, shares, height=0.7, color=[COLOURS[group[i] % len(COLOURS)] for i in order])
    values = ax.bar_label(bars, [_percent(share) for share in shares], padding=4, fontsize=9, color=INK)
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
    equal = f" (dotted: equal shares, {_percent(1 / len(shares))})" if len(shares) > 1 else ""
    of_views = f" of {counted(len(views), 'view')}, a colour each" if len(views) > 1 else ""
    headline(ax, "Kernel weights", counted(len(shares), "kernel") + of_views + equal)
    return ax


def _order(model: Any, shares: np.ndarray) -> np.ndarray:
    """Return the kernels from the largest share to the smallest; those of the view with the largest share first."""
    if not hasattr(model, "kernel_views_"):
        return np.argsort(-shares, kind="stable")
    place = {model.view_names_[v]: rank for rank, v in enumerate(np.argsort(-model.view_shares_, kind="stable"))}
    return np.lexsort((-shares, [place[view] for view in model.kernel_views_]))


def _percent(share: float) -> str:
    return "<0.1%" if 0 < share < 0.0005 else f"{share:.1%}"
