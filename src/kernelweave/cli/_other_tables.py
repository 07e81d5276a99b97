"""Other tables of the same samples: metadata, labels in a file of their own, other clusterings, joined on the ids."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave._plural import counted
from kernelweave._types import Array
from kernelweave.cli._given_labels import label_texts
from kernelweave.cli._results import unguarded
from kernelweave.errors import InvalidInputError
from kernelweave.tabular import ReadOptions, TableFile, read_tables
from kernelweave.tabular.problems import need_column, shown_names
from kernelweave.tabular.row_labels import examples, text_of
from kernelweave.tabular.table_reader import HONOURED, one_table, type_of

if TYPE_CHECKING:
    import pandas as pd

    from kernelweave.explain import Comparison

__all__ = ["compared_with", "labels_of_samples", "read_clustering", "read_labels", "read_metadata", "read_names"]

_LABEL = "label"  # the column of labels in labels.csv


def read_metadata(
    ids: Sequence[str],
    path: Path | None,
    columns: Sequence[str],
    files: Sequence[Path],
    read_options: ReadOptions,
) -> pd.DataFrame | None:
    """Return the metadata of the samples: a file, or columns of the tables; None if neither was asked for."""
    import pandas as pd

    parts = [] if path is None else [_of_samples(_by_id(_read_alone(path, read_options)), ids, path, columns)]
    own = replace(read_options, asked=frozenset(columns), drop=frozenset())
    tables = [(file, table) for file in files if columns for table in read_tables(file, own).values()]
    for column in columns:
        found = next(((file, table) for file, table in tables if column in table.frame), None)
        if found is None:
            msg = f"--metadata-columns: no table has a column {column!r}."
            raise InvalidInputError(msg)
        parts.append(_rows_of(_by_id(found[1])[[column]], ids, found[0]))
    return pd.concat(parts, axis=1) if parts else None


def _of_samples(table: pd.DataFrame, ids: Sequence[str], path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the metadata of the samples in a file, and say how many samples it lacks."""
    twice = [name for name in columns if name in table]
    if twice:
        msg = f"--metadata-columns names {twice[0]!r}, but {path} has a column of that name too: rename one of them."
        raise InvalidInputError(msg)
    found = _rows_of(table, ids, path)
    lacking = 0 if found is table else len(set(ids).difference(table.index))
    if lacking:
        msg = f"{path} has no row for {lacking} of {counted(len(ids), 'sample')}."
        warnings.warn(msg, UserWarning, stacklevel=3)
    return found


def read_labels(path: Path, column: str | None, read_options: ReadOptions) -> pd.DataFrame:
    """Return the column of labels in a file of its own, by id; `read_options` has the codes for missing values."""
    read = _read_alone(path, read_options, labels=column, missing=read_options.missing)
    table = _by_id(read)
    names = [str(name) for name in table]
    if column is None:
        if len(names) != 1:
            told = f"{path} has {counted(len(names), 'column')} beside the ids: name that of the classes with --labels."
            raise InvalidInputError(" ".join([told, *read.notes]))  # a note may say why one does not hold the ids
        return read_labels(path, names[0], read_options)  # again, as labels are read: all of them are texts
    name = need_column(names, column, str(path))
    for note in read.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    if name in table[name].astype(str).str.strip().tolist():
        msg = (
            f"{path}: its column of labels is called {name!r}, like one of the labels. It seems to have no header, so "
            "that its first sample would be lost: write a first line with names above it, such as id,label."
        )
        raise InvalidInputError(msg)
    return table[[name]]


def labels_of_samples(ids: Sequence[str], table: pd.DataFrame, path: Path) -> list[str | None]:
    """Return the labels of the samples in a file of their own, None where there is none."""
    return label_texts(_rows_of(table, ids, path).iloc[:, 0], str(path))


def compared_with(labels: Array, others: Sequence[str | None], path: Path) -> Comparison:
    """Return how another clustering, which `read_clustering` has read, agrees with the labels of the samples."""
    from kernelweave.explain import compare_clusterings

    known = [i for i, other in enumerate(others) if other is not None]
    return compare_clusterings(
        [str(labels[i]) for i in known], [str(others[i]) for i in known], names=("clusters of this page", path.name)
    )


def read_clustering(ids: Sequence[str], path: Path, read_options: ReadOptions) -> list[str | None]:
    """Return the clusters of the samples in a folder of results or a table, None where it has none."""
    file = path / "labels.csv" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        msg = f"{path} has no labels.csv: pass a folder that `kernelweave cluster` or `classify` wrote, or a table."
        raise InvalidInputError(msg)
    own = replace(read_options, id="id", header=True) if path.is_dir() else read_options
    table = _by_id(_read_alone(file, own, labels=_LABEL if path.is_dir() else None))
    table.index = table.index.map(unguarded) if table.index.dtype == object else table.index
    names = [str(name) for name in table]
    if _LABEL not in names and len(names) != 1:
        msg = f"{file} has {counted(len(names), 'column')} beside the ids, and none is called {_LABEL!r}: keep one."
        raise InvalidInputError(msg)
    series = _rows_of(table[[_LABEL if _LABEL in names else names[0]]], ids, file).iloc[:, 0]
    return [None if missing else text_of(value) for value, missing in zip(series, series.isna(), strict=True)]


def read_names(path: Path) -> dict[str, str]:
    """Return names by label from a CSV file with these two columns, as the report saves it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read: {error}."
        raise InvalidInputError(msg) from error
    for mark in ",;\t":  # spreadsheets of some countries separate by semicolons
        rows = [[unguarded(cell.strip()) for cell in row] for row in csv.reader(text.splitlines(), delimiter=mark)]
        head = rows[0] if rows else []
        if _LABEL in head and "name" in head:
            of, called = head.index(_LABEL), head.index("name")
            return {row[of]: row[called] for row in rows[1:] if len(row) > max(of, called)}
    found = ", ".join(head) or "nothing"
    msg = f"{path} must have the columns label and name, as the file that the report saves; got {found}."
    raise InvalidInputError(msg)


def _read_alone(
    path: Path, read_options: ReadOptions, *, labels: str | None = None, missing: Sequence[str] = ()
) -> TableFile:
    """Return the table in another file than those of the samples, which may be written in another way than theirs."""
    header = read_options.header if type_of(path) in HONOURED["header"] else None
    codes = missing if type_of(path) in HONOURED["missing"] else ()
    options = ReadOptions(id=read_options.id, labels=labels, header=header, missing=tuple(codes))
    return one_table(read_tables(path, options), path)  # codes may be those of columns of the samples


def _by_id(table: TableFile) -> pd.DataFrame:
    """Return a table with the ids as its index; without ids it has an index that counts."""
    return table.frame.reset_index(drop=True) if table.ids is None else table.frame.set_axis(table.ids, axis=0)


def _rows_of(table: pd.DataFrame, ids: Sequence[str], path: Path) -> pd.DataFrame:
    """Return the rows of the samples, in their order; those that the table lacks are empty."""
    import pandas as pd

    if isinstance(table.index, pd.RangeIndex):
        if len(table) != len(ids):
            msg = f"{path} has {counted(len(table), 'row')} for {counted(len(ids), 'sample')} and no ids: pass --id."
            raise InvalidInputError(msg)
        if list(ids) != [str(i + 1) for i in range(len(ids))]:
            told = f"no ids were found, so its rows are taken in the order of the samples ({examples(ids)})"
            warnings.warn(f"{path}: {told}. If they have another order, pass --id.", UserWarning, stacklevel=3)
        return table
    if not set(table.index) & set(ids):
        msg = f"{path} has none of the {counted(len(ids), 'sample')}: it holds {table.index[0]!r}, not {ids[0]!r}."
        raise InvalidInputError(msg)
    others = table.index[~table.index.isin(ids)]
    if len(others):
        verb = "is" if len(others) == 1 else "are"
        told = f"{len(others)} of its {counted(len(table), 'id')} {verb} no id of the samples, and not used"
        warnings.warn(f"{path}: {told} ({shown_names(list(others))}).", UserWarning, stacklevel=3)
    return table.reindex(list(ids)).reset_index(drop=True)
