"""Dates as people write them: 31.12.2020 and 12/31/2020. ISO dates, such as 2020-12-31, need no help."""

from __future__ import annotations

from typing import Any

from kernelweave.tabular.problems import shown

__all__ = ["dates_of"]

_DOTTED = r"^(\d{1,2})\.(\d{1,2})\.(\d{4})$"  # the day is first wherever dates have dots
_SLASHED = r"^(\d{1,2})/(\d{1,2})/(\d{4})$"
_STAMP = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?"  # ISO 8601, date and time
_MONTHS = 12


def dates_of(column: Any) -> tuple[Any, str] | None:
    """Return a column of texts as dates and a note, or as it is if nothing tells days from months; None for texts."""
    import pandas as pd

    texts = column.dropna().astype(str).str.strip()
    if len(texts) and texts.str.fullmatch(_STAMP).all():
        stamps = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None)
        note = f"column {column.name!r} is read as dates with times ({shown(texts.iloc[0])})"
        return None if stamps.isna().any() else (stamps.reindex(column.index), note)
    for pattern in (_DOTTED, _SLASHED):
        parts = texts.str.extract(pattern)
        if texts.empty or parts.isna().any(axis=None):
            continue
        first, second, year = (parts[j].astype(int) for j in range(3))
        example, name = shown(texts.iloc[0]), column.name
        if pattern == _SLASHED and first.max() <= _MONTHS and second.max() <= _MONTHS:
            said = f"column {name!r} seems to hold dates ({example}), but nothing tells days from months"
            return column, f"{said}: write them as 2020-12-31"
        day_first = pattern == _DOTTED or first.max() > _MONTHS
        day, month = (first, second) if day_first else (second, first)
        dates = pd.to_datetime({"year": year, "month": month, "day": day}, errors="coerce")
        if dates.isna().any():
            return None
        order = "day" if day_first else "month"
        return dates.reindex(column.index), f"column {name!r} is read as dates with the {order} first ({example})"
    return None
