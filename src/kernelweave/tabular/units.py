"""The units of columns: said in the cells, in a row below the header, or in the name, as in weight [kg]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kernelweave.tabular.number_text import is_unit

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["is_only_unit", "named_units"]

_LETTERS = frozenset("smhdglLKVJW%‰°$€£¥")  # units of one character that are not codes, as X is among chromosomes
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


def is_only_unit(text: str) -> bool:
    """Return whether a text is a unit, and no code or category that looks like one."""
    return is_unit(text) and (len(text) > 1 or text in _LETTERS)
