"""One feature in all clusters, in its own units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelweave.errors import InvalidInputError
from kernelweave.plots._style import (
    COLOURS,
    GREY,
    all_shortened,
    counted,
    headline,
    new_axes,
    plain,
    shortened,
    show_dates,
    strip_spines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelweave.explain import Explanation

__all__ = ["plot_feature"]


def plot_feature(explanation: Explanation, feature: str, *, ax: Axes | None = None) -> Axes:
    """Draw box plots of one telling feature in every cluster, in its own units.

    Parameters
    ----------
    explanation : Explanation
        The result of `kernelweave.explain.explain_clusters`.
    feature : str
        One of ``explanation.profile.features``, the three most telling features of every cluster.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure that fits the number of clusters.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    InvalidInputError
        If `explanation` is not a result of `explain_clusters`, or has no such number among its telling features.

    Notes
    -----
    The dot is the median, the thick line covers the middle half of the samples, the thin line the middle 90 %.
    """
    profile = getattr(explanation, "profile", None)
    if profile is None:
        msg = f"plot_feature draws a result of explain_clusters; got {type(explanation).__name__}."
        raise InvalidInputError(msg)
    drawable = [name for k, name in enumerate(profile.features) if np.isfinite(profile.quantiles[:, k]).any()]
    if feature not in drawable:
        msg = f"{feature!r} is not among the telling numbers: choose one of {', '.join(map(repr, drawable[:20]))}."
        raise InvalidInputError(msg)
    quantiles = profile.quantiles[:, profile.features.index(feature)]
    groups = len(explanation.names)
    if ax is None:
        ax = new_axes(6.4, min(14.0, 1.5 + 0.24 * groups))
    rows = np.arange(groups)
    ax.hlines(rows, quantiles[:, 0], quantiles[:, 4], color=COLOURS[0], linewidth=1)
    ax.hlines(rows, quantiles[:, 1], quantiles[:, 3], color=COLOURS[0], linewidth=5)
    ax.plot(quantiles[:, 2], rows, linestyle="none", marker="o", color="white", markeredgecolor=COLOURS[0])
    names = [plain(name) for name in all_shortened(explanation.names)]
    if groups <= 60:
        ax.set_yticks(rows, names, fontsize=9)
    ax.set_ylim(groups - 0.4, -0.6)
    ax.set_ylabel(explanation.kind, fontsize=9)
    row = next(row for row in explanation.rows if feature in (row["feature"], f"{row['view']}: {row['feature']}"))
    if row["type"] == "date":
        show_dates(ax)
    ax.set_xlabel(plain(row.get("unit") or ""), fontsize=9)
    ax.tick_params(labelsize=9, colors=GREY)
    ax.grid(axis="x", color="#EEEEEE", linewidth=0.8)
    ax.set_axisbelow(True)
    strip_spines(ax, ("top", "right", "left"))
    headline(ax, shortened(feature, 60), f"{counted(sum(explanation.sizes), 'sample')}; original units", names)
    return ax
