"""Columns of texts that most likely hold measurements, dates or times that are not read: a hint for each kind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import narwhals as nw

from kernelweave.samples.column_kinds import tell_apart
from kernelweave.samples.unread_texts import Unread, unread_texts
from kernelweave.tabular.date_text import dates_of
from kernelweave.tabular.number_text import text_columns
from kernelweave.tabular.problems import shown, shown_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["unread_hints"]

_NAMED = 3  # columns that an option names


def unread_hints(frame: pd.DataFrame, kept: Collection[str | None], *, named: bool) -> list[str]:
    """Return a sentence for every kind of measurements that columns hold as texts; `named` is whether there are ids."""
    found: defaultdict[str, list[tuple[str, Unread, bool]]] = defaultdict(list)
    for name in [name for name in text_columns(frame) if name not in kept]:
        different = frame[name].dropna().unique()
        unread = unread_texts([str(text).strip() for text in different])
        if unread is None or (unread.kind == "dates" and dates_of(frame[name]) is not None):
            continue
        if tell_apart(nw.from_native(frame[name], series_only=True), None)[0] in ("category", "left out"):
            found[unread.kind].append((str(name), unread, not named and len(different) == len(frame)))
    return [_told(columns) for columns in found.values()]


def _told(columns: Sequence[tuple[str, Unread, bool]]) -> str:
    names = [name for name, *_ in columns]
    _, unread, may_name = columns[0]
    several = len(names) > 1
    other = "" if unread.other is None or several else f", beside {shown(unread.other)}"
    as_what = "dates" if unread.kind == "dates" else "numbers"
    told = f"columns {shown_names(names)} seem" if several else f"column {shown(names[0])} seems"
    told += f" to hold {unread.kind} ({shown(unread.example)}{other}), which are not read as {as_what}"
    drop = " ".join(f'--drop "{name}"' for name in names[:_NAMED]) + " ..." * (len(names) > _NAMED)
    naming = f'. If {"one of them" if several else "it"} names the samples, pass --id "{names[0]}"' if may_name else ""
    return f"{told}. {unread.advice}, or leave {'them' if several else 'it'} out with {drop}{naming}"
