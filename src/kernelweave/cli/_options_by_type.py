"""Options of reading that say something of some types of files only, and numbers that do not have the marks given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave.errors import InvalidInputError
from kernelweave.tabular.intake import FORMATS, TEXTS, type_of
from kernelweave.tabular.number_text import is_number
from kernelweave.tabular.problems import Problem, shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.tabular import Wishes

__all__ = ["CELLS", "HONOURED", "misread_marks", "refuse_unused"]

_JSON = (".json", ".jsonl", ".ndjson")
CELLS = (*TEXTS, *_JSON, ".parquet", ".feather", ".xlsx")  # whose cells may be texts, and whose columns are features
HONOURED = {
    "header": (*TEXTS, ".xlsx"),
    "sep": TEXTS,
    "decimal": CELLS,
    "thousands": CELLS,
    "limits": CELLS,
    "long": CELLS,
    "encoding": (*TEXTS, *_JSON, ".gct"),
    "sheet": (".xlsx",),
    "missing": tuple(suffix for suffix in FORMATS if suffix != ".gct"),
}


def refuse_unused(wishes: Wishes, paths: Sequence[Path]) -> None:
    """Refuse an option that says nothing of any of the files; a file of an unknown type may be any."""
    types = [type_of(path) for path in paths]
    if not all(suffix in FORMATS for suffix in types):
        return
    for name, honoured in HONOURED.items():
        given = getattr(wishes, name) not in (None, (), "limit")
        if given and types and not set(types).intersection(honoured):
            flag = "no-header" if name == "header" and wishes.header is False else name
            files, those = ", ".join(map(str, paths)), " ".join(honoured)
            msg = f"--{flag} is for files of type {those}; got {files}, of which it says nothing. Leave it out."
            raise InvalidInputError(msg)


def misread_marks(frame: pd.DataFrame, wishes: Wishes) -> list[Problem]:
    """Return the problem of columns of numbers with a decimal point, if the options say that a point is none.

    They were left as texts, but a model would read them as numbers with a point after all.
    """
    if wishes.decimal != "," and wishes.thousands != ".":
        return []
    flag = "--decimal ," if wishes.decimal == "," else "--thousands ."
    found = {}
    for name, column in frame.items():
        if column.dtype.kind in "biufcmM" or hasattr(column.dtype, "categories") or name == wishes.labels:
            continue  # no texts, or no feature
        cells = column.dropna().astype(str)
        pointed = cells[cells.str.contains(".", regex=False)]
        if len(pointed) and all(map(is_number, cells)):
            found[str(name)] = pointed.iloc[0]
    if not found:
        return []
    first = (
        f"column {shown_names(list(found))} holds numbers with a decimal point ({shown(next(iter(found.values())))})"
    )
    return [Problem(f"{first}, but {flag} says that a point is none. Leave {flag} out, or these columns with --drop.")]
