"""A source of samples: parts that can be read in order, as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kernelweave.errors import InvalidInputError
from kernelweave.samples.parts import Part, read
from kernelweave.samples.running import Run

__all__ = ["Source", "counted"]


@dataclass
class Source:
    """The parts in order, and what is known before they are read: rows of each part, columns."""

    parts: Callable[[], Iterator[Part]]
    lengths: list[int] | None = None
    width: int | None = None
    distributed: bool = False  # the parts live where dask keeps them

    @property
    def n(self) -> int:
        """The number of rows, once it is known."""
        return sum(self.lengths or ())


def counted(source: Source, run: Run, *, least: int) -> None:
    """Read every part once if the rows of the source are not known, which checks each; refuse fewer than `least`."""
    if source.lengths is None:
        source.lengths = _lengths(source, run)
    if source.n < least:
        msg = f"Found {source.n} sample{'s' * (source.n != 1)} in X, while a minimum of {least} is required."
        raise InvalidInputError(msg)


def _lengths(source: Source, run: Run) -> list[int]:
    """Return the number of rows of every part; the source learns the number of columns."""
    lengths: list[int] = []
    for i, (name, n, d) in enumerate(run.over(_size, None, source)):
        source.width = d if i == 0 else source.width
        if d != source.width:
            msg = f"{name} has {d} columns, but those before it have {source.width}: all hold the same ones."
            raise InvalidInputError(msg)
        lengths.append(n)
    return lengths


def _size(state: Any, part: Part) -> tuple[str, int, int]:
    rows = read(part, None)
    return part.name, rows.shape[0], rows.shape[1]
