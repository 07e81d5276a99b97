"""The ids by which the tables of several views are joined: what they share, and what they lack."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.samples.alignment import examples, holds_ids, unlinked
from kernelweave.tabular.problems import shown
from kernelweave.tabular.row_labels import repeated

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.cli._inputs import ViewFile

__all__ = ["check_ids"]

_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")
_SHARED = 0.5  # of the entries of a column that names the same samples in two tables


def check_ids(tables: Mapping[str, pd.DataFrame], found: Mapping[str, ViewFile]) -> None:
    """Refuse views that share hardly any id; say how many samples are in all views if some are not."""
    named = {str(view.path): view.table.ids is not None for view in found.values()}
    if len(set(named.values())) > 1:
        _refuse_some_ids(found)
    lengths = {name: len(table) for name, table in tables.items()}
    sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
    if not all(named.values()):
        if len(set(lengths.values())) > 1:
            msg = f"The views have different numbers of rows ({sizes}): pass the column of the sample names with --id."
            raise InvalidInputError(msg)
        _refuse_other_orders(list(found.values()))
    _need_shared({name: table.index for name, table in tables.items()}, found)
    counts = Counter(sample for table in tables.values() for sample in table.index)
    everywhere = sum(count == len(tables) for count in counts.values())
    if everywhere < len(counts):
        views, some = ("both views", "one") if len(tables) == 2 else (f"all {len(tables)} views", "some")
        text = f"{everywhere} of {counted(len(counts), 'sample')} are in {views} ({sizes}); "
        warnings.warn(f"{text}the others are in {some} of them.", UserWarning, stacklevel=2)


def _refuse_some_ids(found: Mapping[str, ViewFile]) -> None:
    """Refuse tables of which only some have ids, and say which entry is in the way of those that do not."""
    has, lacks = (
        next(view for view in found.values() if (view.table.ids is not None) is kind) for kind in (True, False)
    )
    msg = f"{has.path} names its samples, but {lacks.path} does not"
    title = has.table.title
    wrong = repeated(lacks.table.frame[title]) if title in lacks.table.frame else None
    if wrong is not None:
        row, text = wrong
        told = f"holds {shown(text)} again in row {row}" if text else f"has no entry in row {row}"
        msg = f"{msg}: its column {title!r} {told}. Give every sample one row and an id of its own."
        raise InvalidInputError(msg)
    msg = f"{msg}: pass --id with a column of ids that every table has."
    raise InvalidInputError(msg)


def _refuse_other_orders(views: Sequence[ViewFile]) -> None:
    """Refuse tables without ids that have a column in common which names their samples, in another order.

    The rows would be joined by their numbers. Several such columns must agree on the order: ranks hold the same numbers
    in every column, and name nothing.
    """
    common = [
        name
        for name in views[0].table.frame
        if all(name in view.table.frame and _names(view.table.frame[name]) for view in views)
    ]
    found = {name: _orders([view.table.frame[name] for view in views]) for name in common}
    orders = {name: order for name, order in found.items() if order is not None}
    if len(set(orders.values())) != 1:
        return
    name, order = next(iter(orders.items()))
    if any(list(rows) != list(range(len(rows))) for rows in order):
        files = " and ".join(str(view.path) for view in views[:2])
        msg = (
            f"{files} have the column {name!r}, whose entries are all different and mostly the same in every table, "
            f"but not in the same rows: pass --id {name!r} if it names the samples, or --drop {name!r} if the rows "
            "of the tables do belong together."
        )
        raise InvalidInputError(msg)


def _names(column: pd.Series) -> bool:
    """Return whether the entries of a column may name samples: texts or whole numbers, each once."""
    if not column.is_unique or column.hasnans:
        return False
    return column.dtype.kind != "f" or bool((column == np.rint(column)).all())


def _orders(columns: Sequence[pd.Series]) -> tuple[tuple[int, ...], ...] | None:
    """Return the row of each entry of a column in the next one, -1 if it has none; None if they share too few."""
    import pandas as pd

    rows = [pd.Index(other).get_indexer(pd.Index(one)) for one, other in pairwise(columns)]
    if any((at >= 0).mean() < _SHARED for at in rows):
        return None
    return tuple(tuple(at.tolist()) for at in rows)


def _need_shared(indexes: Mapping[str, pd.Index], found: Mapping[str, ViewFile]) -> None:
    """Refuse views whose ids are (nearly) all different: most likely they are written in different ways."""
    apart = unlinked(indexes)
    if apart is None:
        return
    view, other = apart.view, apart.others[0]
    own, its = found[view].path, found[other].path
    for one, another in ((view, other), (other, view)):
        if holds_ids(found[one].table.frame, indexes[another]):
            msg = (
                f"The columns of {found[one].path} have the names of the ids of {found[another].path}: the samples are "
                "columns in one file and rows in the other. Transpose one of them first; --transpose turns all files."
            )
            raise InvalidInputError(msg)
    zeros = _zeros(indexes[view], indexes[other], str(own), str(its))
    msg = (
        f"{own} shares {apart.shared or 'none'} of its {counted(len(indexes[view]), 'id')} with "
        f"{', '.join(str(found[name].path) for name in apart.others)}: it holds {examples(indexes[view])}, "
        f"{its} {examples(indexes[other])}. {zeros}Write the id of a sample alike in all tables, or name "
        "the column that has the same ids in all with --id."
    )
    raise InvalidInputError(msg)


def _zeros(index: pd.Index, other: pd.Index, own: str, its: str) -> str:
    """Return the sentence that ids would be the same without zeros in front, as spreadsheets write them; else ""."""
    plain = {_ZEROS.sub("", str(name)): str(name) for name in other}
    pairs = [(str(name), plain[short]) for name in index if (short := _ZEROS.sub("", str(name))) in plain]
    differ = [(one, another) for one, another in pairs if one != another]
    if len(differ) < _SHARED * min(len(index), len(other)):
        return ""
    (one, another), file = differ[0], own if len(differ[0][0]) < len(differ[0][1]) else its
    return (
        f"They seem to be the same but for zeros in front ({one!r} and {another!r}), which spreadsheets remove: "
        f"write those of {file} with the zeros again. "
    )
