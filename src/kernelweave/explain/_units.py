"""The units of columns, as a user gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kernelweave.errors import InvalidInputError

__all__ = ["checked_units"]


class _Titled(Protocol):
    """A column: its name, and its title, which has the view too if there are several."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def title(self) -> str:
        """The name, after that of the view if there are several."""


def checked_units(units: Mapping[str, str], columns: Iterable[_Titled]) -> dict[str, str]:
    """Return the units by the names or titles of columns, as texts; a name that no column has is an error."""
    if not (isinstance(units, Mapping) and all(isinstance(unit, str) for unit in units.values())):
        msg = f"units must be a dict of columns and texts, such as {{'weight': 'kg'}}; got {units!r}."
        raise InvalidInputError(msg)
    given = {str(name): unit for name, unit in units.items()}
    titles = {column.title: column.name for column in columns}
    known = {*titles, *titles.values()}
    unknown = [name for name in given if name not in known]
    if unknown:
        shown = ", ".join(map(repr, list(titles)[:5])) + (" ..." if len(titles) > 5 else "")
        msg = f"units names the column {unknown[0]!r}, which X does not have; its columns are {shown}."
        raise InvalidInputError(msg)
    return given
