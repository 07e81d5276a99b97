"""The columns of a data frame told apart by kind: numbers, booleans, categories, ordered categories, dates."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np

from kernelweave._types import Vector
from kernelweave.errors import InvalidInputError
from kernelweave.samples.unread_texts import told_texts

__all__ = [
    "CATEGORICAL",
    "CHOSEN",
    "KINDS",
    "REPEATED",
    "Cells",
    "Column",
    "Kind",
    "KindLike",
    "cells_of",
    "holds_numbers",
    "tell_apart",
    "values_of",
]

Kind: TypeAlias = Literal["number", "boolean", "category", "ordered", "date", "duration", "left out"]
KindLike: TypeAlias = Kind | Sequence[str]  # a list holds ordered categories, the lowest first
Values: TypeAlias = Vector | list[Any]  # a column of numbers, or the values of any other column
Cells: TypeAlias = Vector | list[str | None]  # numbers with NaN, or texts with None, where a cell is missing

KINDS: tuple[str, ...] = ("number", "boolean", "category", "ordered", "date", "duration", "left out")
CHOSEN = "it was chosen"  # the reason for a kind that the user gave
REPEATED = "its texts repeat"  # the reason for categories that no type tells
CATEGORICAL: tuple[str, ...] = ("boolean", "category")  # compared by match; all other kinds become numbers

_FEW = 10  # texts that differ; a column with no more of them holds categories, unless all differ
_ID = re.compile(r"(^|[^a-z])(id|index)$|^unnamed: \d+$|[a-z]I[dD]$")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Column:
    """How one column of a mixed table was read.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"number", "boolean", "category", "ordered", "date", "duration", "left out"}
        What its cells hold.
    reason : str
        How that was told.
    missing : int
        The number of training samples whose cell is missing.
    categories : tuple of str
        The categories as text: sorted, or in their order if they have one.
    shares : tuple of float
        The share of each category among the known cells.
    fill, mean, deviation : float
        The median, mean and standard deviation of the known numbers. Dates and durations are counted in days,
        dates from `origin`, and ordered categories by their rank from 0.
    origin : str or None
        The earliest date.
    """

    name: str
    kind: Kind
    reason: str
    missing: int = 0
    categories: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    fill: float = 0.0
    mean: float = 0.0
    deviation: float = 1.0
    origin: str | None = None


def tell_apart(series: Any, given: KindLike | None) -> tuple[Kind, str, tuple[str, ...], Values]:
    """Return the kind of a narwhals series, how it was told, the order of its categories if they have one, its values.

    `given` is the kind that the user chose, if any.
    """
    values = values_of(series)
    if given is not None:
        return (*_chosen(str(series.name), given, series), values)
    order = _declared_order(series)
    if order:
        return "ordered", "its type has an order of categories", order, values
    if series.dtype == nw.Boolean:
        return "boolean", "its type is boolean", (), values
    if series.dtype == nw.Categorical:
        return "category", "its type is categorical", (), values
    if isinstance(values, list):
        return (*_tell_values(str(series.name), values), (), values)
    found = _row_counter(str(series.name), values) if series.dtype.is_integer() else None
    return ("left out", found, (), values) if found else ("number", "its type is numeric", (), values)


def cells_of(kind: Kind, values: Values, name: str) -> Cells:
    """Return the values of a column as numbers (NaN where missing) or texts (None where missing)."""
    if kind in ("category", "boolean", "ordered"):
        return [None if _is_missing(value) else _text(value) for value in np.asarray(values, dtype=object).tolist()]
    if not isinstance(values, list):
        numbers = values
        if kind in ("date", "duration") and not np.isnan(numbers).all():
            msg = f"Column {name!r} was read as {kind}s, but holds numbers: convert them, or choose another kind."
            raise InvalidInputError(msg)
    else:
        numbers = np.array([np.nan if _is_missing(v) else _number(kind, v, name) for v in values], dtype=np.float64)
    if np.isinf(numbers).any():
        i = int(np.flatnonzero(np.isinf(numbers))[0])
        msg = f"Column {name!r} holds infinity at row {i}: replace it by a number, or by NaN if it is not known."
        raise InvalidInputError(msg)
    return numbers


def holds_numbers(series: Any) -> bool:
    """Return whether a narwhals series of texts or objects holds numbers only."""
    if series.dtype not in (nw.String, nw.Object):
        return False
    return all(_is_missing(value) or _is_number(value) or _reads(_float, value) for value in series.to_list())


def values_of(series: Any) -> Values:
    """Return a narwhals series as numbers if its type is numeric, else as a list of its values."""
    if series.dtype.is_numeric():
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    values: list[Any] = series.to_list()
    return values


def _chosen(name: str, given: KindLike, series: Any) -> tuple[Kind, str, tuple[str, ...]]:
    """Return the kind that the user chose for a column."""
    reason = CHOSEN
    if not isinstance(given, str):
        return "ordered", reason, tuple(map(str, given))
    if given not in KINDS:
        msg = f"kinds[{name!r}] must be one of {', '.join(map(repr, KINDS))} or a list of categories; got {given!r}."
        raise InvalidInputError(msg)
    order = _declared_order(series) if given == "ordered" else ()
    if given == "ordered" and not order:
        msg = f"kinds[{name!r}] is 'ordered', but its type has no order: give its categories as a list, lowest first."
        raise InvalidInputError(msg)
    return given, reason, order  # type: ignore[return-value]


def _declared_order(series: Any) -> tuple[str, ...]:
    """Return the categories of an ordered categorical of pandas, or of an Enum of polars, in their order."""
    dtype = getattr(series.to_native(), "dtype", None)
    if not (getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"):
        return ()
    return tuple(map(_text, list(dtype.categories)))  # type: ignore[union-attr]


def _tell_values(name: str, values: list[Any]) -> tuple[Kind, str]:
    """Return the kind of a column of texts, dates or any objects, and how it was told."""
    known = [value for value in values if not _is_missing(value)]
    if not known:
        return "left out", "it has no values"
    tests: tuple[tuple[Kind, str, Callable[[Any], bool]], ...] = (
        ("boolean", "its values are True and False", lambda v: isinstance(v, bool | np.bool_)),
        ("number", "its values are numbers", _is_number),
        ("date", "its values are dates", lambda v: isinstance(v, date)),
        ("duration", "its values are durations", lambda v: isinstance(v, timedelta)),
        ("duration", "its values are times of the day", lambda v: isinstance(v, time)),
        ("number", "its texts are numbers", lambda v: _reads(_float, v)),
        ("date", "its texts are dates", _is_iso_date),
    )
    for kind, reason, fits in tests:
        if all(map(fits, known)):
            return kind, reason
    odd = next((value for value in known if isinstance(value, list | dict | set | tuple | np.ndarray | bytes)), None)
    if odd is not None:
        return "left out", f"it holds a {type(odd).__name__} in a cell, which is not compared"
    return _tell_texts([_text(value) for value in known])


def _tell_texts(known: list[str]) -> tuple[Kind, str]:
    distinct = len(set(known))
    if distinct > max(_FEW, len(known) / 2) and (told := told_texts(known)) is not None:
        return "left out", told
    if distinct == len(known) and distinct > 1:
        return "left out", "every text in it is different, so it names the samples"
    if distinct > max(_FEW, len(known) / 2):
        return "left out", f"it is free text: {distinct} of its {len(known)} texts differ"
    return "category", f"{REPEATED}: {distinct} differ"


def _row_counter(name: str, values: Vector) -> str | None:
    """Return why an integer column only numbers the samples, or None if it does not."""
    known = values[~np.isnan(values)]
    if len(known) < 3 or len(np.unique(known)) < len(known):
        return None
    if (np.diff(known) == 1).all():
        return "it counts the rows"
    return "by its name and values it numbers the samples" if _ID.search(_lowered(name)) else None


def _lowered(name: str) -> str:
    """Return a name in small letters, but for an ending such as that of PassengerId."""
    return name if re.search(r"[a-z]I[dD]$", name) else name.lower()


def _is_missing(value: Any) -> bool:
    if value is None or (isinstance(value, str) and not value.strip()):
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA has no truth value; an array has several
        return not hasattr(value, "__len__")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | Decimal) and not isinstance(value, bool | np.bool_)


def _is_iso_date(value: Any) -> bool:
    return isinstance(value, str) and bool(_ISO_DATE.fullmatch(value)) and _reads(datetime.fromisoformat, value)


def _reads(read: Callable[[str], Any], value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        read(value)
    except ValueError:
        return False
    return True


def _text(value: Any) -> str:
    """Return a value as text; a whole number is the same text in every type."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _number(kind: Kind, value: Any, name: str) -> float:
    try:
        if kind == "date":
            return _days(value)
        if kind == "duration":
            return _length(value)
        return _float(value)
    except (TypeError, ValueError) as error:
        msg = f"Column {name!r} was read as {kind}s, but holds {value!r}: correct it, or make it missing."
        raise InvalidInputError(msg) from error


def _float(value: Any) -> float:
    """Return a number, or a text as a number; Python takes 2_10 for 210, but people mean a name by it."""
    if isinstance(value, str) and "_" in value:
        msg = "not a number"
        raise ValueError(msg)
    return float(value)


def _days(value: Any) -> float:
    """Return the days since 1970; a date without a time zone counts as UTC."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if not isinstance(value, date):
        msg = "not a date"
        raise TypeError(msg)
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return float(((value if value.tzinfo else value.replace(tzinfo=UTC)) - _EPOCH) / _DAY)


def _length(value: Any) -> float:
    """Return a duration, or the time since midnight, in days."""
    if isinstance(value, time):
        value = timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    return float(value / _DAY)
