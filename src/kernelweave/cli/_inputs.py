"""The samples of a command: one table, or several views joined on their ids."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kernelweave._plural import counted
from kernelweave.cli._against_fit import FittedTables
from kernelweave.cli._given_labels import label_texts, merged
from kernelweave.cli._misread_marks import misread_marks
from kernelweave.cli._numeric import fitted_columns, needed_by_model, none_of_fit, usable, without_data
from kernelweave.cli._refusal import InvalidFilesError
from kernelweave.cli._view_ids import check_ids
from kernelweave.errors import InvalidInputError
from kernelweave.samples.mixed_table import is_mixed
from kernelweave.tabular import Problem, ReadOptions, TableError, TableFile, read_tables
from kernelweave.tabular.table_parts import table_parts
from kernelweave.tabular.table_reader import CELLS, columns_of, need_annotated, need_columns, stem_of, type_of

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

    Frames: TypeAlias = pd.DataFrame | dict[str, pd.DataFrame]

__all__ = ["Inputs", "ViewFile", "input_parts", "inputs_of", "read_files"]


_LISTED = 5  # columns that a note names


@dataclass(frozen=True, slots=True)
class Inputs:
    """The data of a command: X (one frame, or a dict of frames by view), ids, and labels (None if unknown).

    `kernels` is what the model must be given for them, None if its default will do. `title` is the column of the ids
    if all tables have the same. `units` are those of columns, by name, or by view and name ("clinic: weight"). `notes`
    are the sentences about how the files were read.
    """

    X: Frames
    ids: list[str]
    labels: list[str | None] | None = None
    kernels: str | dict[str, str] | None = None
    title: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewFile:
    """A view: the file that it is in, and its table."""

    path: Path
    table: TableFile


def read_files(
    files: Sequence[Path], views: Sequence[str], read_options: ReadOptions
) -> tuple[dict[str, ViewFile], list[tuple[str, Problem]]]:
    """Return the tables in files by view, and the problems of the files that cannot be read as they are."""
    sources = _sources(files, views)
    need_annotated(list(sources.values()), read_options)
    found: dict[str, ViewFile] = {}
    problems: list[tuple[str, Problem]] = []
    for name, path in sources.items():
        try:
            tables = read_tables(path, read_options)
        except TableError as error:
            problems += [(str(path), problem) for problem in error.problems]
            continue
        for key, table in tables.items():
            title = name if len(tables) == 1 else key if len(sources) == 1 else f"{name} {key}"
            found[title] = ViewFile(path, table)
    return found, problems


def input_parts(path: Path, read_options: ReadOptions, rows: int, fitted: BaseEstimator) -> Iterator[Inputs]:
    """Yield the samples of one file for a fitted model, in parts of so many rows."""
    for table in table_parts(path, read_options, rows):
        try:
            yield inputs_of({stem_of(path): ViewFile(path, table)}, [], read_options, fitted=fitted)
        except InvalidInputError as error:
            if not table.start:
                raise
            msg = f"{error} Rows are counted from row {table.start + 1} of the file."
            raise InvalidInputError(msg) from error


def inputs_of(
    found: Mapping[str, ViewFile],
    problems: Sequence[tuple[str, Problem]],
    read_options: ReadOptions,
    *,
    mixed: bool = False,
    fill: bool = False,
    fitted: BaseEstimator | None = None,
) -> Inputs:
    """Return the samples in tables that `read_files` returned; several tables are views, joined on the ids.

    `mixed` says that tables are mixed tables, even if they hold numbers only; with `fill`, those are that have missing
    cells. `fitted` is the model that they are for: its mixed tables are handed over as they are, and others are reduced
    to its columns, in their order. Without a model there must be two samples or more. What was found in the files is
    issued as warnings.
    """
    notes = tuple(dict.fromkeys(note for view in found.values() for note in view.table.notes))
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    if not problems:
        _need_columns(found, read_options, new=fitted is None)
    fitted_tables = FittedTables.of(fitted)
    fitted_tables.need_views(list(found))
    _say_like_labels(found, read_options, new=fitted is None)
    several = len(found) > 1 or fitted_tables.several
    frames = {name: _indexed(view.table) for name, view in found.items()}
    known = _known_labels(frames, found, read_options)
    parameters = _UsableParameters(
        (mixed or None) if fitted is None else False, gaps=several, fill=fill, may_be_equal=fitted is not None
    )
    all_problems = list(problems)
    tables: dict[str, pd.DataFrame] = {}
    for name, view in found.items():
        marks = misread_marks(frames[name], read_options) + fitted_tables.other_units(name, view.table, str(view.path))
        tables[name], wrong = _usable(name, view, frames[name], fitted_tables, parameters)
        all_problems += [(str(view.path), problem) for problem in (*marks, *wrong)]
    if all_problems:
        raise InvalidFilesError(all_problems)
    check_ids(tables, found)
    inputs = _joined(tables, known, least=2 if fitted is None else 1, several=several)
    titles = {view.table.title for view in found.values()}
    title = titles.pop() if len(titles) == 1 else None
    inputs = replace(inputs, title=title, units=_units(found, tables, several=several), notes=notes)
    filled = [name for name in tables if fill and _is_filled(tables[name], str(found[name].path), several=several)]
    if not filled:
        return inputs
    each = {name: "mixed" if name in filled else "auto" for name in tables}
    return replace(inputs, kernels=each if several else "mixed")


class _UsableParameters(NamedTuple):
    """The parameters of `usable` that are the same for all tables."""

    mixed: bool | None
    gaps: bool
    fill: bool
    may_be_equal: bool


def _usable(
    name: str, view: ViewFile, frame: pd.DataFrame, fitted_tables: FittedTables, parameters: _UsableParameters
) -> tuple[pd.DataFrame, list[Problem]]:
    """Return a table as a model takes it, and what is in the way."""
    source, read, columns = str(view.path), fitted_tables.mixed(name), fitted_tables.columns(name)
    if read is not None:
        if (none := none_of_fit(frame, read)) is not None:
            return frame, [none]
        return frame, [] if parameters.gaps else without_data(frame, read)
    fitted_tables.say_extra(name, list(map(str, frame)), source)
    frame = frame if columns is None else fitted_columns(frame, source, columns)
    table, wrong = usable(frame, ids=view.table.ids is not None, **parameters._asdict())
    return table, wrong if columns is None else [needed_by_model(problem) for problem in wrong]


def _known_labels(
    frames: Mapping[str, pd.DataFrame], found: Mapping[str, ViewFile], read_options: ReadOptions
) -> dict[str, str] | None:
    """Return the labels of all tables by id, and take their column out of the tables; None if none are asked for."""
    if read_options.labels is None:
        return None
    known: dict[str, str] = {}
    for name, frame in frames.items():
        if read_options.labels in frame:
            source = str(found[name].path)
            given = zip(frame.index, label_texts(frame.pop(read_options.labels), source), strict=True)
            known = merged(known, {sample: label for sample, label in given if label is not None}, source)
    return known


def _units(found: Mapping[str, ViewFile], tables: Mapping[str, pd.DataFrame], *, several: bool) -> dict[str, str]:
    """Return the units of the columns of all tables, under the names that these have in the results."""
    return {
        f"{name}: {column}" if several else column: unit
        for name, view in found.items()
        for column, unit in view.table.units.items()
        if column in tables[name]  # not that of the labels
    }


def _is_filled(table: pd.DataFrame, source: str, *, several: bool) -> bool:
    """Return whether a table of numbers has missing cells, which are filled, and say so."""
    if is_mixed(table):
        return False  # its kernels are those of mixed tables already, and it says so
    missing = table.isna()
    if several:
        missing = missing[~missing.all(axis=1)]  # others lack the view
    counts = missing.sum()
    counts = counts[counts > 0]
    if counts.empty:
        return False
    columns = ", ".join(f"{name!r} {count}" for name, count in counts.head(_LISTED).items())
    more = f" and {counted(len(counts) - _LISTED, 'more column')}" if len(counts) > _LISTED else ""
    text = f"{source}: {counted(int(counts.sum()), 'cell')} without a value ({columns}{more})"
    warnings.warn(f"{text}, filled with the median of the column.", UserWarning, stacklevel=2)
    return True


def _say_like_labels(found: Mapping[str, ViewFile], read_options: ReadOptions, *, new: bool) -> None:
    """Name the tables with a column of the same name as the labels from another file, which is left out."""
    if not new:
        return
    for view in [view for view in found.values() if type_of(view.path) in CELLS]:  # others hold more than features
        for name in sorted(read_options.usual_drop.intersection(view.table.columns) & read_options.left_out):
            msg = f"{view.path}: the column {name!r} is left out of the features, since the labels are called so."
            warnings.warn(msg, UserWarning, stacklevel=3)


def _need_columns(found: Mapping[str, ViewFile], read_options: ReadOptions, *, new: bool) -> None:
    """Refuse options that name a column which no file has; the codes of a fit may be those of columns that lack."""
    labels = read_options.labels
    named = labels is None or any(labels in columns_of(view.table) for view in found.values())
    if labels is not None and not named and Path(labels).is_file():
        msg = f"{labels} is a file, but --labels names a column: pass it with --labels-file."
        raise InvalidInputError(msg)
    need_columns([(view.path, view.table) for view in found.values()], read_options, coded=new)


def _indexed(table: TableFile) -> pd.DataFrame:
    frame = table.frame.copy(deep=False)
    numbers = range(table.start + 1, table.start + len(frame) + 1)
    frame.index = list(map(str, numbers)) if table.ids is None else table.ids
    return frame


def _sources(files: Sequence[Path], views: Sequence[str]) -> dict[str, Path]:
    named = [(stem_of(path), path) for path in files]
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


def _joined(tables: dict[str, pd.DataFrame], known: dict[str, str] | None, *, least: int, several: bool) -> Inputs:
    order = list(dict.fromkeys(sample for table in tables.values() for sample in table.index))
    if len(order) < least:
        msg = f"There is only {counted(len(order), 'sample')}; at least {least} are needed."
        raise InvalidInputError(msg)
    labels: list[str | None] | None = None if known is None else [known.get(sample) for sample in order]
    if not several:
        return Inputs(next(iter(tables.values())).reset_index(drop=True), order, labels)
    return Inputs(tables, order, labels)
