"""The pictures made of cells and rows: the graph, features, counts, and quantiles of every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from kernelweave._types import Labels, Vector
from kernelweave.explain import Explanation
from kernelweave.plots._fitted import groups
from kernelweave.plots._style import COLOURS, GREY, INK, all_shortened, ink_on, shortened
from kernelweave.plots.graph import mean_edges
from kernelweave.report._cards import shown_date
from kernelweave.report._svg import PT, Drawing, Image, Scale, png, shades, text_width

__all__ = ["counts_picture", "feature_picture", "graph_picture", "histogram_picture", "rows_picture"]

_SIDE = 750  # cells of a graph per side; several samples share a cell in larger graphs
_UPPER = 95  # percentile of the edges where the scale of colours ends, so that a few heavy edges do not set it
_EDGES = ("#FFFFFF", COLOURS[0], "#00243A")
_ABOVE_BELOW = ("#053061", "#4393C3", "#F7F7F7", "#D6604D", "#67001F")  # blue is below the mean, red above
_SHARES = ("#F7FBFF", "#6BAED6", "#08306B")
_STRONGEST = 2.0  # standard deviations at the ends of the scale
_NUMBERED = 400  # cells up to which each has its number
_GRID = "#E4E4E4"
_NARROW = 19.0  # points; narrower cells hold no number
_DATES = 4  # beside each other on an axis


def graph_picture(model: BaseEstimator, kind: str) -> Image:
    """Return the graph as an image with the samples sorted by group, and the scale of its colours."""
    _, names, codes = groups(model)
    n = len(codes)
    block = -(-n // _SIDE)
    image = mean_edges(model.graph_, np.argsort(codes, kind="stable"), block)
    positive = image[image > 0]
    upper = float(np.percentile(positive, _UPPER)) if positive.size else 1.0
    side = 4.6 * PT - 24
    labels = all_shortened(names)
    left = 24 + text_width(labels)
    drawing = Drawing((left + side + 68) / PT, 4.6)
    scale = Scale(0, n, left, left + side)
    last = float(scale(block * len(image))) - left  # the last cell may stand for fewer samples than the others
    drawing.picture(left, 2, last, last, png(image / upper, _EDGES), cells=len(image) < side)
    _mark_groups(drawing, labels, np.bincount(codes), scale)
    drawing.text(8, 2 + side / 2, kind, INK, anchor="middle", turn=-90)
    shared = "" if block == 1 else f" (each cell: the mean of {block} × {block})"
    drawing.text(left + side / 2, 2 + side + 12, f"samples, sorted by {kind}{shared}", INK, anchor="middle")
    _colour_bar(drawing, left + side + 10, 2, side, Scale(0, upper, 2 + side, 2), _EDGES, "weight of the edge")
    return drawing.finished()


def _mark_groups(drawing: Drawing, labels: Sequence[str], sizes: Labels, scale: Scale) -> None:
    ends = np.cumsum(sizes)
    left, right = scale.start, scale.end
    for border in scale(ends[:-1]):
        drawing.line((left, right), (border - left + 2, border - left + 2), COLOURS[1], 0.4)
        drawing.line((border, border), (2, right - left + 2), COLOURS[1], 0.4)
    heights = scale(ends - sizes / 2) - left + 2
    for label, height, room in zip(labels, heights, scale(sizes) - left, strict=True):
        if room >= 11:
            drawing.text(left - 5, height, label, INK, anchor="end")


def _colour_bar(
    drawing: Drawing, x: float, y: float, height: float, scale: Scale, stops: Sequence[str], name: str
) -> None:
    drawing.picture(x, y, 10, height, png(np.linspace(1, 0, 64)[:, None], stops))
    for place, text in scale.ticks():
        drawing.text(x + 14, max(place, 6.0), text)  # whole at the upper edge too
    middle = max(y + height / 2, text_width([name]) / 2 + 2)  # whole beside a short bar too
    drawing.text(drawing.width - 6, middle, name, INK, anchor="middle", turn=90)


def feature_picture(explanation: Explanation) -> Image:
    """Return the means of the telling features in every group, in standard deviations, as a heat map."""
    means = explanation.profile.means.T
    rows, columns = means.shape
    drawing = Drawing(max(7.0, min(10.0, 3.6 + 0.4 * columns)), min(14.0, max(1.6, 1.2 + 0.24 * rows)))
    names = all_shortened(explanation.profile.features, 36) if rows <= 60 else []
    texts = [[f"{round(mean, 1) + 0:+.1f}" if np.isfinite(mean) else "" for mean in row] for row in means.tolist()]
    shares = 0.5 + means / (2 * _STRONGEST)
    bottom = _heat_map(drawing, shares, _ABOVE_BELOW, texts, names, explanation.names, (explanation.kind, ""), right=62)
    scale = Scale(-_STRONGEST, _STRONGEST, bottom, 4)
    _colour_bar(drawing, drawing.width - 52, 4, bottom - 4, scale, _ABOVE_BELOW, "standard deviations")
    return drawing.finished()


def counts_picture(
    counts: npt.NDArray[np.intp], rows: Sequence[str], columns: Sequence[str], beneath: str, beside: str
) -> Image:
    """Return counts as a table whose cells are the darker, the larger their share of the row."""
    drawing = Drawing(max(5.2, min(11.0, 2.4 + 0.42 * len(columns))), min(12.0, 1.6 + 0.3 * len(rows)))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    texts = [[f"{count:,}" if count else "" for count in row] for row in counts.tolist()]
    named = all_shortened(rows)
    _heat_map(drawing, shares, _SHARES, texts, named, columns, (shortened(beneath, 40), shortened(beside, 40)))
    return drawing.finished()


def _heat_map(
    drawing: Drawing,
    shares: npt.NDArray[np.float64],
    stops: Sequence[str],
    texts: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    axes: tuple[str, str],
    *,
    right: float = 6,
) -> float:
    """Draw cells with their texts, the names of rows and columns, and of both axes; return where the cells end."""
    n_rows, n_columns = shares.shape
    left = (24 if axes[1] else 6) + min(text_width(rows, 8), 0.45 * drawing.width)
    shown = all_shortened(columns, 14)
    width = (drawing.width - left - right) / n_columns
    turned = text_width(shown, 8) + 4 > width  # names beside each other need a gap
    bottom = drawing.height - 18 - (text_width(shown, 8) + 4 if turned else 14)
    height = (bottom - 4) / n_rows
    numbered = shares.size <= _NUMBERED and width >= _NARROW
    colours = shades(shares, stops)
    for (i, j), share in np.ndenumerate(shares):
        x, y = left + j * width, 4 + i * height
        if not np.isfinite(share):
            continue
        colour = colours[i * n_columns + j]
        drawing.box(x, y, width + 0.3, height + 0.3, colour)
        if numbered and texts[i][j]:
            ink = ink_on([part / 255 for part in bytes.fromhex(colour[1:])])
            drawing.text(x + width / 2, y + height / 2, texts[i][j], ink, anchor="middle", size=7.5)
    for i, name in enumerate(rows):
        drawing.text(left - 5, 4 + (i + 0.5) * height, name, anchor="end", size=8)
    for j in range(0, n_columns, max(1, int(np.ceil(9 / width)))):
        x = left + (j + 0.5) * width
        if turned:
            drawing.text(x, bottom + 4, shown[j], anchor="end", size=8, turn=-90)
        else:
            drawing.text(x, bottom + 9, shown[j], anchor="middle", size=8)
    drawing.text(left + n_columns * width / 2, drawing.height - 8, axes[0], INK, anchor="middle")
    if axes[1]:
        drawing.text(8, (4 + bottom) / 2, axes[1], INK, anchor="middle", turn=-90)
    return bottom


def rows_picture(
    quantiles: npt.NDArray[np.float64],
    names: Sequence[str],
    beneath: str,
    beside: str,
    limits: tuple[float, float],
    *,
    dates: bool = False,
) -> Image:
    """Return a row per group: a dot at the median, a thick line over the middle half, a thin one over all quantiles.

    `quantiles` are in ascending order, with the median in the middle; of dates, in days since 1970.
    """
    drawing = Drawing(5.2, min(12.0, 1.4 + 0.24 * len(names)))
    labels = all_shortened(names)
    x = Scale(*limits, 24 + text_width(labels), drawing.width)
    form: dict[str, Any] = {"whole": True, "written": shown_date} if dates else {}
    x = replace(x, end=x.end - max(10, text_width([text for _, text in x.ticks(**form)]) / 2 + 2))
    rows = Scale(-0.6, len(names) - 0.4, 4, drawing.height - 34)
    ticks = x.ticks(**form)
    _lower_axis(drawing, ticks[:: 2 if dates and len(ticks) > _DATES else 1], x, rows, beneath)
    drawing.text(8, (rows.start + rows.end) / 2, beside, INK, anchor="middle", turn=-90)
    middle = quantiles.shape[1] // 2
    for i, (label, at) in enumerate(zip(labels, x(quantiles), strict=True)):
        y = float(rows(i))
        drawing.text(x.start - 6, y, label, INK, anchor="end")
        drawing.line(at[[0, -1]], (y, y), COLOURS[0])
        drawing.line(at[[middle - 1, middle + 1]], (y, y), COLOURS[0], 4.5)
        drawing.dots(at[[middle]], (y,), 3.2, "#FFFFFF", COLOURS[0])
    return drawing.finished()


def histogram_picture(values: Vector, beneath: str) -> Image:
    """Return a histogram of values between 0 and 1."""
    drawing = Drawing(5.2, 3.4)
    counts, edges = np.histogram(values, bins=20, range=(0, 1))
    y = Scale(0, 1.05 * max(1, int(counts.max())), drawing.height - 34, 6)
    ticks = y.ticks(whole=True)
    x = Scale(0, 1, 22 + text_width([text for _, text in ticks]), drawing.width - 10)
    _lower_axis(drawing, x.ticks(), x, Scale(0, 1, y.end, y.start), beneath)
    for height, text in ticks:
        drawing.text(x.start - 5, height, text, anchor="end")
    drawing.text(8, (y.start + y.end) / 2, "samples", INK, anchor="middle", turn=-90)
    for count, left, right in zip(counts, x(edges[:-1]), x(edges[1:]), strict=True):
        top = float(y(count))
        drawing.box(left + 0.4, top, right - left - 0.8, y.start - top, COLOURS[0])
    return drawing.finished()


def _lower_axis(drawing: Drawing, ticks: Sequence[tuple[float, str]], x: Scale, rows: Scale, name: str) -> None:
    for place, text in ticks:
        drawing.line((place, place), (rows.start, rows.end), _GRID, 0.7)
        drawing.text(place, rows.end + 10, text, anchor="middle")
    drawing.line((x.start, x.end), (rows.end, rows.end), GREY)
    drawing.text((x.start + x.end) / 2, drawing.height - 9, shortened(name, 40), INK, anchor="middle")
