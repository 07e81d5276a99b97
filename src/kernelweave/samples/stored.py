"""Samples in Parquet files or a Zarr array, read batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kernelweave._plural import counted
from kernelweave.errors import DataUnavailableError, InvalidInputError
from kernelweave.samples.source import NamedRows, Part, Source

__all__ = ["path_source"]

_BYTES = 16 * 2**20
_PARQUET = (".parquet", ".pq", ".parq")  # the usual endings


def path_source(path: Path) -> Source:
    """Return the chunks of a Parquet file, a folder of Parquet files, or a Zarr array."""
    if not path.exists():
        msg = f"There is no {path}: give the path of a Parquet file, a folder of Parquet files, or a Zarr array."
        raise DataUnavailableError(msg)
    if path.is_file() and path.suffix == ".npy":
        msg = f"{path} is a numpy file: pass numpy.load({str(path)!r}, mmap_mode='r') as X."
        raise InvalidInputError(msg)
    files = [path] if path.is_file() else sorted(path.glob("*.parquet"))
    return _parquet(files) if files and path.suffix != ".zarr" else _zarr(path)


def _parquet(files: list[Path]) -> Source:
    """Return row groups as parts; the footers of all files are read first, and an error names the file."""
    parquet = _need("pyarrow.parquet", "cli")
    parts: list[Part] = []
    lengths: list[int] = []
    first: tuple[str, ...] | None = None
    for file in files:
        try:
            metadata, names = parquet.read_metadata(file), _columns(parquet.read_schema(file))
        except Exception as error:  # pyarrow's errors have no common base
            raise DataUnavailableError(_unreadable(file, error)) from error
        first = names if first is None else first
        if len(names) != len(first):
            msg = (
                f"{file} has {counted(len(names), 'column')}, but {files[0]} has {len(first)}: all must have the same."
            )
            raise InvalidInputError(msg)
        if metadata.num_rows == 0:
            msg = f"{file} is empty: its shape is (0, {len(names)}). Leave out files without rows."
            raise InvalidInputError(msg)
        for g in range(metadata.num_row_groups):
            parts.append(Part(f"{file}, row group {g},", _row_group, (file, g, names)))
            lengths.append(metadata.row_group(g).num_rows)
    width = None if first is None else len(first)
    return Source(_Listed(tuple(parts)), lengths=lengths, width=width, columns=_distinct(first))


def _columns(schema: Any) -> tuple[str, ...]:
    """Return the names of the columns of a file, without the index that pandas has stored with them."""
    index = (schema.pandas_metadata or {}).get("index_columns", ())
    return tuple(name for name in schema.names if name not in index)


def _distinct(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return names by which columns are found: None if some repeat."""
    return names if names and len(set(names)) == len(names) else None


def _unreadable(file: Path, error: Exception) -> str:
    """Return what to do about a file that is not a readable Parquet file."""
    if file.suffix.lower() in _PARQUET:
        return f"{file} could not be read ({type(error).__name__}: {error}). Repair it or leave it out."
    return (
        f"{file} is not a Parquet file. A path as X is read in chunks from Parquet files or a Zarr array; read any "
        f"other table with kernelweave.tabular.read_table({str(file)!r}), and pass its frame as X."
    )


@dataclass(frozen=True)
class _Listed:
    parts: tuple[Part, ...]

    def __call__(self) -> Iterator[Part]:
        return iter(self.parts)


def _row_group(file: Path, g: int, names: tuple[str, ...]) -> Any:
    from pyarrow.parquet import ParquetFile

    table = ParquetFile(file).read_row_group(g)
    used = set(names)
    columns = [
        column.to_numpy() for name, column in zip(table.column_names, table.columns, strict=True) if name in used
    ]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "fiub":
            msg = f"{file}: column {name!r} must hold numbers; got {column.dtype}. Leave it out or encode it first."
            raise InvalidInputError(msg)
    return NamedRows(np.column_stack(columns), names)


def _zarr(path: Path) -> Source:
    zarr = _need("zarr", "dask")
    try:
        array = zarr.open_array(str(path), mode="r")
    except Exception as error:  # zarr's errors have no common base
        msg = f"{path} holds neither Parquet files nor a Zarr array ({type(error).__name__}: {error})."
        raise DataUnavailableError(msg) from error
    if array.ndim != 2:
        msg = f"Samples must form a 2-d table (n_samples, n_features); {path} has {counted(array.ndim, 'dimension')}."
        raise InvalidInputError(msg)
    n, d = array.shape
    own = int(array.chunks[0])
    size = own * max(
        1, _BYTES // max(own * d * array.dtype.itemsize, 1)
    )  # whole chunks, so that none is decompressed twice
    spans = [(i, min(i + size, n)) for i in range(0, n, size)]
    parts = tuple(Part(f"{path}, rows {i} to {j - 1},", _zarr_rows, (str(path), i, j)) for i, j in spans)
    return Source(_Listed(parts), lengths=[j - i for i, j in spans], width=d)


def _zarr_rows(path: str, start: int, stop: int) -> Any:
    import zarr

    return np.asarray(zarr.open_array(path, mode="r")[start:stop])


def _need(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        msg = f'Reading this path needs the package {package}: pip install {package}, or "kernelweave[{extra}]".'
        raise DataUnavailableError(msg) from error
