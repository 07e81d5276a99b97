"""The pictures with two axes: the spectrum, the evidence for each number of clusters, and the convergence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kernelweave._types import Vector
from kernelweave.plots._style import COLOURS, GREY, INK
from kernelweave.report._svg import Drawing, Image, Scale, text_width

if TYPE_CHECKING:
    from kernelweave.select import ClusterEvidence
    from kernelweave.solve import History

__all__ = ["convergence_picture", "evidence_picture", "spectrum_picture"]

_GRID = "#E4E4E4"
_MARKED = 40  # points of a line up to which each has a dot
_WIDE = 30  # ratio of the largest to the smallest value from which an axis is logarithmic


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    values: npt.NDArray[np.float64]
    colour: str
    dashed: bool = False
    width: float = 1.4


def spectrum_picture(values: Vector, c: int) -> Image:
    """Return the smallest eigenvalues, with the gap after number c."""
    drawing = Drawing(5.2, 3.4)
    low, high = min(0.0, float(values.min())), 1.08 * float(values.max()) or 1.0
    x, y = _axes(drawing, (0.4, len(values) + 0.6), (low, high), "number of the eigenvalue", "eigenvalue")
    if 0 < c < len(values):
        bottom, top = y(values[[c - 1, c]])
        drawing.box(x.start, top, x.end - x.start, bottom - top, COLOURS[1], 0.15)
        drawing.text(x.start + 6, (top + bottom) / 2, f"gap {values[c] - values[c - 1]:.2g}", INK)
    at, heights = x(np.arange(1, len(values) + 1)), y(values)
    for place, height in zip(at, heights, strict=True):
        drawing.line((place, place), (float(y(0)), height), _GRID)
    drawing.dots(at[:c], heights[:c], 3, COLOURS[0], COLOURS[0])
    drawing.dots(at[c:], heights[c:], 3, "#FFFFFF", COLOURS[0])
    return drawing.finished()


def evidence_picture(evidence: ClusterEvidence) -> Image:
    """Return the agreement by number of clusters and what decides; the chosen number has a dotted line."""
    drawing = Drawing(5.2, 3.4)
    lines = [_Line("agreement", evidence.agreement, COLOURS[0])]
    if np.isfinite(evidence.chance).any():
        lines.append(_Line("without structure", evidence.chance, COLOURS[0], dashed=True))
    decisive = [_Line(name, values, COLOURS[1 + i]) for i, (name, values, _) in enumerate(evidence.curves)]
    enough = [value for *_, value in evidence.curves]
    numbers = evidence.n_clusters
    known = np.concatenate([line.values[np.isfinite(line.values)] for line in lines])
    between = (float(min(numbers.min(), evidence.chosen)) - 0.5, float(max(numbers.max(), evidence.chosen)) + 0.5)
    x, y = _axes(
        drawing,
        between,
        (min(0.0, known.min(initial=0)), 1.02),
        "number of clusters",
        "agreement",
        legend=1,
        right=True,
    )
    drawn = np.concatenate([line.values[np.isfinite(line.values)] for line in decisive])
    other = Scale(drawn.min(initial=0), 1.1 * drawn.max(initial=max(enough)), y.start, y.end)
    _right_axis(drawing, x, other, evidence.measured)
    chosen = float(x(evidence.chosen))
    drawing.line((chosen, chosen), (y.start, y.end), GREY, dashed=True)
    for line, limit in zip(decisive, enough, strict=True):
        drawing.line((x.start, x.end), (float(other(limit)),) * 2, line.colour, 0.7, dashed=True)
    for line, scale in [(each, y) for each in lines] + [(each, other) for each in decisive]:
        _draw_line(drawing, line, x(numbers), scale)
    _legend(drawing, [*lines, *decisive], x)
    return drawing.finished()


def convergence_picture(history: History) -> Image:
    """Return the objective and its terms by iteration, and the change of the graph on an axis of its own."""
    total = _Line(f"total {history.objective[-1]:.3g}", np.asarray(history.objective), "#BBBBBB", width=4)
    terms = [
        _Line(f"{name} {values[-1]:.3g}", np.asarray(values), COLOURS[i % len(COLOURS)])
        for i, (name, values) in enumerate(history.terms.items())
    ]
    change = _Line("change of the graph", np.asarray(history.change), GREY, dashed=True)
    values = np.concatenate([line.values[np.isfinite(line.values)] for line in (total, *terms)])
    drawing = Drawing(6.2, 3.9)
    x, y = _axes(
        drawing,
        (0.5, len(history) + 0.5),
        _limits(values),
        "iteration",
        "objective and its terms",
        legend=2,
        right=True,
        log=_is_wide(values),
    )
    changes = change.values[np.isfinite(change.values)]
    log = bool((changes > 0).any())
    shown = changes[changes > 0] if log else changes
    other = Scale(*_limits(shown), y.start, y.end, log)
    _right_axis(drawing, x, other, "relative change of the graph")
    at = x(np.arange(1, len(history) + 1))
    for line in (total, *terms):
        _draw_line(drawing, line, at, y)
    _draw_line(drawing, change, at, other)
    _legend(drawing, [total, *terms, change], x)
    return drawing.finished()


def _is_wide(values: Vector) -> bool:
    return bool(values.size and values.min() > 0 and values.max() > _WIDE * values.min())


def _limits(values: Vector) -> tuple[float, float]:
    """Return limits that hold all values, with a margin; a logarithmic axis stays above 0."""
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if _is_wide(values) or low == high > 0:
        return low / 1.2, high * 1.2
    margin = 0.05 * (high - low) or 1.0
    return (low - margin if low - margin > 0 or low <= 0 else low / 2), high + margin


def _axes(
    drawing: Drawing,
    across: tuple[float, float],
    up: tuple[float, float],
    below: str,
    beside: str,
    *,
    legend: int = 0,
    right: bool = False,
    log: bool = False,
) -> tuple[Scale, Scale]:
    """Draw the lower and the left axis; return the scales. `legend` is a number of lines above, `right` leaves room."""
    top, bottom = 8.0 + 14 * legend, drawing.height - 34
    y = Scale(*up, bottom, top, log)
    ticks = y.ticks()
    left = 22 + text_width([text for _, text in ticks])
    x = Scale(*across, left, drawing.width - (56 if right else 8))
    for height, text in ticks:
        drawing.line((left, x.end), (height, height), _GRID, 0.7)
        drawing.text(left - 5, height, text, anchor="end")
    for place, text in x.ticks(whole=True):
        drawing.text(place, bottom + 10, text, anchor="middle")
    drawing.line((left, x.end), (bottom, bottom), GREY)
    drawing.text((left + x.end) / 2, drawing.height - 9, below, INK, anchor="middle")
    drawing.text(8, (top + bottom) / 2, beside, INK, anchor="middle", turn=-90)
    return x, y


def _right_axis(drawing: Drawing, x: Scale, y: Scale, beside: str) -> None:
    drawing.line((x.end, x.end), (y.start, y.end), GREY)
    for height, text in y.ticks():
        drawing.text(x.end + 5, height, text)
    drawing.text(drawing.width - 7, (y.start + y.end) / 2, beside, INK, anchor="middle", turn=90)


def _draw_line(drawing: Drawing, line: _Line, at: Vector, scale: Scale) -> None:
    known = np.isfinite(line.values)
    at, heights = at[known], scale(line.values[known])
    drawing.line(at, heights, line.colour, line.width, dashed=line.dashed)
    if len(at) <= _MARKED:
        drawing.dots(at, heights, 2, line.colour, line.colour)


def _legend(drawing: Drawing, lines: Sequence[_Line], x: Scale) -> None:
    """Name the lines above the picture, in as many rows as they need."""
    left, height = x.start, 8.0
    for line in lines:
        needed = 24 + text_width([line.name]) + 12
        if left > x.start and left + needed > drawing.width:
            left, height = x.start, height + 13
        drawing.line((left, left + 18), (height, height), line.colour, line.width, dashed=line.dashed)
        drawing.text(left + 23, height, line.name)
        left += needed
