"""How many samples two groupings share: clusters and metadata, or two clusterings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernelweave.errors import InvalidInputError
from kernelweave.plots._style import (
    COLOURS,
    GREY,
    all_shortened,
    columns,
    headline,
    ink_on,
    new_axes,
    plain,
    shortened,
    show_dates,
    strip_spines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kernelweave.explain import Associations, Comparison

__all__ = ["plot_contingency", "plot_metadata"]

_BESIDE = 4  # letters of the longest name up to which the names of all columns lie beside each other
_NUMBERED = 400  # cells up to which every cell holds its count


def plot_contingency(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw how two clusterings of the same samples overlap: the darker a cell, the larger its share of the row.

    Parameters
    ----------
    comparison : Comparison
        The result of `kernelweave.explain.compare_clusterings`.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    InvalidInputError
        If `comparison` is not a result of `compare_clusterings`.
    """
    if not hasattr(comparison, "ari"):
        msg = f"plot_contingency draws a result of compare_clusterings; got {type(comparison).__name__}."
        raise InvalidInputError(msg)
    if ax is None:
        ax = _axes_for(comparison.counts.shape, comparison.columns)
    _draw(ax, comparison.counts, comparison.rows, comparison.columns)
    ax.set_ylabel(plain(shortened(comparison.names[0], 40)), fontsize=9)
    ax.set_xlabel(plain(shortened(comparison.names[1], 40)), fontsize=9)
    text = f"adjusted Rand index {comparison.ari:.2f}, normalised mutual information {comparison.nmi:.2f}"
    headline(ax, "Two clusterings", text)
    return ax


def plot_metadata(associations: Associations, column: str, *, ax: Axes | None = None) -> Axes:
    """Draw a column of metadata beside the clusters: counts of categories, or quartiles of a number.

    Parameters
    ----------
    associations : Associations
        The result of `kernelweave.explain.associate`.
    column : str
        The column.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    InvalidInputError
        If `associations` is not a result of `associate`, or has no such column.
    """
    every = getattr(associations, "columns", None)
    if every is None or not hasattr(associations, "names"):
        msg = f"plot_metadata draws a result of associate; got {type(associations).__name__}."
        raise InvalidInputError(msg)
    found = next((each for each in every if each.name == column), None)
    if found is None:
        msg = f"There is no column {column!r}; there are {', '.join(repr(each.name) for each in every)}."
        raise InvalidInputError(msg)
    if ax is None:
        counts = found.type == "category"
        ax = _axes_for(found.cells.shape, found.levels) if counts else _axes_for((len(found.cells), 6))
    if found.type == "category":
        _draw(ax, found.cells.astype(int), associations.names, found.levels)
        ax.set_xlabel(plain(shortened(column, 40)), fontsize=9)
    else:
        _draw_quartiles(ax, found.cells, associations.names)
        if found.type == "date":
            show_dates(ax)
        ax.set_xlabel(plain(shortened(column, 40)), fontsize=9)
    ax.set_ylabel(associations.kind, fontsize=9)
    headline(ax, shortened(column, 40), f"{found.measure} {found.value:.2f}, p = {found.p_value:.3g}")
    return ax


def _axes_for(shape: tuple[int, ...], below: tuple[str, ...] = ()) -> Axes:
    turned = 0.07 * _longest(below) if _are_turned(below) else 0.0
    return new_axes(min(12.0, 2.8 + 0.5 * shape[1]), min(12.0, 1.8 + 0.32 * shape[0] + turned))


def _longest(below: tuple[str, ...]) -> int:
    return max(map(columns, all_shortened(below)), default=0)


def _are_turned(below: tuple[str, ...]) -> bool:
    """Return whether the names of the columns are too long to lie beside each other."""
    return len(below) > 1 and _longest(below) > _BESIDE


def _draw(ax: Axes, counts: npt.NDArray[np.intp], rows: tuple[str, ...], below: tuple[str, ...]) -> None:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set_yticks(range(len(rows)), [plain(name) for name in all_shortened(rows)], fontsize=8)
    turned = 90 if _are_turned(below) else 0
    ax.set_xticks(range(len(below)), [plain(name) for name in all_shortened(below)], fontsize=8, rotation=turned)
    ax.tick_params(length=0, colors=GREY)
    strip_spines(ax, ("top", "right", "bottom", "left"))
    if counts.size > _NUMBERED:
        return
    colours = image.to_rgba(shares)
    for (i, j), count in np.ndenumerate(counts):
        if count:
            ax.text(j, i, f"{count:,}", ha="center", va="center", fontsize=8, color=ink_on(colours[i, j]))


def _draw_quartiles(ax: Axes, cells: npt.NDArray[np.float64], names: tuple[str, ...]) -> None:
    rows = np.arange(len(cells))
    ax.hlines(rows, cells[:, 0], cells[:, 2], color=COLOURS[0], linewidth=5)
    ax.plot(cells[:, 1], rows, linestyle="none", marker="o", color="white", markeredgecolor=COLOURS[0])
    ax.set_yticks(rows, [plain(name) for name in all_shortened(names)], fontsize=8)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.tick_params(labelsize=8, colors=GREY)
    ax.grid(axis="x", color="#EEEEEE", linewidth=0.8)
    ax.set_axisbelow(True)
    strip_spines(ax, ("top", "right", "left"))
