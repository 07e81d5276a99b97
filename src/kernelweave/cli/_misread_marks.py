"""Columns whose numbers do not have the decimal or thousands mark that options give."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

from kernelweave.tabular.number_text import is_number
from kernelweave.tabular.problems import Problem, Way, shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.tabular import ReadOptions

__all__ = ["misread_marks"]


_GROUPED = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d{1,3})")


def misread_marks(frame: pd.DataFrame, read_options: ReadOptions) -> list[Problem]:
    """Return the problem of columns of numbers with a decimal point, if the options say that a point is not one.

    They were left as texts, but a model would read them as numbers with a point after all. If other columns have the
    marks that were given, as beside versions or times such as 8.30, a warning says so instead. Numbers such as 3.000,
    whose points may separate thousands, are a problem in any case.
    """
    if read_options.decimal != "," and read_options.thousands != ".":
        return []
    flag = "--decimal ," if read_options.decimal == "," else "--thousands ."
    found = {}
    for name, column in frame.items():
        if column.dtype.kind in "biufcmM" or hasattr(column.dtype, "categories") or name == read_options.labels:
            continue  # not texts, or not a feature
        cells = column.dropna().astype(str)
        pointed = cells[cells.str.contains(".", regex=False)]
        if len(pointed) and all(map(is_number, cells)):
            found[str(name)] = pointed.iloc[0]
    if not found:
        return []
    thousands = {
        name: cell for name, cell in found.items() if read_options.thousands is None and _are_grouped(frame[name])
    }
    if thousands:
        name, cell = next(iter(thousands.items()))
        told = f"column {shown_names(list(thousands))} holds {shown(cell)}, which may be {cell.replace('.', '')}"
        ways = (Way("a point separates thousands", {"thousands": "."}), Way("leave it out", {"drop": name}))
        return [Problem(f"{told}: {flag} does not say what the point is.", ways)]
    first = (
        f"column {shown_names(list(found))} holds numbers with a decimal point ({shown(next(iter(found.values())))})"
    )
    if any(column.dtype.kind == "f" for _, column in frame.items()):
        msg = f"{first}, though {flag} was given. If these are not numbers, leave them out with --drop."
        warnings.warn(msg[0].upper() + msg[1:], UserWarning, stacklevel=3)
        return []
    return [
        Problem(f"{first}, but {flag} says that a point is not one. Leave {flag} out, or these columns with --drop.")
    ]


def _are_grouped(column: pd.Series) -> bool:
    """Return whether all points of a column may separate thousands."""
    return all(map(_GROUPED.fullmatch, column.dropna().astype(str).str.strip()))
