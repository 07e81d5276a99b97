"""Dates as people write them: 31.12.2020, 12/31/2020, 31-Dec-2020. ISO dates, such as 2020-12-31, need no help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelweave.tabular.problems import shown

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

__all__ = ["date_hints", "dates_of"]

_DOTTED = r"^(\d{1,2})\.(\d{1,2})\.(\d{4})$"  # the day is first wherever dates have dots
_SLASHED = r"^(\d{1,2})[/-](\d{1,2})[/-](\d{4})$"
_STAMP = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?"  # ISO 8601, date and time
_NAMED = r"^(\d{1,2})[- ]([A-Za-z]{3,9})\.?[- ,]+(\d{4})$"  # as in clinical tables: 31-Dec-2020
_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG = ("january", "february", "march", "april", "june", "july", "august", "september", "october", "november",
         "december", "sept")  # fmt: skip
_YEAR_FIRST = r"\d{4}/\d{1,2}/\d{1,2}( \d{1,2}:\d{2}(:\d{2})?)?"  # as forms of the web write times
_MONTHS = 12
_PLAIN = (19000101, 21001231)  # the range of whole numbers such as 20201231
_LEAST = 3  # different dates among whole numbers


def dates_of(column: pd.Series) -> tuple[pd.Series, str] | None:
    """Return a column of texts as dates and a note, or as it is if nothing tells days from months; None for texts."""
    import pandas as pd

    texts = column.dropna().astype(str).str.strip()
    if len(texts) and texts.str.fullmatch(_STAMP).all():
        stamps = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None)
        note = f"column {column.name!r} is read as dates with times ({shown(texts.iloc[0])})"
        return None if stamps.isna().any() else (stamps.reindex(column.index), note)
    if len(texts) and texts.str.fullmatch(_YEAR_FIRST).all():
        found = pd.to_datetime(texts, errors="coerce", yearfirst=True, format="mixed")
        note = f"column {column.name!r} is read as dates with the year first ({shown(texts.iloc[0])})"
        return None if found.isna().any() else (found.reindex(column.index), note)
    if (named := _named_months(column, texts)) is not None:
        return named
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


def _named_months(column: pd.Series, texts: pd.Series[str]) -> tuple[pd.Series, str] | None:
    """Return a column of texts with the English names of months as dates, and a note; None for other texts."""
    import pandas as pd

    parts = texts.str.extract(_NAMED)
    if texts.empty or parts.isna().any(axis=None):
        return None
    months = parts[1].str.lower()
    if not months.isin(_NAMES + _LONG).all():
        return None
    numbers = {name: i for i, name in enumerate(_NAMES, start=1)}
    month = months.str[:3].map(numbers)
    dates = pd.to_datetime({"year": parts[2].astype(int), "month": month, "day": parts[0].astype(int)}, errors="coerce")
    if dates.isna().any():
        return None
    return dates.reindex(column.index), f"column {column.name!r} is read as dates ({shown(texts.iloc[0])})"


def date_hints(frame: pd.DataFrame, kept: Collection[str | None]) -> list[str]:
    """Return a sentence for every column of whole numbers that are all dates, such as 20201231."""
    import pandas as pd

    hints = []
    numeric = frame.select_dtypes("number", exclude="timedelta")
    within = ((numeric.min() >= _PLAIN[0]) & (numeric.max() <= _PLAIN[1])).to_numpy(dtype=bool, na_value=False)
    for name in [name for name in numeric.columns[within] if name not in kept]:
        values = numeric[name].dropna()
        if values.nunique() < _LEAST or (values % 1 != 0).any():
            continue
        if pd.to_datetime(values.astype("int64").astype(str), format="%Y%m%d", errors="coerce").notna().all():
            first = int(values.iloc[0])
            iso = f"{first // 10000}-{first // 100 % 100:02}-{first % 100:02}"
            hints.append(
                f"column {name!r} is read as whole numbers, but all of them are dates ({first} is {iso}). Differences "
                f"of such numbers are not days: write them as {iso}, or leave the column out with --drop"
            )
    return hints
