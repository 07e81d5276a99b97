"""The samples of a command: one table, or several views joined on their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Array
from kernelweave.cli._numeric import fitted_columns, match_columns, need_column, numbers, sample_ids, text_of
from kernelweave.cli._read import read_file
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    Frames: TypeAlias = pd.DataFrame | dict[str, pd.DataFrame]

__all__ = ["Inputs", "partial_labels", "read_inputs"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The data of a command: X (one frame, or a dict of frames by view), ids, and labels (None if unknown)."""

    X: Frames
    ids: list[str]
    labels: list[str | None] | None = None


def read_inputs(
    files: Sequence[Path],
    views: Sequence[str] = (),
    *,
    id: str | None = None,
    labels: str | None = None,
    one_hot: Sequence[str] = (),
    drop: Sequence[str] = (),
    header: bool = True,
    columns: Sequence[str] | None = None,
    least: int = 2,
) -> Inputs:
    """Return the samples in files; several files are views, joined on the id column.

    `columns` are the features that a model was fitted on: a single table is reduced to them, in their order. There must
    be at least `least` samples.
    """
    sources = _sources(files, views)
    tables: dict[str, pd.DataFrame] = {}
    known: dict[str, str | None] = {}
    seen: set[str] = set()
    for name, path in sources.items():
        raw = read_file(path, named=[column for column in (id, labels) if column], header=header)
        seen.update(raw.columns)
        ids = sample_ids(raw, id, str(path))
        if labels is not None and labels in raw:
            known |= _labels(raw[labels], ids)
        raw.index = ids
        features = raw.drop(columns=[column for column in (id, labels, *drop) if column in raw])
        wanted = columns if len(sources) == 1 else None
        if wanted is not None:
            features = fitted_columns(features, str(path), wanted, one_hot)
        table = numbers(features, str(path), one_hot=one_hot, gaps=len(sources) > 1, alike=least < 2)
        tables[name] = table if wanted is None else match_columns(table, str(path), wanted)
    for column in (*([labels] if labels else []), *drop, *one_hot):
        if column not in seen:
            need_column(tables[next(iter(tables))], column, ", ".join(map(str, sources.values())))
    return _joined(tables, known if labels is not None else None, by_id=id is not None, least=least)


def _sources(files: Sequence[Path], views: Sequence[str]) -> dict[str, Path]:
    named = [(path.stem, path) for path in files]
    for view in views:
        name, _, path = view.partition("=")
        if not name or not path:
            msg = f"--view {view!r} must be name=FILE, such as --view genes=genes.csv."
            raise InvalidInputError(msg)
        named.append((name, Path(path)))
    if not named:
        msg = "No file was given: name at least one, such as data.csv."
        raise InvalidInputError(msg)
    names = [name for name, _ in named]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"Two views are called {twice!r}: name them with --view name=FILE."
        raise InvalidInputError(msg)
    return dict(named)


def _labels(column: pd.Series, ids: list[str]) -> dict[str, str | None]:
    texts = [None if missing else text_of(value).strip() for value, missing in zip(column, column.isna(), strict=True)]
    return {sample: text or None for sample, text in zip(ids, texts, strict=True) if text != "-1"}


def _joined(tables: dict[str, pd.DataFrame], known: dict[str, str | None] | None, *, by_id: bool, least: int) -> Inputs:
    order = list(dict.fromkeys(sample for table in tables.values() for sample in table.index))
    lengths = {name: len(table) for name, table in tables.items()}
    if not by_id and len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        msg = f"The views have different numbers of rows ({sizes}): pass the column of the sample names with --id."
        raise InvalidInputError(msg)
    if len(order) < least:
        msg = f"There is only {counted(len(order), 'sample')}; at least {least} are needed."
        raise InvalidInputError(msg)
    labels = None if known is None else [known.get(sample) for sample in order]
    if len(tables) == 1:
        return Inputs(next(iter(tables.values())).reset_index(drop=True), order, labels)
    return Inputs(tables, order, labels)


def partial_labels(labels: Sequence[str | None]) -> Array:
    """Return labels in the form that classifiers take: text, and -1 for unlabelled samples."""
    y = np.empty(len(labels), dtype=object)
    y[:] = [-1 if label is None else label for label in labels]
    return y
