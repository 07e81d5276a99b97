"""Samples that are read chunk by chunk: a table in memory or on disk, a dask collection, a path, or given chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import HasShape, Samples, Table
from kernelweave.errors import InvalidInputError
from kernelweave.samples.dask_chunks import dask_source, is_dask
from kernelweave.samples.source import Part, Source, as_matrix, names_in, sliced
from kernelweave.samples.spool import spooled
from kernelweave.samples.stored import path_source

__all__ = ["Chunks", "ChunksLike"]

# a path, a table or dask collection, a function that returns chunks, or chunks
ChunksLike: TypeAlias = str | PathLike[str] | HasShape | Callable[[], Iterable[Table]] | Iterable[Table]


class Chunks:
    """Samples of one table that are read chunk by chunk, as often as needed, and never all at once.

    Estimators create one from a path, a dask collection, an iterator or a function. A list of chunks must be wrapped in
    `Chunks`, since a list is otherwise read as several views; so must a memory map of integers, which would otherwise
    be converted to floating point as a whole.

    Parameters
    ----------
    X : path, dask array or dataframe, callable, iterable of tables, or table
        The path of a Parquet file, of a folder of Parquet files or of a Zarr array; a function without arguments that
        returns an iterator of chunks; an iterable of chunks, each a table of the same columns; an array, memory map or
        sparse matrix, whose rows are read in slices. An iterator, such as a generator, is copied to a temporary folder,
        since the samples are read more than once; the folder is removed with this object. Columns that have names are
        found by them in every chunk, and in those of new samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave import Chunks, WeaveClustering
    >>> X = np.repeat([[0.0, 0.0], [9.0, 9.0]], 40, axis=0) + np.random.default_rng(0).normal(size=(80, 2))
    >>> model = WeaveClustering(2, random_state=0).fit(Chunks([X[:30], X[30:]]))
    >>> model.solver_.name, model.labels_.shape
    ('landmark', (80,))
    """

    n_samples: ClassVar[None] = None  # counted while they are read
    names: ClassVar[tuple[str, ...]] = ("X",)  # of the only view
    kinds: ClassVar[tuple[str, ...]] = ("table",)
    complete: ClassVar[Literal[True]] = True  # as of Views: the only view has every sample

    def __init__(self, X: ChunksLike) -> None:
        self.source = _source(X)
        self.index = _index_of(X)  # names of the samples: labels in another order are refused
        self.requirements = {"chunks": "samples that are read in chunks"}

    @property
    def attributes(self) -> dict[str, Any]:
        """The fitted attributes of an estimator that describe its samples."""
        width = int(self.source.width or 0)
        shape = {"n_features_in_": width, "view_names_": ("X",), "view_widths_": (width,)}
        return {**shape, "sample_names_": None, "readings_": {}, **self._column_names}

    @property
    def _column_names(self) -> dict[str, Any]:
        """The names of the columns, where chunks have them, as attributes: texts as scikit-learn keeps them."""
        names = self.source.columns
        if names is None:
            return {}
        if all(isinstance(name, str) for name in names):
            return {"feature_names_in_": np.array(names, dtype=object)}
        return {"column_names_": tuple(map(str, names))}

    def in_columns(self, names: Iterable[str]) -> Chunks:
        """Return the chunks, to be read with the columns that have names in this order."""
        ordered = copy(self)
        ordered.source = replace(self.source, columns=tuple(names))
        return ordered

    def astype(self, dtype: DTypeLike, *, copy: bool = True) -> Chunks:
        """Return the chunks unchanged: they are cast when they are read."""
        return self

    def __repr__(self) -> str:
        lengths = self.source.lengths
        rows = "" if lengths is None else f"{counted(sum(lengths), 'sample')} in {counted(len(lengths), 'chunk')}"
        width = "" if self.source.width is None else counted(self.source.width, "column")
        return f"Chunks({', '.join(text for text in (rows, width) if text) or 'not counted yet'})"


def _source(X: Any) -> Source:
    if is_dask(X):
        return dask_source(X)
    if isinstance(X, str | PathLike):
        return path_source(Path(X))
    if callable(X):
        return Source(_Called(X))
    if isinstance(X, Iterator):
        return spooled(X)
    if sparse.issparse(X) or (hasattr(X, "shape") and hasattr(X, "__getitem__")):
        return table_source(X)
    if isinstance(X, Iterable) and not isinstance(X, bytes):
        return Source(_Given(X))
    msg = (
        "Chunks are read from a path to Parquet or Zarr, a dask array or dataframe, an iterable of tables, a function "
        f"that returns one, or a table; got {type(X).__name__}."
    )
    raise InvalidInputError(msg)


def _index_of(X: Any) -> Any:
    """Return the index of a data frame of pandas, or of a list of them, one below the other; None of anything else."""
    frames = X if isinstance(X, list | tuple) else [X]
    found: list[Any] = [getattr(frame, "index", None) for frame in frames]
    if not found or not all(hasattr(index, "get_indexer") for index in found):
        return None
    return found[0].append(found[1:])


def table_source(X: Samples) -> Source:
    """Return the chunks of a table whose rows can be sliced."""
    columns = None
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    elif not isinstance(X, np.ndarray):
        columns = names_in(X)
        X = np.asarray(as_matrix(X, "X"))
    if X.ndim != 2:
        got = f"{counted(X.ndim, 'dimension')}, shape {X.shape}"
        msg = f"Samples must form a 2-d table (n_samples, n_features); got {got}."
        raise InvalidInputError(msg)
    return sliced(X, checked=False, columns=columns)


@dataclass(frozen=True)
class _Called:
    open: Callable[[], Iterable[Any]]

    def __call__(self) -> Iterator[Part]:
        chunks = self.open()
        if not isinstance(chunks, Iterable):
            msg = f"X is a function, which must return an iterable of chunks; got {type(chunks).__name__}."
            raise InvalidInputError(msg)
        return named(chunks)


@dataclass(frozen=True)
class _Given:
    chunks: Iterable[Any]

    def __call__(self) -> Iterator[Part]:
        return named(self.chunks)


def named(chunks: Iterable[Any]) -> Iterator[Part]:
    """Yield chunks, named by their positions."""
    for i, chunk in enumerate(chunks):
        yield Part(f"chunk {i}", rows=chunk)
