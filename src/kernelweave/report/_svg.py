"""Drawing as SVG text, without matplotlib: importing matplotlib takes longer than drawing all pictures of a page."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from kernelweave._types import Vector
from kernelweave.plots._style import GREY, columns

__all__ = ["PT", "Drawing", "Image", "Scale", "png", "shades", "text_width"]

PT = 72  # points per inch; every length of a drawing is in points
_TEXT = 9  # points
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TICKS = 6  # at most so many on an axis


@dataclass(frozen=True, slots=True)
class Image:
    """The data URI of a picture, and its width in inches, at which its text has the size that it was drawn with."""

    address: str
    width: float


class Drawing:
    """A picture of some width and height in inches; positions are in points from its upper left corner."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width * PT, height * PT
        self._parts: list[str] = []

    def line(
        self, xs: Iterable[float], ys: Iterable[float], colour: str, width: float = 1, *, dashed: bool = False
    ) -> None:
        """Draw a line through points; it is broken where a point is not finite."""
        points = [(x, y) if np.isfinite(x + y) else None for x, y in zip(xs, ys, strict=True)]
        path, pen = "", "M"
        for point in points:
            path += "" if point is None else f"{pen}{point[0]:.1f} {point[1]:.1f}"
            pen = "M" if point is None else "L"
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        self._parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashes}/>')

    def box(self, x: float, y: float, width: float, height: float, colour: str, opacity: float = 1) -> None:
        """Fill a rectangle."""
        faint = "" if opacity == 1 else f' opacity="{opacity:g}"'
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"{faint}/>'
        )

    def dots(self, xs: Iterable[float], ys: Iterable[float], radius: float, colour: str, edge: str) -> None:
        """Draw a circle at every point that is finite."""
        for x, y in zip(xs, ys, strict=True):
            if np.isfinite(x + y):
                self._parts.append(
                    f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}" stroke="{edge}"/>'
                )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        colour: str = GREY,
        *,
        anchor: str = "start",
        size: float = _TEXT,
        turn: int = 0,
    ) -> None:
        """Write a text whose middle line is at y; `anchor` is start, middle or end, `turn` an angle in degrees."""
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y + 0.35 * size:.1f}" fill="{colour}" font-size="{size:g}" '
            f'text-anchor="{anchor}"{turned}>{escape(_NOT_XML.sub("�", text))}</text>'
        )

    def picture(self, x: float, y: float, width: float, height: float, content: bytes, *, cells: bool = False) -> None:
        """Place a PNG image, stretched to a rectangle; `cells` keeps the edges of its pixels sharp."""
        sharp = ' image-rendering="pixelated"' if cells else ""
        address = f"data:image/png;base64,{base64.b64encode(content).decode()}"
        self._parts.append(
            f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" preserveAspectRatio="none" '
            f'href="{address}"{sharp}/>'
        )

    def finished(self) -> Image:
        """Return the picture as a data URI."""
        text = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}pt" height="{self.height:g}pt" font-family="system-ui, sans-serif">'
            f"{''.join(self._parts)}</svg>"
        )
        return Image(f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}", self.width / PT)


@dataclass(frozen=True, slots=True)
class Scale:
    """Positions of values on an axis: `low` lies at `start`, `high` at `end`, both in points."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, values: npt.ArrayLike) -> Vector:
        """Return the positions; NaN for values that a logarithmic axis does not have."""
        low, high, given = self.low, self.high, np.asarray(values, dtype=float)
        if self.log:
            low, high = np.log10([low, high]).tolist()
            given = np.log10(given, out=np.full(given.shape, np.nan), where=given > 0)
        return np.asarray(self.start + (given - low) * (self.end - self.start) / (high - low or 1.0))

    def ticks(self, *, whole: bool = False, written: Callable[[float], str] | None = None) -> list[tuple[float, str]]:
        """Return round values, at their positions, and how they are written."""
        values = _decades(self.low, self.high) if self.log else _round_values(self.low, self.high, whole=whole)
        return list(zip(self(values).tolist(), map(written or _written, values), strict=True))


def _round_values(low: float, high: float, *, whole: bool) -> list[float]:
    rough = (high - low) / _TICKS or 1.0
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    step = max(1.0, step) if whole else step
    return [float(k * step) for k in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]


def _decades(low: float, high: float) -> list[float]:
    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    return [10.0**k for k in range(first, last + 1, 1 + (last - first) // _TICKS)] or [low]


def _written(value: float) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.6g}" if abs(value) >= 1e-4 else f"{value:.0g}"


def text_width(texts: Sequence[str], size: float = _TEXT) -> float:
    """Return about how wide the longest of some texts is."""
    return 0.6 * size * max(map(columns, texts), default=0)


def shades(values: npt.NDArray[np.float64], stops: Sequence[str]) -> list[str]:
    """Return the colours of values between 0 and 1, evenly between the stops; "none" for NaN."""
    known = np.isfinite(values.ravel())
    table = _between(np.where(known, np.clip(values.ravel(), 0, 1), 0), stops)
    return [f"#{bytes(row).hex()}" if own else "none" for row, own in zip(table, known, strict=True)]


def _between(values: Vector, stops: Sequence[str]) -> npt.NDArray[np.uint8]:
    table = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops], dtype=float)
    at = np.linspace(0, 1, len(stops))
    return np.column_stack([np.interp(values, at, column) for column in table.T]).round().astype(np.uint8)


def png(values: npt.NDArray[np.float64], stops: Sequence[str]) -> bytes:
    """Return a PNG image of a matrix of values between 0 and 1, one pixel each; NaN has the colour of 0."""
    levels = np.round(255 * np.clip(np.nan_to_num(values), 0, 1)).astype(np.uint8)
    rows = np.column_stack([np.zeros(len(levels), dtype=np.uint8), levels])  # no filter before each row
    height, width = levels.shape
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", _between(np.linspace(0, 1, 256), stops).tobytes()),
        (b"IDAT", zlib.compress(rows.tobytes(), 6)),
        (b"IEND", b""),
    )
    parts = [
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
