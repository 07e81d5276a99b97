"""The confidence of the samples in every group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from kernelweave._types import Array
from kernelweave.errors import InvalidInputError
from kernelweave.plots._fitted import groups, learned
from kernelweave.plots._style import COLOURS, GREY, all_shortened, counted, headline, new_axes, plain, strip_spines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_confidence"]

_ROWS = 40  # up to this number every group has a row; more share one histogram


def plot_confidence(model: BaseEstimator, *, ax: Axes | None = None) -> Axes:
    """Draw the median and spread of the confidence in every group, the least certain group at the bottom.

    Parameters
    ----------
    model : estimator
        A fitted model with ``confidence_`` or ``label_distributions_``, and ``labels_`` or ``transduction_``.
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
        If the model has no confidence, or not one for every sample.

    Notes
    -----
    Without ``confidence_``, the confidence is the largest probability of each sample. The dot is the median, the thick
    line covers the middle half of the samples, the thin line the middle 90 %. With more than 40 groups, one histogram
    of all samples is drawn.
    """
    name, values = learned(model, "confidence_", "label_distributions_")
    values = np.asarray(values, dtype=float)
    values = values.max(axis=1) if name == "label_distributions_" else values
    kind, names, codes = groups(model)
    if values.shape != codes.shape:
        n = counted(len(codes), "sample")
        msg = f"{name} must hold one number for each of the {n}, got shape {values.shape}: fit the model again."
        raise InvalidInputError(msg)
    rows = len(names) <= _ROWS
    if ax is None:
        ax = new_axes(6.4, 1.5 + 0.24 * len(names) if rows else 3.6)
    if rows:
        _draw_rows(ax, names, codes, values)
        ax.set_ylabel(kind, fontsize=9)
    else:
        ax.hist(values, bins=20, range=(0, 1), color=COLOURS[0], edgecolor="white", linewidth=0.5)
        ax.set_ylabel("samples", fontsize=9)
    ax.set_xlim(0, 1.02)
    ax.set_xlabel("confidence", fontsize=9)
    ax.tick_params(labelsize=9, colors=GREY)
    strip_spines(ax, ("top", "right", "left") if rows else ("top", "right"))
    headline(ax, "Confidence", f"{counted(len(values), 'sample')}, {counted(len(names), kind)}")
    return ax


def _draw_rows(ax: Axes, names: Array, codes: npt.NDArray[np.intp], values: npt.NDArray[np.float64]) -> None:
    quantiles = np.array([np.quantile(values[codes == k], (0.05, 0.25, 0.5, 0.75, 0.95)) for k in range(len(names))])
    order = np.lexsort((np.arange(len(names)), -quantiles[:, 2]))
    quantiles, rows = quantiles[order], np.arange(len(names))
    ax.hlines(rows, quantiles[:, 0], quantiles[:, 4], color=COLOURS[0], linewidth=1)
    ax.hlines(rows, quantiles[:, 1], quantiles[:, 3], color=COLOURS[0], linewidth=4)
    ax.plot(
        quantiles[:, 2], rows, linestyle="none", marker="o", color="white", markeredgecolor=COLOURS[0], markersize=6
    )
    ax.set_yticks(rows, [plain(name) for name in all_shortened(names[order])], fontsize=9)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="x", color="#EEEEEE", linewidth=0.8)
    ax.set_axisbelow(True)
