"""The units of columns: said in the cells, in a row below the header, or in the name, as in weight [kg]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernelweave.tabular.number_text import is_unit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["named_units"]

_BRACKETS = re.compile(r".*\S\s*[\[(](?P<unit>[^\[\]()]+)[\])]\s*")


def named_units(frame: pd.DataFrame, said: Mapping[str, str]) -> dict[str, str]:
    """Return the units of the columns of a table by name: those that the file says, and those in the names."""
    found = {}
    for name in map(str, frame):
        bracket = _BRACKETS.fullmatch(name)
        if name in said:
            found[name] = said[name]
        elif bracket is not None and is_unit(bracket["unit"]):
            found[name] = bracket["unit"].strip()
    return found
