"""The evidence for each number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave.plots._fitted import learned
from kernelweave.plots._style import COLOURS, GREY, counted, headline, new_axes, strip_spines
from kernelweave.select import ClusterEvidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["plot_evidence"]


def plot_evidence(model: BaseEstimator, *, ax: Axes | None = None) -> Axes:
    """Draw gap and agreement by number of clusters, and mark the chosen number.

    Parameters
    ----------
    model : estimator
        A fitted model with ``cluster_evidence_``: one with ``n_clusters="auto"``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the number of clusters was given, not chosen by the model.

    Notes
    -----
    The agreement of different graphs is drawn beside that of samples without structure, if these were compared. The gap
    has an axis of its own; one above the dashed line decides. In few columns the depth of valleys takes its place, each
    with a dashed line for how deep they must be, or the log odds of clusters of one shape, if these decided.
    """
    from matplotlib.ticker import MaxNLocator

    evidence = learned(model, "cluster_evidence_")[1]
    if ax is None:
        ax = new_axes(6.4, 4.0)
    numbers = evidence.n_clusters
    lines: list[tuple[str, Any, dict[str, Any]]] = [("agreement", evidence.agreement, {"color": COLOURS[0]})]
    if np.isfinite(evidence.chance).any():
        lines.append(("without structure", evidence.chance, {"color": COLOURS[0], "linestyle": "--"}))
    for name, values, style in lines:
        ax.plot(numbers, values, label=name, marker="o", markersize=3.5, **style)
    others = _decisive(ax.twinx(), evidence)
    ax.axvline(evidence.chosen, color=GREY, linewidth=1, linestyle=":", zorder=0)
    ax.set_xlabel("number of clusters", fontsize=9)
    ax.set_ylabel("agreement", fontsize=9)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(min(0, float(np.nanmin([evidence.agreement, evidence.chance]))), 1.02)
    ax.tick_params(labelsize=9, colors=GREY)
    ax.legend(handles=[*ax.get_lines()[: len(lines)], *others], fontsize=9, frameon=False)
    strip_spines(ax)
    short = evidence.words.split(" (")[0].split(":")[0]
    headline(
        ax,
        f"Evidence for {counted(evidence.chosen, 'cluster')}",
        f"{short[0].upper()}{short[1:]}",
    )
    return ax


def _decisive(ax: Axes, evidence: ClusterEvidence) -> list[Line2D]:
    """Draw what decides, the gap, valleys or a mixture, for every number, and how large it must be."""
    found: list[Line2D] = []
    style: dict[str, Any] = {"marker": "s", "markersize": 3.5, "linewidth": 1}
    for (name, values, enough), colour in zip(evidence.curves, COLOURS[1:], strict=False):
        found += ax.plot(evidence.n_clusters, values, label=name, color=colour, **style)
        ax.axhline(enough, color=colour, linewidth=0.8, linestyle="--", zorder=0)
    if evidence.depth is None:
        ax.set_ylim(0, 1.1 * max(evidence.clear, float(evidence.gap.max())))
    ax.set_ylabel(evidence.measured, fontsize=9)
    ax.tick_params(labelsize=9, colors=GREY)
    strip_spines(ax)
    ax.spines["right"].set_visible(True)
    return found
