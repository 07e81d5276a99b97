"""What is wrong with a file of a table, with the options that solve it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from kernelweave.errors import InvalidInputError

__all__ = ["Options", "Problem", "TableError", "Way", "need_column", "shown", "shown_names"]

Options: TypeAlias = Mapping[str, str | bool | tuple[str, ...]]  # keyword arguments of `read_table`


@dataclass(frozen=True, slots=True)
class Way:
    """One way to read a file.

    Parameters
    ----------
    meaning : str
        How the file is then read.
    options : dict
        The options of `read_table` that choose it.
    """

    meaning: str
    options: Options


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a file, and the options that solve it, if there are any.

    Parameters
    ----------
    text : str
        A sentence that says what is wrong.
    ways : tuple of Way
        The ways to read the file, the suggested one first.
    choice : bool, default=False
        Whether all ways are equally good, so that none is suggested.
    columns : tuple of str
        The columns concerned, if there are many and no option names each of them.
    """

    text: str
    ways: tuple[Way, ...] = field(default=())
    choice: bool = False
    columns: tuple[str, ...] = field(default=())


class TableError(InvalidInputError):
    """A file cannot be read as a table, or can be read in two ways; `problems` lists everything that was found."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{source}: {_in_python(problem)}" for problem in self.problems))


def _in_python(problem: Problem) -> str:
    ways = [
        f"{', '.join(f'{name}={value!r}' for name, value in way.options.items())} ({way.meaning})"
        for way in problem.ways
    ]
    return f"{problem.text} Pass {' or '.join(ways)}." if ways else problem.text


def shown(value: object) -> str:
    """Return an entry as a message shows it."""
    text = str(value)
    return repr(text if len(text) <= 40 else f"{text[:37]}...")


def shown_names(names: Sequence[object], most: int = 3) -> str:
    """Return the first names of a list as a message shows them."""
    few = ", ".join(map(shown, names[:most]))
    return few if len(names) <= most else f"{few} and {len(names) - most} more"


def need_column(columns: Sequence[str], column: str, source: str) -> str:
    """Return the name of a column; raise if the table has no such column."""
    if column not in columns:
        msg = f"{source} has no column {column!r}; it has {shown_names(columns, 12)}."
        several = [part.strip() for part in column.split(",")]
        if len(several) > 1 and set(several) <= set(columns):
            msg += " An option names one column: repeat it for each."
        raise InvalidInputError(msg)
    return column
