"""Tables of any kind as blocks of numbers, with how each was read, so that new tables are read alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np

from kernelweave.errors import InvalidInputError
from kernelweave.samples.column_kinds import holds_numbers
from kernelweave.samples.comparisons import Distances, Graph, Neighbourhoods, Placement, fit_comparison
from kernelweave.samples.mixed_table import ColumnChoices, MixedTable, fit_mixed
from kernelweave.samples.named_columns import NamedColumns
from kernelweave.samples.table import Table, as_narwhals, is_frame, is_plain, read_table

__all__ = ["Choices", "TableReading", "is_mixed", "read_tables", "same_reading"]

TableReading: TypeAlias = NamedColumns | MixedTable | Placement | Neighbourhoods
Choices: TypeAlias = ColumnChoices | Mapping[str, ColumnChoices] | None  # for all data frames, or by table


def read_tables(
    named: Mapping[str, Any], choices: Choices, readings: Mapping[str, TableReading]
) -> tuple[dict[str, Table], dict[str, str], dict[str, TableReading]]:
    """Return the blocks of all tables by name, the table of each block, and how each table was read.

    `readings` are those of `fit`: a table that has one is read so again. The blocks of a mixed table are called after
    it, "clinic: numbers", but for a table "X", which is the only one.
    """
    blocks: dict[str, Table] = {}
    sources: dict[str, str] = {}
    found: dict[str, TableReading] = {}
    for name, thing in named.items():
        if name in readings:
            found[name], parts = readings[name], readings[name].read(thing, name)
        else:
            own = choices.get(name) if isinstance(choices, Mapping) else choices  # None: it is told whether it is mixed
            found[name], parts = _fit_reading(thing, name, own)
        for part, table in parts.items():
            title = part if name == "X" and part else f"{name}: {part}" if part else name
            if title in blocks:
                msg = f"Two views are called {title!r}: rename one of the tables."
                raise InvalidInputError(msg)
            blocks[title], sources[title] = table, name
    return blocks, sources, found


def same_reading(one: TableReading, other: TableReading | None) -> bool:
    """Return whether two tables were read alike, with the same categories and constants."""
    if isinstance(one, Placement | Neighbourhoods):
        return type(other) is type(one) and np.array_equal(one.seen.digests, other.seen.digests)
    return one == other


def is_mixed(thing: Any) -> bool:
    """Return whether this is a data frame with columns that cannot be read as numbers."""
    frame = as_narwhals(thing) if is_frame(thing) and not is_plain(thing) else None
    if frame is None:
        return False
    others = [name for name, kind in frame.schema.items() if not (kind.is_numeric() or kind == nw.Boolean)]
    return not all(holds_numbers(frame[name]) for name in others)


def _fit_reading(thing: Any, name: str, choices: ColumnChoices | None) -> tuple[TableReading, dict[str, Table]]:
    if isinstance(thing, Distances | Graph):
        return fit_comparison(thing, name)
    if is_frame(thing) and (choices is not None or is_mixed(thing)):
        return fit_mixed(thing, name, choices)
    table = read_table(thing, name)
    return NamedColumns(table.columns), {"": table}
