"""New tables against those of a fit: their views, columns and units."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.samples.file_reading import FileReading
from kernelweave.samples.mixed_table import MixedTable
from kernelweave.samples.table import NamedColumns
from kernelweave.samples.views import TableReading
from kernelweave.tabular.problems import Problem, shown_names
from kernelweave.tabular.units import named_units

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from kernelweave.tabular import TableFile

__all__ = ["Before", "same_unit"]

_SPELLINGS = {"lbs": "lb", "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "sec": "s", "seconds": "s",
              "minutes": "min", "day": "d", "days": "d", "weeks": "week", "months": "month", "yr": "y", "yrs": "y",
              "year": "y", "years": "y", "feet": "ft", "inches": "in", "miles": "mi", "$": "usd", "€": "eur",
              "£": "gbp", "degrees": "deg", "counts": "count", "pts": "points"}  # fmt: skip
_SIGNS = str.maketrans({"µ": "u", "μ": "u", "²": "2", "³": "3", " ": None, "[": None, "]": None, "(": None, ")": None})


@dataclass(frozen=True, slots=True)
class Before:
    """How the tables of a fitted model were read, by the names of its views; `names` are the columns of one table.

    `units` are those of columns in the files of the fit, by name, or by view and name.
    """

    readings: Mapping[str, TableReading]
    names: Sequence[str] | None
    units: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, fitted: BaseEstimator | None) -> Before:
        """Return how the tables of a model were read; there are none without a model."""
        names = getattr(fitted, "feature_names_in_", None)
        reading: FileReading | None = getattr(fitted, "file_reading_", None)
        columns = None if names is None else [str(name) for name in names]
        return cls(getattr(fitted, "readings_", {}), columns, {} if reading is None else reading.units)

    @property
    def several(self) -> bool:
        """Whether the model was fitted on several tables; one table is called X."""
        return any(name != "X" for name in self.readings)

    def mixed(self, view: str) -> MixedTable | None:
        """Return how a mixed table was read, None for other tables."""
        reading = self.readings.get(view if self.several else "X")
        return reading if isinstance(reading, MixedTable) else None

    def columns(self, view: str) -> Sequence[str] | None:
        """Return the columns of a table of numbers."""
        if not self.several:
            return self.names
        reading = self.readings.get(view)
        return reading.names if isinstance(reading, NamedColumns) else None

    def need_views(self, given: Sequence[str]) -> None:
        """Refuse tables whose names are not views of the fitted model; name the views that no file holds."""
        other = [name for name in given if self.several and name not in self.readings]
        if other:
            views, first = ", ".join(self.readings), next(iter(self.readings))
            msg = (
                f"The model was fitted on the views {views}, but the files hold {', '.join(other)}: name the view of "
                f"every file, such as --view {first}=FILE."
            )
            raise InvalidInputError(msg)
        absent = [name for name in self.readings if self.several and name not in given]
        if absent:
            views = f"{counted(len(absent), 'view')} of the model, which all samples lack: {', '.join(absent)}"
            warnings.warn(f"No file holds {views}.", UserWarning, stacklevel=3)

    def say_extra(self, view: str, given: Sequence[str], source: str) -> None:
        """Say which columns of a table of numbers the model was not fitted on; a mixed table says so itself."""
        known = self.columns(view)
        extra = [] if known is None else [name for name in given if name not in set(known)]
        if extra:
            n = f"{counted(len(extra), 'column')} that the model was not fitted on {'is' if len(extra) == 1 else 'are'}"
            warnings.warn(f"{source}: {n} not used: {shown_names(extra, 5)}.", UserWarning, stacklevel=3)

    def other_units(self, view: str, table: TableFile, source: str) -> list[Problem]:
        """Return the columns whose unit is not that of the fit; where only one of the two is known, say so."""
        problems = []
        told = named_units(table.frame, {})  # by names, which are those of the fit
        reading = self.mixed(view)
        names = self.columns(view) if reading is None else [column.name for column in reading.columns]
        for name in [name for name in names or () if name in table.frame]:
            own, fit = table.units.get(name), self.units.get(f"{view}: {name}" if self.several else name)
            if own is not None and fit is not None and not same_unit(own, fit):
                text = f"column {name!r} is in {own}, but the model was fitted on {fit}. Convert its numbers to {fit}."
                problems.append(Problem(text))
            elif fit is not None and own is None:
                msg = f"{source}: no unit was found for column {name!r}: its numbers are taken as {fit}, as in the fit."
                warnings.warn(msg, UserWarning, stacklevel=3)
            elif own is not None and fit is None and name not in told:
                msg = f"{source}: column {name!r} is in {own}. No unit is known of the fit: it must be the same."
                warnings.warn(msg, UserWarning, stacklevel=3)
        return problems


def same_unit(one: str, other: str) -> bool:
    """Return whether two units are the same in different spellings, such as lb and lbs, or µg and ug."""
    return _plain(one) == _plain(other)


def _plain(unit: str) -> str:
    plain = unit.translate(_SIGNS).lower()
    return _SPELLINGS.get(plain, plain)
