"""The telling features of all clusters as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernelweave.errors import InvalidInputError
from kernelweave.plots._style import (
    GREY,
    all_shortened,
    columns,
    counted,
    headline,
    ink_on,
    new_axes,
    plain,
    strip_spines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

    from kernelweave.explain import Explanation

__all__ = ["plot_features"]

_STRONGEST = 2.0  # standard deviations at the ends of the colour scale
_BESIDE = 4  # letters of the longest name up to which the names of all clusters lie beside each other
_NUMBERED = 24  # clusters or features up to which the cells hold numbers


def plot_features(explanation: Explanation, *, ax: Axes | None = None) -> Axes:
    """Draw the mean of every telling feature in every cluster, in standard deviations, as a heat map.

    Parameters
    ----------
    explanation : Explanation
        The result of `kernelweave.explain.explain_clusters`.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure that fits the numbers of clusters and features.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    InvalidInputError
        If `explanation` is not a result of `explain_clusters`, or if no feature sets a cluster apart.

    Notes
    -----
    The rows are the three most telling features of every cluster, without repetition. A column is a cluster. Red is
    above the mean of all samples, blue below it.
    """
    profile = getattr(explanation, "profile", None)
    if profile is None:
        msg = f"plot_features draws a result of explain_clusters; got {type(explanation).__name__}."
        raise InvalidInputError(msg)
    if not profile.features:
        msg = "No feature sets a cluster apart, so that there is nothing to draw."
        raise InvalidInputError(msg)
    rows, groups = len(profile.features), len(explanation.names)
    below = all_shortened(explanation.names, 14)
    longest = max(map(columns, below))
    turned = longest > _BESIDE or (longest > 3 and groups > 8)
    if ax is None:
        ax = new_axes(min(12.0, 3.5 + 0.45 * groups), min(14.0, 1.4 + 0.26 * rows + 0.07 * longest * turned))
    image = ax.imshow(profile.means.T, cmap="RdBu_r", vmin=-_STRONGEST, vmax=_STRONGEST, aspect="auto")
    names = [plain(name) for name in all_shortened(profile.features, 36)]
    if rows <= 60:
        ax.set_yticks(range(rows), names, fontsize=8)
    else:
        ax.set_yticks([])
    ticks = range(0, groups, max(1, groups // 34))
    ax.set_xticks(ticks, [plain(below[k]) for k in ticks], fontsize=8, rotation=90 if turned else 0)
    ax.set_xlabel(explanation.kind, fontsize=9)
    ax.tick_params(length=0, colors=GREY)
    if groups <= _NUMBERED // 2 and rows <= _NUMBERED:
        _write_numbers(ax, profile.means.T, image)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.7, pad=0.02)
    bar.ax.tick_params(labelsize=8, colors=GREY)
    bar.outline.set_visible(False)
    strip_spines(ax, ("top", "right", "bottom", "left"))
    text = f"means of {counted(rows, 'feature')} in {counted(groups, explanation.kind)}, in standard deviations"
    headline(ax, "What sets them apart", text, names if rows <= 60 else ())
    return ax


def _write_numbers(ax: Axes, means: npt.NDArray[np.float64], image: AxesImage) -> None:
    colours = image.to_rgba(means)
    for (row, column), mean in np.ndenumerate(means):
        if np.isfinite(mean):
            text = f"{round(mean, 1) + 0:+.1f}"  # no -0.0
            ax.text(column, row, text, ha="center", va="center", fontsize=7, color=ink_on(colours[row, column]))
