"""The samples of a command: one table, or several views joined on their ids."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Array
from kernelweave.cli._numeric import fitted_columns, match_columns, need_column, numbers, sample_ids, text_of
from kernelweave.cli._read import read_file
from kernelweave.cli._row_names import RawTable
from kernelweave.errors import InvalidInputError
from kernelweave.samples.alignment import examples, unlinked

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
    columns_of: dict[str, list[str]] = {}
    named: dict[str, bool] = {}
    for name, path in sources.items():
        raw = read_file(path, id=id, labels=labels, asked=[*drop, *one_hot], header=header)
        frame = raw.frame
        columns_of[name] = [*raw.columns, *frame]
        ids = _ids(raw, id, str(path))
        named[str(path)] = ids is not None
        frame.index = [str(i + 1) for i in range(len(frame))] if ids is None else ids
        if labels is not None and labels in frame:
            known |= _labels(frame[labels])
        features = frame.drop(columns=[column for column in (id, labels, *drop) if column in frame])
        wanted = columns if len(sources) == 1 else None
        if wanted is not None:
            features = fitted_columns(features, str(path), wanted, one_hot)
        table = numbers(features, str(path), one_hot=one_hot, gaps=len(sources) > 1, alike=least < 2)
        tables[name] = table if wanted is None else match_columns(table, str(path), wanted)
    for column in (*([labels] if labels else []), *drop, *one_hot):
        if not any(column in each for each in columns_of.values()):
            need_column(next(iter(columns_of.values())), column, ", ".join(map(str, sources.values())))
    _check_overlap(tables, sources, named)
    return _joined(tables, known if labels is not None else None, least=least)


def _ids(raw: RawTable, id: str | None, source: str) -> list[str] | None:
    """Return the ids of a table: those in the column `id`, or the names of its rows; None if it has neither."""
    if id is None or (id == raw.title and id not in raw.frame):
        return None if raw.names is None else sample_ids(_series(raw.names, raw.title), source)
    need_column(raw.columns, id, source)
    return sample_ids(raw.frame[id], source)


def _series(names: list[str], title: str | None) -> pd.Series:
    import pandas as pd

    return pd.Series(names, name=title or "row names", dtype=object)


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


def _labels(column: pd.Series) -> dict[str, str | None]:
    texts = [None if missing else text_of(value).strip() for value, missing in zip(column, column.isna(), strict=True)]
    return {sample: text or None for sample, text in zip(column.index, texts, strict=True) if text != "-1"}


def _check_overlap(tables: dict[str, pd.DataFrame], sources: dict[str, Path], named: dict[str, bool]) -> None:
    """Refuse views that share hardly any id; say how many samples are in all views if some are not."""
    if len(set(named.values())) > 1:
        has, lacks = (next(source for source, own in named.items() if own is kind) for kind in (True, False))
        msg = f"{has} names its samples, but {lacks} does not: pass --id with a column of ids that every table has."
        raise InvalidInputError(msg)
    lengths = {name: len(table) for name, table in tables.items()}
    sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
    if not all(named.values()) and len(set(lengths.values())) > 1:
        msg = f"The views have different numbers of rows ({sizes}): pass the column of the sample names with --id."
        raise InvalidInputError(msg)
    indexes = {name: table.index for name, table in tables.items()}
    apart = unlinked(indexes)
    if apart is not None:
        own, other = sources[apart.view], sources[apart.others[0]]
        msg = (
            f"{own} shares {apart.shared or 'none'} of its {counted(lengths[apart.view], 'id')} with "
            f"{', '.join(str(sources[name]) for name in apart.others)}: it holds {examples(indexes[apart.view])}, "
            f"{other} {examples(indexes[apart.others[0]])}. Write the id of a sample alike in all tables, or name "
            "the column that has the same ids in all with --id."
        )
        raise InvalidInputError(msg)
    counts = Counter(sample for index in indexes.values() for sample in index)
    everywhere = sum(count == len(tables) for count in counts.values())
    if everywhere < len(counts):
        text = f"{everywhere} of {counted(len(counts), 'sample')} are in all {len(tables)} views ({sizes}); "
        warnings.warn(f"{text}the others are in some of them.", UserWarning, stacklevel=2)


def _joined(tables: dict[str, pd.DataFrame], known: dict[str, str | None] | None, *, least: int) -> Inputs:
    order = list(dict.fromkeys(sample for table in tables.values() for sample in table.index))
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
