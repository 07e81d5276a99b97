"""Eigenvalues of the graph's Laplacian."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave.errors import InvalidInputError
from kernelweave.plots._fitted import groups, learned
from kernelweave.plots._style import COLOURS, GREY, INK, counted, headline, new_axes, strip_spines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_spectrum"]


def plot_spectrum(model: BaseEstimator, *, ax: Axes | None = None) -> Axes:
    """Draw the smallest eigenvalues of the graph's Laplacian, with the gap after the number of groups.

    Parameters
    ----------
    model : estimator
        A fitted model with ``eigenvalues_`` and ``labels_`` or ``transduction_``.
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
        If the model has no eigenvalues, or no groups.

    Notes
    -----
    A graph of c connected components has c eigenvalues of zero. The larger the gap between the eigenvalues c and c + 1,
    the more clearly the graph separates into c groups.
    """
    values = np.asarray(learned(model, "eigenvalues_")[1], dtype=float)
    if not len(values):
        msg = f"eigenvalues_ of {type(model).__name__} is empty, so there is nothing to draw: fit it again."
        raise InvalidInputError(msg)
    kind, names, _ = groups(model)
    c = len(names)
    if ax is None:
        ax = new_axes(6.4, 3.6)

    numbers = np.arange(1, len(values) + 1)
    ax.vlines(numbers, 0, values, color="#DDDDDD", linewidth=1, zorder=1)
    for inside, label, face in ((numbers <= c, f"the first {c}", COLOURS[0]), (numbers > c, "the next", "white")):
        ax.plot(
            numbers[inside],
            values[inside],
            linestyle="none",
            marker="o",
            markersize=5.5,
            markerfacecolor=face,
            markeredgecolor=COLOURS[0],
            label=label,
        )
    subtitle = f"{counted(len(values), 'eigenvalue')} of the Laplacian, {counted(c, kind)}"
    if 0 < c < len(values):
        low, high = values[c - 1], values[c]
        ax.axhspan(low, high, color=COLOURS[1], alpha=0.15, linewidth=0, zorder=0)
        ax.annotate(
            f"gap {high - low:.2g}",
            (0, (low + high) / 2),
            (6, 0),
            xycoords=ax.get_yaxis_transform(),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=INK,
        )
        subtitle += f"; they rise from {low:.3g} to {high:.3g} after number {c}"
    ax.set_xlim(0.4, len(values) + 0.6)
    ax.set_ylim(min(0.0, float(values.min())), 1.08 * float(values.max()) or 1.0)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("number of the eigenvalue", fontsize=9)
    ax.set_ylabel("eigenvalue", fontsize=9)
    ax.tick_params(labelsize=9, colors=GREY)
    strip_spines(ax)
    headline(ax, "Spectrum of the graph", subtitle)
    return ax
