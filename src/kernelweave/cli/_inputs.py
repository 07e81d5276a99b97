"""The samples of a command: one table, or several views joined by their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelweave.cli._numbers import need_column, numbers, sample_ids, text_of
from kernelweave.cli._read import read_file
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Samples", "partial_labels", "read_samples"]


@dataclass(frozen=True, slots=True)
class Samples:
    """What a model is fitted on: X, one frame or a dict of them by view; the samples' ids; labels, None if unknown."""

    X: Any
    ids: list[str]
    labels: list[str | None] | None = None


def read_samples(
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
) -> Samples:
    """Return the samples in files; more than one file are views, joined on the id column.

    Of a single table only `columns` are taken, if a model is to see the features that it was fitted on.
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
        if columns is not None and len(sources) == 1 and not one_hot:
            features = features[[need_column(features, column, str(path)) for column in columns]]
        tables[name] = numbers(features, str(path), one_hot=one_hot, gaps=len(sources) > 1, alike=least < 2)
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
        msg = f"Two views are called {twice!r}: give them names of their own by --view name=FILE."
        raise InvalidInputError(msg)
    return dict(named)


def _labels(column: pd.Series, ids: list[str]) -> dict[str, str | None]:
    texts = [None if missing else text_of(value).strip() for value, missing in zip(column, column.isna(), strict=True)]
    return {sample: text or None for sample, text in zip(ids, texts, strict=True) if text not in ("-1",)}


def _joined(
    tables: dict[str, pd.DataFrame], known: dict[str, str | None] | None, *, by_id: bool, least: int
) -> Samples:
    order = list(dict.fromkeys(sample for table in tables.values() for sample in table.index))
    lengths = {name: len(table) for name, table in tables.items()}
    if not by_id and len(set(lengths.values())) > 1:
        counted = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        msg = f"The views have different numbers of rows ({counted}): name the column that tells samples by --id."
        raise InvalidInputError(msg)
    if len(order) < least:
        msg = f"There is only {len(order)} sample; at least {least} are needed."
        raise InvalidInputError(msg)
    labels = None if known is None else [known.get(sample) for sample in order]
    if len(tables) == 1:
        return Samples(next(iter(tables.values())).reset_index(drop=True), order, labels)
    return Samples(tables, order, labels)


def partial_labels(labels: list[str | None]) -> Any:
    """Return labels as an estimator takes them: text, and -1 for the unlabelled."""
    y = np.empty(len(labels), dtype=object)
    y[:] = [-1 if label is None else label for label in labels]
    return y
