"""A source of samples: parts that can be read in order, any number of times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.samples.parts import Part, read
from kernelweave.samples.running import Run

__all__ = ["Source", "count_rows"]


@dataclass
class Source:
    """The parts in order, and the numbers of rows of each part and of columns, None if not known yet."""

    parts: Callable[[], Iterator[Part]]
    lengths: list[int] | None = None
    width: int | None = None
    distributed: bool = False  # whether the parts are held by dask

    @property
    def n(self) -> int:
        """The number of rows, once it is known."""
        return sum(self.lengths or ())


def count_rows(source: Source, run: Run, *, least: int) -> None:
    """Count the rows of the source, by reading and checking every part if they are not known.

    A source of fewer than `least` rows is an error.
    """
    if source.lengths is None:
        _read_lengths(source, run)
    if source.n < least:
        msg = f"Found {counted(source.n, 'sample')}, while a minimum of {least} is required."
        raise InvalidInputError(msg)


def _read_lengths(source: Source, run: Run) -> None:
    lengths: list[int] = []
    for i, (name, n, d) in enumerate(run.over(_size, None, source)):
        source.width = d if i == 0 else source.width
        if d != source.width:
            msg = f"{name} has {d} columns, but those before it have {source.width}: all must have the same."
            raise InvalidInputError(msg)
        lengths.append(n)
    source.lengths = lengths


def _size(state: Any, part: Part) -> tuple[str, int, int]:
    rows = read(part, None)
    return part.name, rows.shape[0], rows.shape[1]
