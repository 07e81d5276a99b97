"""Where the model puts the samples, in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelweave.errors import InvalidInputError
from kernelweave.plots._layout import corners, lay_out
from kernelweave.plots._fitted import groups
from kernelweave.plots._style import COLOURS, GREY, MARKERS, counted, headline, new_axes, plain, shortened, strip_spines
from kernelweave.samples.labels import encode_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_embedding"]

_LISTED = 12  # so many groups fit a legend


def plot_embedding(model: Any, *, labels: npt.ArrayLike | None = None, ax: Axes | None = None) -> Axes:
    """Scatter of the samples where the model puts them, coloured by group.

    Parameters
    ----------
    model : estimator
        A fitted model with ``label_distributions_`` (classifiers) or ``embedding_`` (clusterers).
    labels : array-like of shape (n_samples,) or None, default=None
        Groups to colour by, for example the true classes; None takes the model's ``labels_`` or ``transduction_``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure. The legend stands at the right of the axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the model has no embedding, or there are no labels or not one for every sample.

    Notes
    -----
    - ``embedding_`` is drawn in its first two principal directions. Where all are equally long, as for
      orthonormal eigenvectors, no direction is the first: its first two columns that are not constant are
      drawn, which are the smoothest on the graph.
    - ``label_distributions_`` of three classes or more are drawn in a wheel: every class has a spoke, every
      sample is the mean of their ends weighted by its distribution, its distance from the centre drawn as
      the square root, which gives room to the uncertain. Certain samples lie at the rim, undecided ones at the
      centre.
    - Where samples vary in one direction only, the groups stand one above the other.
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
        ax.scatter(
            *Z[codes == k].T,
            s=16,
            color=COLOURS[k % len(COLOURS)],
            marker=MARKERS[k % len(MARKERS)],
            linewidths=0.3,
            edgecolors="white",
            label=f"{kind} {names[k]}",  # matplotlib leaves a label that begins with _ out of the legend
            rasterized=n > 5000,  # a file of many thousand shapes is slow to open
        )
    ax.set(xticks=[], yticks=[])
    for set_label, text in zip((ax.set_xlabel, ax.set_ylabel), layout.axes, strict=False):
        set_label(text, fontsize=9)
    strip_spines(ax, ("top", "right", "bottom", "left") if layout.wheel is not None else ("top", "right"))
    listed = len(names) <= _LISTED
    if listed and line:
        ax.set_yticks(range(len(names)), [plain(shortened(group)) for group in names], fontsize=9)
        ax.set_ylim(len(names) - 0.5, -0.5)
    elif listed:
        _add_legend(ax, kind, names)
    note = "" if listed else ", too many for a legend"
    headline(ax, layout.title, f"{counted(n, 'sample')}, {counted(len(names), kind)}{note}")
    return ax


def _groups(model: Any, labels: npt.ArrayLike | None, n: int) -> tuple[str, npt.NDArray[Any], npt.NDArray[np.intp]]:
    if labels is None:
        return groups(model)
    names, codes = encode_labels(labels, "labels")
    if len(codes) != n:
        msg = f"labels must name the group of each of the model's {n} samples, got {len(codes)}: pass one per sample."
        raise InvalidInputError(msg)
    return "label", names, codes


def _draw_wheel(ax: Axes, classes: Any) -> None:
    ax.plot(*corners(200)[[*range(200), 0]].T, color="#BBBBBB", linewidth=0.8, zorder=0)
    for name, (x, y) in zip(classes, corners(len(classes)), strict=True):
        ax.plot([0, x], [0, y], color="#E5E5E5", linewidth=0.8, zorder=0)
        if len(classes) <= 3 * _LISTED:
            side = "center" if abs(x) < 0.1 else "left" if x > 0 else "right"
            ax.text(1.06 * x, 1.06 * y, plain(shortened(name)), ha=side, va="center", fontsize=9, color=GREY)
    ax.set_aspect("equal")
    ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))


def _add_legend(ax: Axes, title: str, names: npt.NDArray[Any]) -> None:
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
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(plain(shortened(name)))
