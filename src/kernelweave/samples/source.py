"""Samples in chunks: a part and how it is read, a source of parts, tasks over them, and rows drawn to learn from.

Tasks run on local threads, in an order that does not change the results. Rows are drawn by their number only, so that
the draw does not depend on the chunks.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from kernelweave._plural import counted
from kernelweave._types import Samples, Table
from kernelweave.errors import DataUnavailableError, InvalidInputError
from kernelweave.samples.numbers import as_samples

__all__ = [
    "Part",
    "Run",
    "Source",
    "Task",
    "as_rows",
    "chosen",
    "coordinate_order",
    "count_rows",
    "draw_rows",
    "in_process",
    "read",
    "take",
    "tree_sum",
    "windowed",
]

Rows = NDArray[np.int64]
Task = Callable[..., Any]  # (state, part or block, extra...) -> result

_BATCH = 2**20


@dataclass(frozen=True, slots=True)
class Part:
    """The name of a chunk, and the function and arguments that return its rows; it can be sent to a worker."""

    name: str
    load: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    checked: bool = False  # whether its rows are known to be finite floats of one width


def read(part: Part, width: int | None) -> Samples:
    """Return the rows of a chunk as finite floats, dense or CSR; an error names the chunk."""
    if part.checked:
        return part.load(*part.arguments)
    try:
        rows = part.load(*part.arguments)
    except InvalidInputError:
        raise
    except Exception as error:  # the errors of pyarrow and zarr have no common base
        msg = f"{part.name} could not be read ({type(error).__name__}: {error}). Repair it or leave it out."
        raise DataUnavailableError(msg) from error
    return as_rows(rows, part.name, width)


def as_rows(rows: Table, name: str, width: int | None) -> Samples:
    """Return the rows as finite floats, checked to have `width` columns."""
    try:
        found = as_samples(rows.to_numpy() if hasattr(rows, "to_numpy") else rows)
    except InvalidInputError as error:
        msg = f"{name}: {error}"
        raise InvalidInputError(msg) from error
    if found.shape[0] == 0:
        msg = f"{name} is empty: its shape is {found.shape}. Leave out chunks without rows."
        raise InvalidInputError(msg)
    if width is not None and found.shape[1] != width:
        msg = f"{name} has {found.shape[1]} columns, but those before it have {width}: all must have the same."
        raise InvalidInputError(msg)
    values = found.data if sparse.issparse(found) else found
    if not np.isfinite(values).all():
        msg = f"{name} holds {_where_not_finite(found)}. Impute or drop them first."
        raise InvalidInputError(msg)
    return found


def _where_not_finite(rows: Any) -> str:
    table = sparse.coo_array(rows) if sparse.issparse(rows) else None
    if table is None:
        bad = np.argwhere(~np.isfinite(rows))
    else:
        bad = np.argwhere(~np.isfinite(table.data))
        bad = np.column_stack([table.coords[0][bad[:, 0]], table.coords[1][bad[:, 0]]])
    return f"{len(bad)} NaN or infinite value(s), the first in its row {bad[0][0]}, column {bad[0][1]}"


@dataclass
class Source:
    """The parts in order, and the numbers of rows of each part and of columns, None if not known yet."""

    parts: Callable[[], Iterator[Part]]
    lengths: list[int] | None = None
    width: int | None = None
    distributed: bool = False  # whether the parts are held by dask

    @property
    def n(self) -> int:
        """The number of rows, once it is known."""
        return sum(self.lengths or ())


@dataclass(eq=False)
class Run:
    """Runs tasks in this process; every task has one BLAS thread, so that results do not depend on their number."""

    n_threads: int = 1

    def over(self, task: Task, state: object, source: Source, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Yield task(state, part, extra) for the parts in order; a part whose extra in `each` is None is left out."""
        return self._ordered(task, state, chosen(source.parts(), each))

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Return function(*arguments)."""
        return function(*arguments)

    def total(self, task: Task, state: object, blocks: Iterable[Any]) -> Any:
        """Return the sum of task(state, block), added in pairs."""
        return tree_sum(list(self._ordered(task, state, ((block,) for block in blocks))), operator.add)

    def _ordered(self, task: Task, state: object, jobs: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        if self.n_threads == 1:
            yield from (task(state, *job) for job in jobs)
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            yield from windowed((pool.submit(task, state, *job) for job in jobs), 2 * self.n_threads)


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


def chosen(parts: Iterator[Part], each: Sequence[Any] | None) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of a task for every part; a part whose extra in `each` is None is left out."""
    if each is None:
        yield from ((part,) for part in parts)
        return
    for part, extra in zip(parts, each, strict=True):
        if extra is not None:
            yield part, extra


def tree_sum(items: list[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Add neighbours in pairs until one sum is left: the order does not depend on where the items were computed."""
    while len(items) > 1:
        pairs = [add(items[i], items[i + 1]) for i in range(0, len(items) - 1, 2)]
        items = pairs + items[len(pairs) * 2 :]
    return items[0]


@contextmanager
def in_process(n_jobs: int | None) -> Iterator[Run]:
    """Yield a Run of `n_jobs` threads; None for as many as BLAS uses, -1 for all cores."""
    if n_jobs is None:
        n_threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    else:
        n_threads = effective_n_jobs(n_jobs)
    with threadpool_limits(1):
        yield Run(n_threads)


def count_rows(source: Source, run: Run, *, least: int) -> None:
    """Count the rows of the source, by reading and checking every part if they are not known.

    A source of fewer than `least` rows is an error.
    """
    if source.lengths is None:
        _read_lengths(source, run)
    if source.n < least:
        msg = f"Found {counted(source.n, 'sample')}, while a minimum of {least} is required."
        raise InvalidInputError(msg)


def _read_lengths(source: Source, run: Run) -> None:
    lengths: list[int] = []
    for i, (name, n, d) in enumerate(run.over(_size, None, source)):
        source.width = d if i == 0 else source.width
        if d != source.width:
            msg = f"{name} has {d} columns, but those before it have {source.width}: all must have the same."
            raise InvalidInputError(msg)
        lengths.append(n)
    source.lengths = lengths


def _size(state: Any, part: Part) -> tuple[str, int, int]:
    rows = read(part, None)
    return part.name, rows.shape[0], rows.shape[1]


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


def take(source: Source, rows: Rows, run: Run) -> Samples:
    """Return these rows, ascending, of a source whose lengths are known; parts without any of them are not read."""
    starts = np.concatenate([[0], np.cumsum(source.lengths or [])])
    cuts = np.searchsorted(rows, starts)
    each = [rows[i:j] - start if j > i else None for start, i, j in zip(starts, cuts, cuts[1:], strict=False)]
    found = list(run.over(_take, source.width, source, each))
    return sparse.csr_array(sparse.vstack(found)) if sparse.issparse(found[0]) else np.concatenate(found)


def _take(width: int | None, part: Part, rows: Rows) -> Any:
    return read(part, width)[rows]


def coordinate_order(X: Samples) -> NDArray[np.intp]:
    """Return the order that sorts the samples by a projection, which does not depend on their input order."""
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    return np.argsort(np.asarray(X @ direction), kind="stable")
