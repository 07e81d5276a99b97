"""Rows of a table that sum up others: subtotals, totals and means, which are not samples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernelweave.tabular.number_text import text_columns
from kernelweave.tabular.packages import pandas
from kernelweave.tabular.problems import Problem, TableError, shown, shown_names
from kernelweave.tabular.rows_above import RowsAbove, Statistics, added
from kernelweave.tabular.table_file import TableFile

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["parts_without_summaries", "without_summaries"]

_SUMS = frozenset(("total", "totals", "grand total", "sum", "gesamt", "gesamtsumme", "insgesamt", "summe",
                   "total général", "somme", "suma", "total general"))  # fmt: skip
_MEANS = frozenset(("mean", "average", "avg", "mittelwert", "durchschnitt", "moyenne", "promedio"))
_SPREADS = frozenset(("std", "stddev", "std dev", "std. dev.", "std.dev.", "stdev", "stdev.s", "stdev.p",
                      "standard deviation", "sd", "sem", "se", "std error", "std. error", "standard error", "var",
                      "variance", "cv", "%cv", "cv%", "cv %", "cv (%)", "rsd", "%rsd", "rsd%", "rsd %", "rsd (%)",
                      "range", "stabw", "stabw.n", "stabw.s", "standardabweichung", "standardfehler", "varianz",
                      "écart type", "écart-type", "ecart type", "ecart-type", "desvest",
                      "desviación estándar"))  # fmt: skip
_RANKED = frozenset(("median", "médiane", "mediana", "q1", "q2", "q3", "1st qu.", "3rd qu.", "1st quartile",
                     "3rd quartile", "lower quartile", "upper quartile"))  # fmt: skip
_OTHERS = frozenset(("min", "min.", "minimum", "max", "max.", "maximum", "count", "n", "anzahl"))
_WORDS = _SUMS | _MEANS | _SPREADS | _RANKED | _OTHERS
_QUANTILE = re.compile(r"(5|10|25|50|75|90|95)(th)? ?(%|percentile)")
_SUM = re.compile(r"(sub|grand)[ -]?totals?\b.*|totals?:?|(zwischen|gesamt)summe\b.*|sous-total\b.*|total général")
_PART_SUM = re.compile(r".*\btotal")  # as spreadsheets call them, above a grand total
_STAYS = (
    "is called a sum, but is not the sum of the rows above it. If it is not a sample, remove it from the file",
    "are called sums, but are not sums of the rows above them. If they are not samples, remove them from the file",
)
_UNLIKE = (
    "at its end is called a statistic, but not one of the rows above it. If it is not a sample, remove it",
    "at its end are called statistics, but not those of the rows above them. If they are not samples, remove them",
)
_CLOSE = 0.02  # relative difference that rounding may cause
_LEAST = 3  # samples
_PART = 2  # samples of a subtotal
_EXACT = 1e-6  # relative difference of a sum in a row that is not called so
_ABOVE, _COLUMNS = 5, 2  # rows and columns that such a sum must have, since small ones come about by chance
_COUNTERS = frozenset(("__no_feature", "__ambiguous", "__too_low_aqual", "__not_aligned", "__alignment_not_unique",
                       "n_unmapped", "n_multimapping", "n_nofeature", "n_ambiguous"))  # fmt: skip
_HELD = 50  # rows that are called statistics and may be the end of a file that is read in parts


def without_summaries(table: TableFile, source: str) -> TableFile:
    """Return a table without the rows whose names say that they sum up others, and whose numbers do.

    Subtotals may be anywhere, other statistics at the end. A last row of sums that is not called so stays, with a note.
    """
    return next(parts_without_summaries([table], source))


def parts_without_summaries(parts: Iterable[TableFile], source: str) -> Iterator[TableFile]:
    """Yield the parts of a table as `without_summaries` would return it; refuse one that only a whole table tells.

    A part is held back until it is known not to be the end: rows that are called statistics may follow it there.
    """
    above = RowsAbove()
    held: list[TableFile] = []
    for part in parts:
        if not held:
            above.column = next(iter(text_columns(part.frame)), None) if not above.rows else above.column
        elif not _may_end(held, part, above):
            yield from _judged(held, above, source, last=False)
            held = []
        held.append(part)
    yield from _judged(held, above, source, last=True)


def _may_end(held: Sequence[TableFile], part: TableFile, above: RowsAbove) -> bool:
    """Return whether a part may belong to the last rows of the table, below those that are held back."""
    n = len(part.frame) + sum(len(other.frame) for other in held[1:])
    return n <= _HELD and all(map(_is_word, _names(part, above)))


def _judged(held: Sequence[TableFile], above: RowsAbove, source: str, *, last: bool) -> Iterator[TableFile]:
    """Yield parts that follow each other without the rows that sum up others, and add them to the rows above."""
    names = [name for part in held for name in _names(part, above)]
    frames = [part.frame.select_dtypes("number", exclude="timedelta") for part in held]
    numbers = frames[0] if len(frames) == 1 else pandas().concat(frames, ignore_index=True)
    _refuse_unknown(names, above, source, last=last)
    called = _called(names)
    parts = _subtotals(names, numbers, called, above, last=last)
    kept = [i for i in range(len(names)) if i not in parts]
    ends = _at_end([names[i] for i in kept], numbers.iloc[kept], above) if last else 0
    rest = kept[: len(kept) - ends]
    notes = _told(names, parts, kept[len(rest) :])
    if not notes and last and not above.found and _is_sum(numbers, above):
        notes.append("its last row holds the sums of the rows above it. If it is not a sample, remove it from the file")
    elif unlike := [names[i] for i in rest if _SUM.fullmatch(names[i].strip().lower())]:
        notes.append(f"{shown_names(unlike)} {_STAYS[len(unlike) > 1]}")
    elif last and not ends and (unlike := _like_statistics(names, above)):
        notes.append(f"{shown_names(unlike)} {_UNLIKE[len(unlike) > 1]}")
    if counters := [names[i] for i in rest if names[i].lower() in _COUNTERS]:
        told = f"the rows {shown_names(counters, 5)}" if len(counters) > 1 else f"the row {shown(counters[0])}"
        notes.append(f"{told} count reads that belong to no gene. Remove them from the file if the others are genes")
    said = tuple(f"{source}: {note}." for note in notes)
    start = above.rows
    if not last:
        _add(above, names, numbers, called, parts)
    for part, own in zip(held, _shared_out(rest, held), strict=True):
        if own or len(held) == 1:
            yield _without_rows(replace(part, notes=(*part.notes, *said), start=start), own)
            start, said = start + len(own), ()


def _shared_out(rows: Sequence[int], held: Sequence[TableFile]) -> list[list[int]]:
    """Return which rows of every part are among `rows`, which counts through all of them."""
    shared, first = [], 0
    for part in held:
        end = first + len(part.frame)
        shared.append([i - first for i in rows if first <= i < end])
        first = end
    return shared


def _refuse_unknown(names: Sequence[str], above: RowsAbove, source: str, *, last: bool) -> None:
    """Refuse rows of a table in parts of which only all rows together tell whether they sum up others."""
    if not above.rows:
        return
    ending = names[_end(names, above) :] if last else []
    medians = [name for name in ending if _is_ranked(name) and name not in above.words]
    grand = any(_plain(name) == "grand total" for name in names)
    unknown = above.part if grand and above.part is not None else next(iter(medians), None)
    if unknown is not None:
        text = (
            f"the row {shown(unknown)} may sum up other rows, which cannot be told while the file is read in parts. "
            "Read the file as a whole with --chunk-rows 0, or remove such rows from it."
        )
        raise TableError(source, [Problem(text)])


def _add(
    above: RowsAbove, names: Sequence[str], numbers: pd.DataFrame, called: Sequence[int], parts: Sequence[int]
) -> None:
    """Add rows to those above, with their names that matter for rows below."""
    above.add(numbers, called, parts)
    above.words.update(filter(_is_word, names))
    if above.part is None:
        others = (name for i, name in enumerate(names) if i not in called)
        above.part = next((name for name in others if _PART_SUM.fullmatch(name.strip().lower())), None)


def _told(names: Sequence[str], parts: Sequence[int], ends: Sequence[int]) -> list[str]:
    """Return notes about subtotals and statistics at the end that are left out."""
    notes = []
    if parts:
        told = "are sums of rows above them, so they are" if len(parts) > 1 else "is a sum of rows above it, so it is"
        notes.append(f"{shown_names([names[i] for i in parts])} {told} left out")
    if ends:
        what = ", ".join(shown(names[i]) for i in ends)
        told = "sums up the other rows, so it is" if len(ends) == 1 else "sum up the other rows, so they are"
        notes.append(f"{what} at its end {told} left out")
    return notes


def _without_rows(table: TableFile, kept: Sequence[int]) -> TableFile:
    if len(kept) == len(table.frame):
        return table
    ids = None if table.ids is None else [table.ids[i] for i in kept]
    return replace(table, frame=table.frame.iloc[kept].reset_index(drop=True), ids=ids)


def _names(table: TableFile, above: RowsAbove) -> list[str]:
    """Return the ids, or the texts of the first column that has some, as the names of rows."""
    if table.ids is not None:
        return table.ids
    if above.column is None:
        return [""] * len(table.frame)
    return list(table.frame[above.column].fillna("").astype(str))


def _plain(name: str) -> str:
    return name.strip().rstrip(":").lower()


def _is_word(name: str) -> bool:
    """Return whether a row of this name is called a statistic."""
    return _plain(name) in _WORDS or _is_ranked(name)


def _is_ranked(name: str) -> bool:
    """Return whether a row of this name is called a median or another quantile, for which all rows are needed."""
    return _plain(name) in _RANKED or _QUANTILE.fullmatch(_plain(name)) is not None


def _called(names: Sequence[str]) -> list[int]:
    """Return the rows that are called sums."""
    plain = [name.strip().lower() for name in names]
    parts = _PART_SUM if "grand total" in plain else _SUM
    return [i for i, name in enumerate(plain) if _SUM.fullmatch(name) or parts.fullmatch(name)]


def _subtotals(
    names: Sequence[str], numbers: pd.DataFrame, called: Sequence[int], above: RowsAbove, *, last: bool
) -> list[int]:
    """Return the rows that are called totals and hold the sums of the rows since the one before, or of all samples."""
    found: list[int] = []
    before, section, rows = 0, above.section, above.section_rows
    for i in called:
        sums = [added(section, numbers.iloc[before:i].sum())] if rows + i - before >= _PART else []
        if found or above.found:
            for others, total in ((found, above.left), (called, above.samples)):
                sums.append(added(total, numbers.iloc[[j for j in range(i) if j not in others]].sum()))
        if any(_are_sums(each, numbers.iloc[i]) for each in sums):
            found.append(i)
        before, section, rows = i + 1, None, 0
    if last and not above.found and found and found[0] >= _end(names, above):
        return []  # they are at the end, where means may follow
    return found


def _at_end(names: Sequence[str], numbers: pd.DataFrame, above: RowsAbove) -> int:
    """Return how many of the last rows are called a statistic of the other rows, and are one."""
    n = _end(names, above)
    ending = set(names[n:])
    if not ending or not ending.isdisjoint(names[:n]) or not ending.isdisjoint(above.words):
        return 0  # categories, such as y and n
    own = Statistics.of(numbers.iloc[:n], ranked=above.statistics is None)
    statistics = own if above.statistics is None else above.statistics.plus(own)
    return len(names) - n if all(_sums_up(statistics, numbers.iloc[i]) for i in range(n, len(names))) else 0


def _like_statistics(names: Sequence[str], above: RowsAbove) -> list[str]:
    """Return the last names if they are those of statistics, not of categories, and one is a mean or a deviation."""
    n = _end(names, above)
    ending = list(names[n:])
    if len(set(ending)) < len(ending) or not set(ending).isdisjoint(names[:n]) or not above.words.isdisjoint(ending):
        return []
    return ending if any(_plain(name) in _MEANS | _SPREADS - {"se", "sd", "cv", "var"} for name in ending) else []


def _end(names: Sequence[str], above: RowsAbove) -> int:
    """Return where the last rows begin that are called a statistic."""
    n = len(names)
    while n and above.rows + n > _LEAST and _is_word(names[n - 1]):
        n -= 1
    return n


def _are_sums(sums: pd.Series, last: pd.Series) -> bool:
    """Return whether every number of a row is the sum of those in some rows."""
    values = last.dropna().astype(float)
    if not values.any():
        return False  # rows of zeros
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused elsewhere
        return len(values) > 0 and np.allclose(sums.reindex(values.index).astype(float), values, rtol=_CLOSE, atol=0)


def _sums_up(statistics: Statistics, last: pd.Series) -> bool:
    """Return whether every number of a row is a sum, mean or other statistic of the numbers above it."""
    values = last.dropna()
    if values.empty:
        return False
    slack = _CLOSE * statistics.spread.reindex(values.index).fillna(0).to_numpy(float)  # a mean near 0 is rounded more
    each = [found.reindex(values.index).to_numpy(float) for found in statistics.each()]
    close = [np.isclose(values.to_numpy(float), found, rtol=_CLOSE, atol=slack) for found in each]
    return bool(np.any(close, axis=0).all())


def _is_sum(numbers: pd.DataFrame, above: RowsAbove) -> bool:
    """Return whether every number of the last row is the sum of those above it, and not 0."""
    last = numbers.iloc[-1].dropna()
    if above.rows + len(numbers) <= _ABOVE or len(last) < _COLUMNS:
        return False
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused elsewhere
        sums = added(above.left, numbers.iloc[:-1].sum()).reindex(last.index).to_numpy(dtype=np.float64)
    values = last.to_numpy(dtype=np.float64)
    known = np.isfinite(values) & np.isfinite(sums) & (values != 0)
    return bool(known.all() and (np.abs(sums - values) <= _EXACT * np.abs(values)).all())
