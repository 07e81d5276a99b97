"""The learned graph as an image, sorted by group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator

from kernelweave._types import Array, Graph
from kernelweave.errors import InvalidInputError
from kernelweave.plots._fitted import groups, learned
from kernelweave.plots._style import COLOURS, GREY, INK, all_shortened, counted, headline, new_axes, plain, strip_spines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

__all__ = ["mean_edges", "plot_graph"]

_MAX_SAMPLES = 1500  # above this number, several samples share a cell
_MAX_CELLS = 1000  # cells per side, about the resolution of a printed column
_UPPER = 95  # percentile of the positive edges where the colour scale ends, so that a few heavy edges do not set it


def plot_graph(model: BaseEstimator, *, ax: Axes | None = None) -> Axes:
    """Draw the learned graph as an image with the samples sorted by group.

    Parameters
    ----------
    model : estimator
        A fitted model with ``graph_``, dense or sparse, and ``labels_`` or ``transduction_``.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure. The colour bar is to the right of the axes.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the model has no graph of its samples, or no groups to sort it by.

    Notes
    -----
    A good graph is dark in the squares on the diagonal and white elsewhere. The weights of samples with themselves are
    not drawn. The colour scale ends at the 95th percentile of the positive edges. With more than 1500 samples,
    neighbours in the sorted order share a cell, which shows their mean edge; a sparse graph is not made dense for it.
    """
    S = learned(model, "graph_")[1]
    kind, names, codes = groups(model)
    n = len(codes)
    if S.shape != (n, n):
        msg = f"graph_ must join the model's {counted(n, 'sample')}, got shape {S.shape}: fit the model again."
        raise InvalidInputError(msg)
    block = 1 if n <= _MAX_SAMPLES else -(-n // _MAX_CELLS)
    image = mean_edges(S, np.argsort(codes, kind="stable"), block)
    if ax is None:
        ax = new_axes(7.0, 5.2)

    edge = block * len(image) - 0.5  # in samples; the last cell may be partly empty, which the limits below cut off
    positive = image[image > 0]
    upper = float(np.percentile(positive, _UPPER)) if positive.size else 1.0
    drawn = ax.imshow(image, cmap=_colours(), vmin=0, vmax=upper, extent=(-0.5, edge, edge, -0.5))
    ax.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5))
    _mark_groups(ax, names, np.bincount(codes))
    beside = ax.inset_axes((1.03, 0, 0.045, 1))  # has the height of the image in any layout
    bar = ax.figure.colorbar(drawn, cax=beside, extend="max" if (positive > upper).any() else "neither")
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9, colors=GREY)
    bar.set_label("weight of the edge" if block == 1 else "mean weight of the edges", fontsize=9)
    cells = "" if block == 1 else f" (each cell: the mean of {block} × {block})"
    ax.set_xlabel(f"samples, sorted by {kind}{cells}", fontsize=9)
    ax.set_ylabel(kind, fontsize=9)
    headline(ax, "Learned graph", f"{counted(n, 'sample')}, {counted(len(names), kind)}")
    return ax


def mean_edges(S: Graph, order: npt.NDArray[np.intp], block: int) -> npt.NDArray[np.float64]:
    """Return the mean edge between every two cells of `block` samples in this order, without the diagonal of S."""
    n = len(order)
    cell = np.arange(n) // block
    member = sparse.csr_array((np.ones(n), (cell, order)), shape=(cell[-1] + 1, n))
    sums = member @ S @ member.T
    sums = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
    sums.flat[:: len(sums) + 1] -= member @ S.diagonal()
    size = np.bincount(cell)
    pairs = np.outer(size, size) - np.diag(size)
    mean = np.full(sums.shape, np.nan)
    np.divide(np.maximum(sums, 0), pairs, out=mean, where=pairs > 0)
    return mean


def _mark_groups(ax: Axes, names: Array, sizes: npt.NDArray[np.intp]) -> None:
    ends = np.cumsum(sizes)
    width = 0.5 if len(names) <= 40 else 0.2
    for border in ends[:-1] - 0.5:
        ax.axhline(border, color=COLOURS[1], linewidth=width, alpha=0.7)
        ax.axvline(border, color=COLOURS[1], linewidth=width, alpha=0.7)
    line = 12 / (72 * ax.bbox.height / ax.figure.dpi)  # height of a line of text, as a share of the axes
    room = sizes >= line * ends[-1]
    labels = [plain(name) for name in all_shortened(names[room])]
    ax.set_yticks((ends - sizes / 2 - 0.5)[room], labels, fontsize=9, color=INK)
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    strip_spines(ax, ("top", "right", "bottom", "left"))


def _colours() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("edges", ["white", COLOURS[0], "#00243A"])
    return colours.with_extremes(bad="white")
