"""One picture per table: the published figures against ours, with a panel for each method."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from kernelweave.experiments.cells import NEAR, compared
from kernelweave.experiments.published import Published
from kernelweave.experiments.selection import Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_comparison"]

_METRIC = "acc"
_COLUMNS = 4
_SIDE = 2.6  # inches


def draw_comparison(cells: Sequence[Cell], published: Published) -> bytes:
    """Return a PNG with published figures against ours.

    Parameters
    ----------
    cells : sequence of Cell
        The cells of the table.
    published : Published
        The table of the paper.

    Returns
    -------
    png : bytes
        A panel per method of the paper, a point per data set and share of labels, the diagonal, and a band of the
        differences that count as a match. A cell without a setting that converged is hollow.
    """
    import matplotlib.pyplot as plt

    methods = list(dict.fromkeys(figure.method for figure in published.figures if figure.method))
    datasets = list(dict.fromkeys(figure.dataset for figure in published.figures))
    rows = -(-len(methods) // _COLUMNS)
    size = (_SIDE * min(_COLUMNS, len(methods)), _SIDE * rows)
    figure, axes = plt.subplots(
        rows, min(_COLUMNS, len(methods)), figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for ax, method in zip(axes.flat, methods, strict=False):
        _panel(ax, [cell for cell in cells if cell.method == method], published, datasets)
        ax.set_title(method, fontsize=10)
    for ax in axes.flat[len(methods) :]:
        ax.set_visible(False)
    figure.supxlabel(f"published {_METRIC.upper()}", fontsize=10)
    figure.supylabel(f"{_METRIC.upper()} here", fontsize=10)
    marks = [axes[0, 0].scatter([], [], s=22, color=f"C{i}", label=name.upper()) for i, name in enumerate(datasets)]
    figure.legend(handles=marks, loc="upper center", ncols=len(datasets), fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    buffer = BytesIO()
    # no metadata, so that the same rows give the same bytes
    figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    plt.close(figure)
    return buffer.getvalue()


def _panel(ax: Axes, cells: Sequence[Cell], published: Published, datasets: list[str]) -> None:
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
    ax.fill_between([0, 1], [-NEAR, 1 - NEAR], [NEAR, 1 + NEAR], color="0.9", linewidth=0)
    for cell in cells:
        apart = compared(cell, _METRIC, published)
        if apart is None:
            continue
        ours = cell.scores[_METRIC].mean
        colour = f"C{datasets.index(cell.dataset)}"
        ax.scatter(ours - apart, ours, s=22, edgecolors=colour, facecolors=colour if cell.settled else "none")
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_aspect("equal")
