"""New files against those of a fit: how they are read, their views, columns and units, and their numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave._plural import counted
from kernelweave.cli._refusal import flags_of
from kernelweave.errors import InvalidInputError
from kernelweave.samples.file_reading import FileReading
from kernelweave.samples.mixed_table import MixedTable
from kernelweave.samples.table import NamedColumns
from kernelweave.samples.views import TableReading
from kernelweave.tabular.annotated_files import ANNOTATED
from kernelweave.tabular.number_text import named_units
from kernelweave.tabular.problems import Problem, shown_names
from kernelweave.tabular.table_reader import type_of

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

    from kernelweave.cli._inputs import Frames, Inputs
    from kernelweave.cli._option_groups import Reading
    from kernelweave.tabular import ReadOptions, TableFile

__all__ = ["FittedTables", "options_as_fitted", "reading_of", "same_unit", "say_far"]

_OF_TEXT = ("header", "sep", "decimal", "thousands", "encoding", "sheet")
_OF_ANNOTATED = ("layer", "obsm", "modality")
_OF_ALL = ("transpose", "missing", "limits", "long", "wide")
_TOGETHER = (("decimal", "thousands"), ("long", "wide"), _OF_ANNOTATED)  # one may contradict another
_NOT_GIVEN: dict[str, object] = {"modality": (), "missing": (), "limits": "limit", "wide": False}  # None for others
_SPELLINGS = {"lbs": "lb", "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "sec": "s", "seconds": "s",
              "minutes": "min", "day": "d", "days": "d", "weeks": "week", "months": "month", "yr": "y", "yrs": "y",
              "year": "y", "years": "y", "feet": "ft", "inches": "in", "miles": "mi", "$": "usd", "€": "eur",
              "£": "gbp", "degrees": "deg", "counts": "count", "pts": "points"}  # fmt: skip
_SIGNS = str.maketrans({"µ": "u", "μ": "u", "²": "2", "³": "3", " ": None, "[": None, "]": None, "(": None, ")": None})
_FAR = 3  # ranges of the fit that a number must lie outside of it
_LISTED = 3  # columns that a note names


def reading_of(read_options: ReadOptions, paths: Sequence[Path], inputs: Inputs) -> FileReading:
    """Return what a model keeps of how its files were read: options, the column of ids, named or found, and units."""
    left_out = read_options.left_out if read_options.labels is None else read_options.left_out | {read_options.labels}
    given: dict[str, Any] = {name: getattr(read_options, name) for name in (*_OF_TEXT, *_OF_ANNOTATED, *_OF_ALL)}
    types = tuple(dict.fromkeys(map(type_of, paths)))
    given |= {"units": dict(inputs.units), "ranges": _ranges_of(inputs.X)}
    return FileReading(types, read_options.id or inputs.title, tuple(sorted(left_out)), **given)


def options_as_fitted(reading: Reading, fitted: BaseEstimator, paths: Sequence[Path]) -> ReadOptions:
    """Return the options for new files: those that are given, else those of the fit, and say which these are.

    Options for text apply to files of the same types, and the part of annotated data to such data. The ids, and
    the columns that were left out, are those of the fit if the files have such columns.
    """
    read_options = reading.options(paths)
    before: FileReading | None = getattr(fitted, "file_reading_", None)
    if before is None:
        return read_options
    taken = {name: getattr(before, name) for name in _applying(read_options, before, paths) if _is_given(before, name)}
    if taken:
        warnings.warn(f"Read as when the model was fitted: {flags_of(taken)}.", UserWarning, stacklevel=2)
    return replace(read_options, **taken, usual_id=before.id, usual_drop=frozenset(before.drop))


def _applying(read_options: ReadOptions, before: FileReading, paths: Sequence[Path]) -> Iterator[str]:
    """Yield the names of the options that are not given, and that say something of these files."""
    types = set(map(type_of, paths))
    of_text = _OF_TEXT if types <= set(before.types) else ()
    of_annotated = _OF_ANNOTATED if types & set(ANNOTATED) else ()
    for name in (*of_text, *of_annotated, *_OF_ALL):
        related = next((names for names in _TOGETHER if name in names), (name,))
        if not any(_is_given(read_options, other) for other in related):
            yield name


def _is_given(options: ReadOptions | FileReading, name: str) -> bool:
    return bool(getattr(options, name) != _NOT_GIVEN.get(name))


@dataclass(frozen=True, slots=True)
class FittedTables:
    """How the tables of a fitted model were read, by the names of its views; `names` are the columns of one table.

    `units` are those of columns in the files of the fit, by name, or by view and name.
    """

    readings: Mapping[str, TableReading]
    names: Sequence[str] | None
    units: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, fitted: BaseEstimator | None) -> FittedTables:
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


def _ranges_of(X: Frames) -> dict[str, tuple[float, float]]:
    """Return the smallest and the largest number of every column of numbers, by name, or by view and name."""
    found: dict[str, tuple[float, float]] = {}
    for view, frame in _views(X):
        numbers = frame.select_dtypes("number", exclude="timedelta")
        for name, low, high in zip(map(str, numbers), numbers.min(), numbers.max(), strict=True):
            if np.isfinite(low) and np.isfinite(high):
                found[_key(view, name)] = float(low), float(high)
    return found


def say_far(X: Frames, ranges: Mapping[str, tuple[float, float]]) -> None:
    """Issue a warning that names the columns with numbers far outside the range that they had in the fit."""
    far = []
    for view, frame in _views(X):
        numbers = frame.select_dtypes("number", exclude="timedelta")
        for name, least, most in zip(map(str, numbers), numbers.min(), numbers.max(), strict=True):
            low, high = ranges.get(_key(view, name), (0.0, 0.0))
            reach = _FAR * (high - low)
            if reach and (least < low - reach or most > high + reach):
                far.append(f"{_key(view, name)!r} ({low:.6g} to {high:.6g})")
    if far:
        more = f" and {len(far) - _LISTED} more" if len(far) > _LISTED else ""
        msg = (
            "Some numbers lie far outside those of the fit, where no answer can be relied on. Are they in the same "
            f"units? The ranges of the fit: {', '.join(far[:_LISTED])}{more}."
        )
        warnings.warn(msg, UserWarning, stacklevel=2)


def _views(X: Frames) -> Iterator[tuple[str | None, pd.DataFrame]]:
    """Yield the name of every view, None for a single table, and its table."""
    yield from X.items() if isinstance(X, dict) else [(None, X)]


def _key(view: str | None, name: str) -> str:
    return name if view is None else f"{view}: {name}"
