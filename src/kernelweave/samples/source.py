"""Samples in chunks: a part and how it is read, a source of parts, tasks over them, and rows drawn to learn from.

Tasks run on local threads, in an order that does not change the results. Rows are drawn by their number only, so that
the draw does not depend on the chunks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_info

from kernelweave._plural import counted
from kernelweave._types import Dtype, Samples, Table
from kernelweave.errors import DataUnavailableError, InvalidInputError
from kernelweave.runtime import threads
from kernelweave.samples.numbers import as_samples, n_numbers
from kernelweave.samples.scaling import Scale, Version, fit_by_view, shrunk
from kernelweave.samples.table import read_table
from kernelweave.samples.views import Views

__all__ = [
    "NamedRows",
    "Part",
    "Run",
    "Sample",
    "Source",
    "Task",
    "as_matrix",
    "as_rows",
    "chosen",
    "draw_rows",
    "in_process",
    "names_in",
    "on_views",
    "read",
    "read_lengths",
    "sample_of",
    "sliced",
    "windowed",
]

Rows = NDArray[np.int64]
Task = Callable[..., Any]  # (state, part or block, extra...) -> result

_BATCH = 2**20
_CHANGED = "X gave other chunks than when it was first read: pass an iterable that starts from the beginning each time."
_CHUNK_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class NamedRows:
    """Rows of a chunk with the names of their columns, which a data frame has by itself."""

    values: Samples
    columns: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The name of a chunk, and its rows, or the function and arguments that return them; it can be sent to a worker."""

    name: str
    load: Callable[..., Any] | None = None  # None where the rows are in memory
    arguments: tuple[Any, ...] = ()
    rows: Any = None
    checked: bool = False  # whether these rows are known to be finite floats of one width
    columns: tuple[Any, ...] | None = None  # the order of columns that have names


def read(part: Part, width: int | None) -> Samples:
    """Return the rows of a chunk as finite floats, dense or CSR; an error names the chunk."""
    found: Samples = part.rows if part.checked else as_rows(_loaded(part), part.name, width, part.columns)
    return found


def on_views(state: tuple[Task, Any], part: Part) -> Any:
    """Return task(model, views) of the rows of a chunk, where `state` is (task, model)."""
    task, model = state
    return task(model, Views.of_table(read(part, None)))


def _loaded(part: Part) -> Any:
    """Return the rows of a chunk as they come."""
    if part.load is None:
        return part.rows
    try:
        return part.load(*part.arguments)
    except InvalidInputError:
        raise
    except Exception as error:  # the errors of pyarrow and zarr have no common base
        msg = f"{part.name} could not be read ({type(error).__name__}: {error}). Repair it or leave it out."
        raise DataUnavailableError(msg) from error


def names_in(rows: object) -> tuple[Any, ...] | None:
    """Return the names of the columns of a chunk; None if it has none, or if they repeat."""
    found = getattr(rows, "columns", None) if isinstance(rows, NamedRows) or hasattr(rows, "to_numpy") else None
    names = () if found is None else tuple(found)
    return names if names and len(set(map(str, names))) == len(names) else None


def as_matrix(rows: Table, name: str) -> Any:
    """Return a data frame as an array of numbers, and anything else as it is."""
    if not hasattr(rows, "to_numpy"):
        return rows
    values = rows.to_numpy()
    # booleans beside numbers, and the types of pandas that know missing cells, become objects
    return read_table(rows, name).values if values.dtype == object else values


def as_rows(rows: Table | NamedRows, name: str, width: int | None, columns: tuple[Any, ...] | None = None) -> Samples:
    """Return the rows as finite floats, checked to have `width` columns; columns with names in the order given."""
    own = names_in(rows)
    values: Any = rows.values if isinstance(rows, NamedRows) else as_matrix(rows, name)
    if isinstance(values, str | PathLike):
        what = f"{name} is the text or path {values!r}, not a table"
        msg = f"{what}: pass the folder of the files, or a function that reads them."
        raise InvalidInputError(msg)
    if columns is not None and own is not None and tuple(map(str, own)) != tuple(map(str, columns)):
        values = values[:, _places(own, columns, name)]
    try:
        found = as_samples(values)
    except ValueError as error:  # also numpy's, of rows of unequal lengths
        msg = f"{name}: {error}"
        raise InvalidInputError(msg) from error
    if found.shape[0] == 0:
        msg = f"{name} is empty: its shape is {found.shape}. Leave out chunks without rows."
        raise InvalidInputError(msg)
    if width is not None and found.shape[1] != width:
        msg = (
            f"{name} has {counted(found.shape[1], 'column')}, but those before it have {width}: all must have the same."
        )
        raise InvalidInputError(msg)
    values = found.data if sparse.issparse(found) else found
    if not np.isfinite(values).all():
        msg = f"{name} holds {_where_not_finite(found)}. Impute or drop them first."
        raise InvalidInputError(msg)
    return found


def _places(own: tuple[Any, ...], columns: tuple[Any, ...], name: str) -> list[int]:
    """Return where a chunk has each of the columns; it must have all of them and no others."""
    place = {str(column): i for i, column in enumerate(own)}
    wanted = list(map(str, columns))
    absent, extra = [one for one in wanted if one not in place], [one for one in place if one not in set(wanted)]
    if absent or extra:
        parts = [f"lacks the column {absent[0]!r}"] if absent else []
        parts += [f"has a column {extra[0]!r}"] if extra else []
        msg = f"{name} {' and '.join(parts)}: all chunks, also those of new samples, must have the same columns."
        raise InvalidInputError(msg)
    return [place[one] for one in wanted]


def _where_not_finite(rows: Any) -> str:
    table = sparse.coo_array(rows) if sparse.issparse(rows) else None
    if table is None:
        bad = np.argwhere(~np.isfinite(rows))
    else:
        bad = np.argwhere(~np.isfinite(table.data))
        bad = np.column_stack([table.coords[0][bad[:, 0]], table.coords[1][bad[:, 0]]])
    return f"{counted(len(bad), 'NaN or infinite value')}, the first in its row {bad[0][0]}, column {bad[0][1]}"


@dataclass
class Source:
    """The parts in order, the numbers of rows of each part and of columns, and the names of these.

    None is what is not known yet, and names that there are not. `n_numbers` is how many numbers all rows hold, None if
    there is one for every column.
    """

    parts: Callable[[], Iterator[Part]]
    lengths: list[int] | None = None
    width: int | None = None
    distributed: bool = False  # whether the parts are held by dask
    columns: tuple[Any, ...] | None = None
    table: Samples | None = None  # all rows, where these are in memory and checked
    n_numbers: int | None = None

    @property
    def n(self) -> int:
        """The number of rows, once it is known."""
        return sum(self.lengths or ())


def sliced(X: Samples, *, checked: bool, columns: tuple[Any, ...] | None = None) -> Source:
    """Return slices of a table in memory; `checked` tells that its values are known to be finite floats."""
    n, d = X.shape
    size = max(1, _CHUNK_BYTES // max(d * X.dtype.itemsize, 1))
    lengths = [min(size, n - i) for i in range(0, n, size)]
    table = X if checked else None
    rows = _Sliced(X, size, checked, columns)
    return Source(rows, lengths=lengths, width=d, columns=columns, table=table, n_numbers=n_numbers(X))


@dataclass(frozen=True)
class _Sliced:
    X: Samples
    size: int
    checked: bool
    columns: tuple[Any, ...] | None

    def __call__(self) -> Iterator[Part]:
        n = self.X.shape[0]
        for i in range(0, n, self.size):
            stop = min(i + self.size, n)
            rows = self.X[i:stop] if self.columns is None else NamedRows(self.X[i:stop], self.columns)
            yield Part(f"X, rows {i} to {stop - 1},", rows=rows, checked=self.checked)


@dataclass(eq=False)
class Run:
    """Runs tasks in this process; every task has one BLAS thread, so that results do not depend on their number."""

    n_threads: int = 1

    def over(self, task: Task, state: object, source: Source, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Yield task(state, part, extra) for the parts in order; a part whose extra in `each` is None is left out."""
        jobs = chosen(source, each)
        if self.n_threads == 1:
            yield from (task(state, *job) for job in jobs)
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            yield from windowed((pool.submit(task, state, *job) for job in jobs), 2 * self.n_threads)

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Return function(*arguments)."""
        return function(*arguments)


def windowed(futures: Iterator[Any], width: int) -> Iterator[Any]:
    """Yield results in order, with at most `width` tasks pending, so that chunks do not accumulate in memory."""
    pending: deque[Any] = deque()
    try:
        for future in futures:
            pending.append(future)
            if len(pending) >= width:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        for future in pending:
            future.cancel()


def chosen(source: Source, each: Sequence[Any] | None) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of a task for every part; a part whose extra in `each` is None is left out.

    All parts are to be read with their columns in one order.
    """
    parts = (replace(part, columns=source.columns) for part in source.parts())
    if each is None:
        yield from ((part,) for part in parts)
        return
    found = 0
    for extra, part in zip(each, parts, strict=False):
        found += 1
        if extra is not None:
            yield part, extra
    if found < len(each) or next(parts, None) is not None:
        raise InvalidInputError(_CHANGED)


@contextmanager
def in_process(n_jobs: int | None) -> Iterator[Run]:
    """Yield a Run of `n_jobs` threads; None for as many as BLAS uses, -1 for all cores."""
    if n_jobs is None:
        n_threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    else:
        n_threads = effective_n_jobs(n_jobs)
    with threads(1):
        yield Run(n_threads)


def read_lengths(source: Source, run: Run) -> None:
    """Count the rows of every part of a source, and check them all; the first names of columns give their order."""
    lengths: list[int] = []
    source.n_numbers = 0
    for i, (name, (n, d), own, held) in enumerate(run.over(_size, None, source)):
        source.width = d if i == 0 else source.width
        if d != source.width:
            msg = f"{name} has {counted(d, 'column')}, but those before it have {source.width}: all must have the same."
            raise InvalidInputError(msg)
        source.columns = own if source.columns is None else source.columns
        if own is not None and source.columns is not None:
            _places(own, source.columns, name)
        lengths.append(n)
        source.n_numbers += held
    source.lengths = lengths


def _size(state: Any, part: Part) -> tuple[str, tuple[int, int], tuple[Any, ...] | None, int]:
    rows = _loaded(part)
    found = as_rows(rows, part.name, None, part.columns)
    return part.name, found.shape, names_in(rows), n_numbers(found)


def draw_rows(n: int, size: int, seed: int, among: NDArray[np.bool_] | None = None) -> Rows:
    """Return the rows, ascending, with the `size` smallest random keys of all n rows, or of those in the mask."""
    rng = np.random.default_rng(seed)
    keys, rows = np.empty(0), np.empty(0, dtype=np.int64)
    for start in range(0, n, _BATCH):
        here = np.arange(start, min(start + _BATCH, n))
        key = rng.random(len(here))
        if among is not None:
            here, key = here[among[here]], key[among[here]]
        keys, rows = np.append(keys, key), np.append(rows, here)
        if len(keys) > size:
            first = np.argpartition(keys, size)[:size]
            keys, rows = keys[first], rows[first]
    return np.sort(rows)


class Sample(NamedTuple):
    """Rows to learn from, by the order of their coordinates: their numbers, the rows, scaled, as one view, and how.

    `few` holds some of them as they are.
    """

    rows: Rows
    views: Views
    version: Version
    few: Views


def sample_of(
    source: Source,
    rows: Rows,
    run: Run,
    scale: Scale | Mapping[str, Scale],
    dtype: Dtype,
    *,
    view: str = "X",
    kind: str = "table",
    n_few: int = 0,
) -> Sample:
    """Return these rows, ascending, of a source whose lengths are known, scaled for few landmarks.

    `view` and `kind` are those of the view that the source holds. At most `n_few` of the rows that differ are returned
    as they are too.
    """
    sample = _take(source, rows, run) if source.table is None else source.table[rows]
    place = np.asarray(sample @ np.random.default_rng(0).standard_normal(sample.shape[1]))
    order = np.argsort(place, kind="stable")  # does not depend on that of the rows
    views = Views.of_table(sample[order], view, kind)
    different = np.unique(place, return_index=True)[1]
    steps = np.linspace(0, len(different) - 1, min(n_few, len(different))).astype(np.intp)
    few = Views.of_table(sample[different[steps]], view, kind)
    version = shrunk(fit_by_view(views, scale, precision=np.float32))  # in which landmarks are found
    # single precision is enough for samples of unit length or deviation, and twice as fast; others may have large means
    precision = np.dtype(dtype or (views.dtype if version.scalings[view].method == "none" else np.float32))
    return Sample(rows[order], views.scaled(version.scalings, precision), version, few)


def _take(source: Source, rows: Rows, run: Run) -> Samples:
    """Return these rows, ascending; parts without any of them are not read."""
    starts = np.concatenate([[0], np.cumsum(source.lengths or [])])
    cuts = np.searchsorted(rows, starts)
    each = [rows[i:j] - start if j > i else None for start, i, j in zip(starts, cuts, cuts[1:], strict=False)]
    found = list(run.over(_rows_of, source.width, source, each))
    some_sparse = any(sparse.issparse(part) for part in found)
    return sparse.csr_array(sparse.vstack(found)) if some_sparse else np.concatenate(found)


def _rows_of(width: int | None, part: Part, rows: Rows) -> Any:
    found = read(part, width)
    if rows[-1] >= found.shape[0]:
        raise InvalidInputError(_CHANGED)
    return found[rows]
