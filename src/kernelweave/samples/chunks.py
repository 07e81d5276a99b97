"""Where samples come from: a table in memory or on disk, a dask collection, a path, or chunks that are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.samples.dask_chunks import dask_source, is_dask
from kernelweave.samples.parts import Part
from kernelweave.samples.source import Source
from kernelweave.samples.spool import spooled
from kernelweave.samples.stored import path_source

__all__ = ["as_source", "is_streamed", "n_rows"]

_CHUNK_BYTES = 16 * 2**20


def is_streamed(X: Any) -> bool:
    """Tell whether X is read chunk by chunk by its nature: a dask collection, a path, or chunks."""
    if is_dask(X) or isinstance(X, (str, PathLike)) or callable(X):
        return True
    if isinstance(X, Iterator):
        return True
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(getattr(chunk, "ndim", 0) == 2 for chunk in X)


def n_rows(X: Any) -> int | None:
    """Return the number of samples if it is known before they are read."""
    if callable(X) or isinstance(X, Iterator):
        return None
    source = as_source(X)
    return None if source.lengths is None else sum(source.lengths)


def as_source(X: Any) -> Source:
    """Return the chunks of X.

    Parameters
    ----------
    X : array, memory map, sparse matrix, data frame, dask array or dataframe, path, callable or iterable
        A table of shape (n_samples, n_features); the path of a Parquet file, of a folder of Parquet files or of a
        Zarr array; a function without arguments that returns an iterator of chunks; an iterable of chunks, each a
        table. What can be iterated over only once (a generator) is copied to a temporary folder as it is read,
        since the samples are needed more than once.
    """
    if isinstance(X, Mapping):
        msg = "Landmarks lie in one table of samples; got several: join their columns, or use solver='local'."
        raise InvalidInputError(msg)
    if is_dask(X):
        return dask_source(X)
    if isinstance(X, (str, PathLike)):
        return path_source(Path(X))
    if callable(X):
        return Source(_Called(X))
    if isinstance(X, Iterator):
        return spooled(X)
    if sparse.issparse(X) or (hasattr(X, "shape") and hasattr(X, "__getitem__")):
        return table_source(X)
    if isinstance(X, Iterable):
        return Source(_Given(X))
    msg = (
        "X must be a table of samples, a dask array or dataframe, a path to Parquet or Zarr, an iterable of chunks or "
        f"a function that returns one; got {type(X).__name__}."
    )
    raise InvalidInputError(msg)


def table_source(X: Any) -> Source:
    """Return the chunks of a table whose rows can be sliced."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    elif not isinstance(X, np.ndarray):
        X = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if X.ndim != 2:
        msg = f"Samples must form a 2-d table (n_samples, n_features); got {X.ndim} dimension(s), shape {X.shape}."
        raise InvalidInputError(msg)
    n, d = X.shape
    size = max(1, _CHUNK_BYTES // max(d * X.dtype.itemsize, 1))
    starts = range(0, n, size)
    return Source(_Sliced(X, size), lengths=[min(size, n - i) for i in starts], width=d)


@dataclass(frozen=True)
class _Sliced:
    X: Any
    size: int

    def __call__(self) -> Iterator[Part]:
        n = self.X.shape[0]
        for i in range(0, n, self.size):
            stop = min(i + self.size, n)
            yield Part(f"X, rows {i} to {stop - 1},", _itself, (self.X[i:stop],))


@dataclass(frozen=True)
class _Called:
    open: Callable[[], Iterable[Any]]

    def __call__(self) -> Iterator[Part]:
        return named(self.open())


@dataclass(frozen=True)
class _Given:
    chunks: Iterable[Any]

    def __call__(self) -> Iterator[Part]:
        return named(self.chunks)


def named(chunks: Iterable[Any]) -> Iterator[Part]:
    """Yield chunks under their positions."""
    for i, chunk in enumerate(chunks):
        yield Part(f"chunk {i}", _itself, (chunk,))


def _itself(rows: Any) -> Any:
    return rows
