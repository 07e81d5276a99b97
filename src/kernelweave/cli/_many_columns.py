"""Words among the numbers of many columns: one problem that one option solves, or a row that is not a sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelweave.tabular.number_text import is_number
from kernelweave.tabular.problems import Problem, Way, shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["row_of_words", "together"]

_FEW = 3  # columns with the same words that are named one by one


def together(problems: Sequence[Problem], table: pd.DataFrame) -> list[Problem]:
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
        if len(found) > _FEW and not any(_has_category(table[name], words) for name in table if name not in names):
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


def row_of_words(table: pd.DataFrame, names: Sequence[str]) -> Problem | None:
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
