"""The samples in two dimensions, where the model places them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from kernelweave._types import Array
from kernelweave.errors import InvalidInputError
from kernelweave.plots._fitted import groups
from kernelweave.plots._layout import corners, lay_out
from kernelweave.plots._style import (
    COLOURS,
    GREY,
    MARKERS,
    all_shortened,
    counted,
    headline,
    new_axes,
    plain,
    strip_spines,
)
from kernelweave.samples.labels import encode_labels, in_sample_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_embedding"]

_LISTED = 12  # largest number of groups that fit a legend


def plot_embedding(model: BaseEstimator, *, labels: npt.ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Draw a scatter plot of the samples in the model's embedding, coloured by group.

    Parameters
    ----------
    model : estimator
        A fitted model with ``label_distributions_`` (classifiers) or ``embedding_`` (clusterers).
    labels : array-like of shape (n_samples,) or None, default=None
        Groups to colour by, for example the true classes; None uses the model's ``labels_`` or ``transduction_``. A
        pandas Series is aligned by its index if the model has ``sample_names_``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure. The legend is to the right of the axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the model has no embedding, or no label for every sample.

    Notes
    -----
    - ``embedding_`` is drawn in its first two principal directions. If all of them explain the same variance, as for
      orthonormal eigenvectors, its first two columns that are not constant are drawn instead; they are the smoothest
      on the graph.
    - ``label_distributions_`` of three or more classes are drawn in a wheel with one spoke per class. A sample is the
      mean of the ends of the spokes, weighted by its distribution; its distance from the centre is replaced by the
      square root, which spreads out uncertain samples. Certain samples lie at the rim, undecided ones at the centre.
    - If the samples vary in one direction only, the groups are drawn in rows, one above the other.
    """
    layout = lay_out(model)
    n = len(layout.places)
    kind, names, codes = _groups(model, labels, n)
    Z = layout.places
    if ax is None:
        ax = new_axes(6.4, 4.8)

    if layout.wheel is not None:
        _draw_wheel(ax, layout.wheel)
    line = Z.shape[1] < 2
    if line:
        Z = np.column_stack([Z if Z.size else np.zeros(n), codes])
    for k in range(len(names)):
        x, y = Z[codes == k].T
        ax.scatter(
            x,
            y,
            s=16,
            color=COLOURS[k % len(COLOURS)],
            marker=MARKERS[k % len(MARKERS)],
            linewidths=0.3,
            edgecolors="white",
            label=f"{kind} {names[k]}",  # matplotlib hides labels that begin with _
            rasterized=n > 5000,  # files with thousands of shapes open slowly
        )
    ax.set(xticks=[], yticks=[])
    ax.set_xlabel("".join(layout.axes[:1]), fontsize=9)
    ax.set_ylabel("".join(layout.axes[1:2]), fontsize=9)
    strip_spines(ax, ("top", "right", "bottom", "left") if layout.wheel is not None else ("top", "right"))
    listed = len(names) <= _LISTED
    if listed and line:
        ax.set_yticks(range(len(names)), [plain(group) for group in all_shortened(names)], fontsize=9)
        ax.set_ylim(len(names) - 0.5, -0.5)
    elif listed:
        _add_legend(ax, kind, names)
    note = "" if listed else ", too many for a legend"
    headline(ax, layout.title, f"{counted(n, 'sample')}, {counted(len(names), kind)}{note}")
    return ax


def _groups(model: BaseEstimator, labels: npt.ArrayLike | None, n: int) -> tuple[str, Array, npt.NDArray[np.intp]]:
    if labels is None:
        kind, names, codes = groups(model)
    else:
        ordered = in_sample_order(labels, getattr(model, "sample_names_", None), "labels")
        kind, (names, codes) = "label", encode_labels(ordered, "labels")
    if len(codes) != n:
        msg = (
            f"The model's embedding has {counted(n, 'sample')}, got {counted(len(codes), 'label')}: pass one label per "
            "sample."
        )
        raise InvalidInputError(msg)
    return kind, names, codes


def _draw_wheel(ax: Axes, classes: Array) -> None:
    rim = corners(200)[[*range(200), 0]]
    ax.plot(rim[:, 0], rim[:, 1], color="#BBBBBB", linewidth=0.8, zorder=0)
    for name, (x, y) in zip(all_shortened(classes), corners(len(classes)), strict=True):
        ax.plot([0, x], [0, y], color="#E5E5E5", linewidth=0.8, zorder=0)
        if len(classes) <= 3 * _LISTED:
            side = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
            ax.text(1.06 * x, 1.06 * y, plain(name), ha=side, va="center", fontsize=9, color=GREY)
    ax.set_aspect("equal")
    ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))


def _add_legend(ax: Axes, title: str, names: Array) -> None:
    legend = ax.legend(
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        frameon=False,
        fontsize=9,
        title_fontsize=9,
        markerscale=1.5,
        handletextpad=0.2,
        borderaxespad=0,
    )
    legend.set_alignment("left")
    for text, name in zip(legend.get_texts(), all_shortened(names), strict=True):
        text.set_text(plain(name))
