"""Tables beside the samples: metadata, and labels in a file of their own, joined on the ids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave._plural import counted
from kernelweave.cli._numeric import need_column, sample_ids, text_of
from kernelweave.cli._read import read_file
from kernelweave.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["labels_beside", "metadata_beside"]


def metadata_beside(
    ids: Sequence[str],
    path: Path | None,
    columns: Sequence[str],
    files: Sequence[Path],
    *,
    id: str | None,
    header: bool,
) -> pd.DataFrame | None:
    """Return the metadata of the samples: a file, or columns of the tables; None if neither was asked for."""
    import pandas as pd

    parts = [] if path is None else [_matched(_named_table(path, id, header=header), ids, path)]
    for column in columns:
        tables = ((file, _named_table(file, id, header=header)) for file in files)
        found = next(((file, table) for file, table in tables if column in table), None)
        if found is None:
            msg = f"--metadata-columns: no table has a column {column!r}."
            raise InvalidInputError(msg)
        parts.append(_matched(found[1][[column]], ids, found[0]))
    return pd.concat(parts, axis=1) if parts else None


def labels_beside(
    ids: Sequence[str], path: Path, column: str | None, *, id: str | None, header: bool
) -> list[str | None]:
    """Return the labels of the samples in a file of their own, None where there is none."""
    table = _named_table(path, id, header=header)
    names = [str(name) for name in table]
    if column is None and len(names) != 1:
        msg = f"{path} has {counted(len(names), 'column')} beside the ids: name that of the classes with --labels."
        raise InvalidInputError(msg)
    name = names[0] if column is None else need_column(names, column, str(path))
    series = _matched(table[[name]], ids, path)[name]
    texts = ["" if missing else text_of(value).strip() for value, missing in zip(series, series.isna(), strict=True)]
    return [text if text not in ("", "-1") else None for text in texts]


def _named_table(path: Path, id: str | None, *, header: bool) -> pd.DataFrame:
    """Return the table in a file with the ids as its index; without ids it keeps an index that counts."""
    raw = read_file(path, id=id, labels=None, asked=(), header=header)
    frame = raw.frame
    if id is not None and id in frame:
        ids = sample_ids(frame[id], str(path))
        return frame.drop(columns=id).set_axis(ids, axis=0)
    if raw.names is not None:
        return frame.set_axis(raw.names, axis=0)
    if id is not None:
        need_column(raw.columns, id, str(path))
    return frame.reset_index(drop=True)


def _matched(table: pd.DataFrame, ids: Sequence[str], path: Path) -> pd.DataFrame:
    """Return the rows of the samples, in their order; those that the table lacks are empty."""
    import pandas as pd

    if isinstance(table.index, pd.RangeIndex):
        if len(table) != len(ids):
            msg = f"{path} has {counted(len(table), 'row')} for {counted(len(ids), 'sample')} and no ids: pass --id."
            raise InvalidInputError(msg)
        return table
    if not set(table.index) & set(ids):
        msg = f"{path} has none of the {counted(len(ids), 'sample')}: it holds {table.index[0]!r}, not {ids[0]!r}."
        raise InvalidInputError(msg)
    return table.reindex(list(ids)).reset_index(drop=True)
