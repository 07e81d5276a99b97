"""Scores of several methods on several data sets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from kernelweave._types import Array
from kernelweave.errors import InvalidInputError
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Columns", "plot_comparison"]


class Columns(Protocol):
    """A table whose columns are found by name: a data frame, or a mapping of names to columns."""

    def __getitem__(self, name: str, /) -> object:
        """Return a column."""

    def __iter__(self) -> Iterator[object]:
        """Iterate over the columns or their names."""


def plot_comparison(
    table: Columns,
    *,
    value: str,
    method: str = "method",
    dataset: str = "dataset",
    reference: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of every method as a dot, in one row per data set.

    Parameters
    ----------
    table : DataFrame or mapping of columns
        One row per run; a pandas or polars data frame, or a dict of arrays.
    value : str
        The column with the score.
    method, dataset : str, default="method" and "dataset"
        The columns with the names of the methods and of the data sets.
    reference : str or None, default=None
        A column with another score of the same run, for example the published one; drawn as a hollow marker.
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure that fits the number of data sets.

    Returns
    -------
    ax : matplotlib Axes
        The axes with the picture.

    Raises
    ------
    InvalidInputError
        If a column is missing, or the scores hold no number.

    Notes
    -----
    Methods and data sets keep the order of the table. The dot is the mean of several runs, and a line joins the
    smallest and the largest. Rows without a score are left out.
    """
    if not hasattr(table, "__getitem__"):
        msg = f"plot_comparison draws a table with the column {value!r} of scores; got {type(table).__name__}."
        raise InvalidInputError(msg)
    columns = [_column(table, name) for name in (dataset, method)]
    scores = _numbers(table, value)
    references = None if reference is None else _numbers(table, reference)
    if not np.isfinite(scores).any():
        msg = f"The column {value!r} holds no number, so there is nothing to draw: pass a column with scores."
        raise InvalidInputError(msg)
    (datasets, row), (methods, which) = (_in_order(column) for column in columns)
    if ax is None:
        ax = new_axes(7.2, 1.4 + 0.42 * len(datasets))

    rows = np.arange(len(datasets))
    ax.hlines(rows, 0, 1, transform=ax.get_yaxis_transform(), color="#E5E5E5", linewidth=1, zorder=0)
    for m, name in enumerate(methods):
        style: dict[str, Any] = {"color": COLOURS[m % len(COLOURS)], "marker": MARKERS[m % len(MARKERS)]}
        shift = 0.22 * (2 * (m + 0.5) / len(methods) - 1)  # so that equal scores of two methods do not overlap
        for d in rows:
            runs = scores[(row == d) & (which == m) & np.isfinite(scores)]
            if len(runs) > 1:
                ax.plot([runs.min(), runs.max()], [d + shift] * 2, color=style["color"], linewidth=1.2)
        means = [_mean(scores[(row == d) & (which == m)]) for d in rows]
        ax.plot(means, rows + shift, linestyle="none", markersize=6, label=str(name), **style)
        if references is not None:
            known = [_mean(references[(row == d) & (which == m)]) for d in rows]
            ax.plot(known, rows + shift, linestyle="none", markersize=8, markerfacecolor="none", **style)
    ax.set_yticks(rows, [plain(name) for name in all_shortened(datasets, 24)], fontsize=9)
    ax.set_ylim(len(datasets) - 0.5, -0.5)
    ax.set_xlabel(plain(value), fontsize=9)
    ax.tick_params(axis="x", labelsize=9, colors=GREY)
    ax.tick_params(axis="y", length=0)
    strip_spines(ax, ("top", "right", "left"))
    legend = ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=9, borderaxespad=0)
    for text, name in zip(legend.get_texts(), all_shortened(methods, 28), strict=True):
        text.set_text(plain(name))
    hollow = "" if reference is None else f" (hollow: {reference})"
    headline(
        ax, f"Comparison by {value}", f"{counted(len(datasets), 'data set')}, {counted(len(methods), 'method')}{hollow}"
    )
    return ax


def _column(table: Columns, name: str) -> Array:
    try:
        return np.asarray(table[name])
    except Exception as error:  # each kind of table raises its own error
        known = ", ".join(map(repr, getattr(table, "columns", table)))
        msg = f"The table has no column {name!r}; choose one of {known}."
        raise InvalidInputError(msg) from error


def _numbers(table: Columns, name: str) -> npt.NDArray[np.float64]:
    column = _column(table, name)
    try:
        return np.array([np.nan if entry is None else entry for entry in column], dtype=float)
    except (TypeError, ValueError) as error:
        msg = f"The column {name!r} must hold numbers: {error}."
        raise InvalidInputError(msg) from error


def _in_order(column: Array) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """Return the distinct entries in the order of their first appearance, and the position of each entry in them."""
    position = {entry: i for i, entry in enumerate(dict.fromkeys(column.tolist()))}
    return list(position), np.array([position[entry] for entry in column.tolist()], dtype=np.intp)


def _mean(values: npt.NDArray[np.float64]) -> float:
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else float("nan")
