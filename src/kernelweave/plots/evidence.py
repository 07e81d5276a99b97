"""The evidence for each number of clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave.plots._fitted import learned
from kernelweave.plots._style import COLOURS, GREY, counted, headline, new_axes, strip_spines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_evidence"]

_CHOSEN = {
    "gap": "the number with the largest gap between eigenvalues",
    "agreement": "the smallest number whose score is within 3 % of the best",
    "nothing": "one, since no structure was found",
}


def plot_evidence(model: BaseEstimator, *, ax: Axes | None = None) -> Axes:
    """Draw agreement, modularity and their product, the score, by number of clusters, and mark the chosen number.

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
    A sharp peak of the score means that the number is well determined, a plateau that several numbers fit equally well.
    The agreement counts for as much as it is above that of samples without structure, drawn as "agreement by chance".
    A gap between eigenvalues that is clear enough decides before the score does; see `ClusterEvidence`.
    """
    evidence = learned(model, "cluster_evidence_")[1]
    if ax is None:
        ax = new_axes(6.4, 4.0)
    numbers = evidence.n_clusters
    lines: tuple[tuple[str, Any, dict[str, Any]], ...] = (
        ("modularity", evidence.modularity, {"color": COLOURS[0], "marker": "o"}),
        ("agreement", evidence.agreement, {"color": COLOURS[1], "marker": "s"}),
        ("agreement by chance", evidence.chance, {"color": COLOURS[1], "linestyle": "--"}),
        ("score", evidence.score, {"color": "#000000", "marker": "^", "linewidth": 2.2}),
    )
    for name, values, style in lines:
        if np.isfinite(values).any():  # there may be no chance to compare with
            ax.plot(numbers, values, label=name, markersize=3.5, **style)
    ax.axvline(evidence.chosen, color=GREY, linewidth=1, linestyle=":", zorder=0)
    ax.set_xlabel("number of clusters", fontsize=9)
    ax.set_ylim(bottom=min(0, float(evidence.modularity.min()), float(evidence.agreement.min())))
    ax.tick_params(labelsize=9, colors=GREY)
    ax.legend(fontsize=9, frameon=False)
    strip_spines(ax)
    headline(
        ax,
        f"Evidence for {counted(evidence.chosen, 'cluster')}",
        f"{counted(len(numbers), 'number')} tried (dotted: {_CHOSEN[evidence.found]})",
    )
    return ax
