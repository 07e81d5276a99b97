"""Tables as models take them: numbers, or mixed tables as they are; what is in the way is named by column and row."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Mask, Matrix
from kernelweave.errors import InvalidInputError
from kernelweave.samples.column_kinds import Column
from kernelweave.samples.mixed_table import ColumnChoices, MixedTable, fit_mixed, is_mixed, reasons_left_out
from kernelweave.samples.unrelated import without_unrelated
from kernelweave.samples.views import Views
from kernelweave.tabular.column_hints import most_words
from kernelweave.tabular.number_text import is_number, is_only_unit, seems_number
from kernelweave.tabular.problems import Problem, Way, need_column, shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "fitted_columns",
    "mixed_reading",
    "needed_by_model",
    "none_of_fit",
    "unrelated_columns",
    "usable",
    "without_data",
]

_REASONS = 3  # columns that are left out whose reason is told
_MARKS = 3  # different texts among the numbers of a column that a command takes as missing
_MEASURED = 2  # numbers that a column must have below a unit
_LIMIT = r"\s*[<>≤≥~]\s*[\d.,]"  # a limit of detection, such as <0.5
_ONE_BY_ONE = 3  # columns with the same words that are named one by one


def fitted_columns(table: pd.DataFrame, source: str, columns: Sequence[str]) -> pd.DataFrame:
    """Return the columns that a model of numbers was fitted on, in their order."""
    own = list(table)
    return table[[need_column(own, name, source) for name in columns]]


def needed_by_model(problem: Problem) -> Problem:
    """Return a problem of a column that a fitted model needs: no option solves it, since none may leave it out."""
    return Problem(f"{problem.text} The model was fitted on this column: correct the file, or leave the row out.")


def usable(
    table: pd.DataFrame, *, mixed: bool | None, gaps: bool, fill: bool, may_be_equal: bool, ids: bool
) -> tuple[pd.DataFrame, list[Problem]]:
    """Return the table as numbers, or as it is if it is mixed, and the problems that prevent its use.

    `mixed` tells whether it is a mixed table, None if that is to be found out. With `gaps`, a row may be missing as a
    whole: the sample has no data in this view. With `fill`, missing cells are no problem, since they will be filled.
    With `may_be_equal`, all rows may be equal. `ids` tells whether the samples have names already.
    """
    import pandas as pd

    if table.columns.empty:
        return table, [Problem("it has no columns of features left: drop fewer.")]
    most = 1.0 if mixed is False else 0.0
    fills = fill or mixed is True
    texts = {str(name): _text(table[name], most, ids=ids, fills=fills) for name in table}
    problems = [problem for problem in texts.values() if problem is not None]
    if (odd := _row_of_words(table, [name for name, problem in texts.items() if problem is not None])) is not None:
        return table, [odd]
    readable = table.drop(columns=[name for name, problem in texts.items() if problem is not None])
    if mixed or (mixed is None and is_mixed(readable)):
        numeric = readable.select_dtypes("number", exclude="timedelta")
        values = numeric.to_numpy(dtype=np.float64, na_value=np.nan)
        none = np.zeros(values.shape, dtype=bool)
        problems = _joined_problems(problems + _holes(none, values, list(map(str, numeric)), fills=True), table)
        return table, problems + ([] if problems or gaps else without_data(table, mixed_reading(table)))
    values = readable.to_numpy(dtype=np.float64, na_value=np.nan)
    missing = np.isnan(values) & (not fill)
    if gaps:
        missing &= ~missing.all(axis=1, keepdims=True)
    problems = _joined_problems(problems + _holes(missing, values, list(map(str, readable)), fills=fill), table)
    if not problems and fill and not gaps:
        problems = without_data(readable, mixed_reading(readable))
    if not problems and not may_be_equal and len(values) > 1 and (values == values[0]).all():
        problems = [Problem(f"all {len(values)} rows are the same: pass samples that differ in some feature.")]
    return pd.DataFrame(values, columns=readable.columns, index=table.index), problems


def none_of_fit(table: pd.DataFrame, reading: MixedTable) -> Problem | None:
    """Return the problem that a table has none of the columns that a model uses; None if it has some."""
    used = [column.name for columns in reading.blocks.values() for column in columns]
    own = list(map(str, table))
    if not used or set(used).intersection(own):
        return None
    needed, held = shown_names(used), shown_names(own)
    return Problem(f"it has none of the columns that the model was fitted on ({needed}): its columns are {held}.")


def mixed_reading(table: pd.DataFrame) -> MixedTable | None:
    """Return how a model reads a table that is mixed, or whose missing cells are filled; None for any other table."""
    if not table.isna().any(axis=None) and not is_mixed(table):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model says it again
        try:
            return fit_mixed(table, "X")[0]
        except InvalidInputError:  # no column tells samples apart
            return MixedTable(tuple(Column(name, "left out", why) for name, why in reasons_left_out(table).items()))


def unrelated_columns(table: pd.DataFrame) -> dict[str, str]:
    """Return the columns of a mixed table that a model without labels leaves out, and why: as no other is related."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model says it
        views = Views({"X": table.reset_index(drop=True)}, choices=ColumnChoices(gaps=False))
        reading = without_unrelated(views).readings["X"]
    return reading.left_out if isinstance(reading, MixedTable) else {}


def without_data(table: pd.DataFrame, reading: MixedTable | None) -> list[Problem]:
    """Return the problem that a model uses no column of a table, or that rows lack every column that it uses."""
    used = [] if reading is None else [column.name for columns in reading.blocks.values() for column in columns]
    if reading is not None and not used:
        names = shown_names(list(map(str, table)))
        reasons = "; ".join(f"{name!r}: {why}" for name, why in [*reading.left_out.items()][:_REASONS] if why)
        text = f"it has no column that tells samples apart ({names}). Add one of numbers or categories."
        return [Problem(f"{text} Columns are left out: {reasons}." if reasons else text)]
    lacking = table[[name for name in table if str(name) in used]].isna().all(axis=1).to_numpy()
    if not used or not lacking.any():
        return []
    rows = np.flatnonzero(lacking)
    more = "" if len(rows) == 1 else f" and {counted(len(rows) - 1, 'other row')}"
    first = f"row {rows[0] + 1} (sample {str(table.index[rows[0]])!r})"
    has = "has" if len(rows) == 1 else "have"
    return [Problem(f"{first}{more} {has} no value in any feature. Add one, or leave the row out.")]


def _holes(missing: Mask, values: Matrix, names: Sequence[str], *, fills: bool) -> list[Problem]:
    """Return the columns in which a value is infinite or missing; `fills` tells whether missing cells are filled."""
    problems = []
    for bad, text in ((np.isinf(values), "is infinite"), (missing, "has no value")):
        for j in np.flatnonzero(bad.any(axis=0)).tolist():
            rows = np.flatnonzero(bad[:, j])
            more = "" if len(rows) == 1 else f" and {counted(len(rows) - 1, 'other')}"
            ways = [Way("leave it out", {"drop": names[j]})]
            if fills:  # then no cell is a problem for being missing
                ways.insert(0, _as_missing(names[j], sorted({str(value) for value in values[rows, j]})))
            problems.append(Problem(f"column {names[j]!r} {text} in row {rows[0] + 1}{more}.", tuple(ways)))
    return problems


def _below_unit(name: str, unit: str) -> Problem:
    """Return the problem of a row of units that was not recognised, since some of its cells are not known units."""
    text = (
        f"column {name!r} holds numbers, but {shown(unit)} in its first row, which seems to be a row of units, not "
        f"a sample. Remove the row, and write units into the names, such as {shown(f'{name} [{unit}]')}."
    )
    return Problem(text, (Way("leave the column out", {"drop": name}),))


def _as_missing(name: str, texts: Sequence[str]) -> Way:
    return Way(
        f"take {'it' if len(texts) == 1 else 'them'} as missing", {"missing": tuple(f"{name}={t}" for t in texts)}
    )


@np.errstate(invalid="ignore")  # infinity is no whole number
def _text(column: pd.Series, most: float, *, ids: bool, fills: bool) -> Problem | None:
    """Return what is in the way of reading a column as numbers, if at most this share of it are texts, or limits.

    Of measured numbers more may be texts.
    """
    import pandas as pd

    kind, name = column.dtype, str(column.name)
    if pd.api.types.is_bool_dtype(kind) or (pd.api.types.is_numeric_dtype(kind) and kind.kind != "c"):
        return None
    if most < 1 and not any(map(seems_number, column.dropna().tolist())):
        return None
    known = column.notna().to_numpy()
    limits, whole = False, False
    if kind.kind == "c":
        text, marks = known, _words(column)
    else:
        numbers = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        text = np.isnan(numbers) & known
        marks = _words(column[text])
        whole = bool((numbers[~np.isnan(numbers)] % 1 == 0).all())
        limits = bool(column[text].astype(str).str.match(_LIMIT).all()) and text.sum() < known.sum()
        if text.sum() == 1 and text[0] and known.sum() > _MEASURED and is_only_unit(str(column.iloc[0]).strip()):
            return _below_unit(name, str(column.iloc[0]).strip())
        most = max(most, most_words(numbers[~np.isnan(numbers)], len(marks)))
        if not text.any() or (text.sum() > most * known.sum() and not limits):
            return None
    where = int(text.argmax())
    said = f"column {name!r} holds {shown(column.iloc[where])} in row {where + 1}, which is not a number."
    naming, leaving = Way("it names the samples", {"id": name}), Way("leave it out", {"drop": name})
    if whole and not ids and column.astype(str).nunique() == len(column):
        return Problem(said, (naming, leaving))
    if not fills or limits or len(marks) > _MARKS or text.sum() > most * known.sum() or any("=" in m for m in marks):
        return Problem(said, (leaving, naming))
    return Problem(said, (_as_missing(name, marks), leaving, naming))


def _words(column: pd.Series) -> list[str]:
    return sorted(set(column.dropna().astype(str).str.strip()))


def _joined_problems(problems: Sequence[Problem], table: pd.DataFrame) -> list[Problem]:
    """Return the problems of a table, those of many columns that are settled by the same codes for missing as one.

    The option takes the codes as missing in all columns, so it is not for words that are categories of another one.
    """
    alike: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    for i, problem in enumerate(problems):
        codes = problem.ways[0].options.get("missing") if problem.ways else None
        if isinstance(codes, tuple):
            name = codes[0].rpartition("=")[0]
            alike[tuple(code.rpartition("=")[2] for code in codes)].append((i, name))
    merged: dict[int, Problem | None] = {}
    for words, found in alike.items():
        names = [name for _, name in found]
        if len(found) > _ONE_BY_ONE and not any(
            _has_category(table[name], words) for name in table if name not in names
        ):
            merged |= {i: None for i, _ in found} | {found[0][0]: _of_columns(table[names], words)}
    kept = [merged.get(i, problem) for i, problem in enumerate(problems)]
    return [problem for problem in kept if problem is not None]


def _of_columns(columns: pd.DataFrame, words: Sequence[str]) -> Problem:
    """Return the problem that columns hold words among their numbers."""
    hit = columns.apply(lambda column: column.astype(str).str.strip().isin(words)).any(axis=1)
    first = int(hit.to_numpy().argmax()) + 1
    names, listed = list(map(str, columns)), " or ".join(map(shown, words))
    told = f"hold {listed}, first in row {first}, which {'is not a number' if len(words) == 1 else 'are no numbers'}"
    if set(words) <= {"inf", "-inf"}:
        told = f"have infinite values, first in row {first}"
    text = f"{len(names)} columns ({shown_names(names)}) {told}."
    meaning = f"take {'it' if len(words) == 1 else 'them'} as missing"
    return Problem(text, (Way(meaning, {"missing": tuple(words)}),), columns=tuple(names))


def _has_category(column: pd.Series, words: Sequence[str]) -> bool:
    """Return whether a column has one of the words beside others that are no numbers."""
    if column.dtype.kind in "biufcmM":
        return False
    texts = column.dropna().astype(str).str.strip()
    hit = texts.isin(words)
    return bool(hit.any()) and not all(map(is_number, texts[~hit]))


def _row_of_words(table: pd.DataFrame, names: Sequence[str]) -> Problem | None:
    """Return the problem of a row that has other words in each of the columns of numbers; None if there is none.

    `names` are the columns that have words among their numbers; the other columns of numbers have no entry there. Such
    a row, whose words occur in no other row, is the header of another table, or holds names or units.
    """
    if len(names) < 2:
        return None
    words = table[list(names)].map(lambda cell: "" if cell != cell or is_number(str(cell)) else str(cell).strip())
    full = (words != "").all(axis=1) & table.drop(columns=list(names)).select_dtypes("number").isna().all(axis=1)
    for i, own in zip(full.to_numpy().nonzero()[0], words[full].to_numpy().tolist(), strict=True):
        if len(set(own)) == len(own) and (words == own).sum().eq(1).all():
            text = (
                f"row {i + 1} (sample {shown(table.index[i])}) holds words in all columns of numbers "
                f"({shown_names(own)}): it seems to be a header, or names or units of the columns, not a sample. "
                "Remove it from the file, and what belongs to another table."
            )
            return Problem(text, columns=tuple(names))
    return None
