"""Chunks of dask collections, and tasks over chunks on the workers of dask.distributed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from sys import modules
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from threadpoolctl import threadpool_limits

from kernelweave._plural import counted
from kernelweave.errors import InvalidInputError
from kernelweave.samples.source import Part, Run, Source, Task, chosen, windowed

__all__ = ["DaskRun", "active_client", "dask_source", "is_dask", "lazy_blocks"]

_PART_BYTES = 16 * 2**20
_TRIES = 3
_PAUSE = 2.0  # seconds, until the scheduler notices a lost worker


def is_dask(X: object) -> bool:
    """Return whether X is a dask collection, without importing dask."""
    return "dask" in modules and hasattr(X, "__dask_graph__")


def dask_source(X: Any) -> Source:
    """Return the blocks of a dask array, in pieces if they are large, or the partitions of a dask dataframe."""
    if not hasattr(X, "numblocks"):
        parts = [(f"partition {i}", block) for i, block in enumerate(X.to_delayed())]
        names = tuple(X.columns)
        return Source(_Blocks(tuple(parts)), width=len(names), distributed=True, columns=names)
    if X.ndim != 2:
        got = f"{counted(X.ndim, 'dimension')}, shape {X.shape}"
        msg = f"Samples must form a 2-d table (n_samples, n_features); got {got}."
        raise InvalidInputError(msg)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    width = int(X.shape[1])
    if np.isnan(X.chunks[0]).any():
        parts = [(f"block {i}", block) for i, block in enumerate(X.to_delayed()[:, 0])]
        return Source(_Blocks(tuple(parts)), width=width, distributed=True)
    parts, lengths = _pieces(X, max(1, _PART_BYTES // max(width * X.dtype.itemsize, 1)))
    held = 0 if sparse.issparse(getattr(X, "_meta", None)) else None  # how full sparse blocks are is not known
    return Source(_Blocks(tuple(parts)), lengths=lengths, width=width, distributed=True, n_numbers=held)


def _pieces(X: Any, size: int) -> tuple[list[tuple[str, Any]], list[int]]:
    """Return small blocks as a whole and slices of large ones, since dask can read a slice of a file."""
    parts: list[tuple[str, Any]] = []
    lengths: list[int] = []
    start = 0
    blocks = X.to_delayed()[:, 0]
    for b, rows in enumerate(X.chunks[0]):
        if rows <= 2 * size:
            parts.append((f"block {b} (rows {start} to {start + rows - 1})", blocks[b]))
            lengths.append(int(rows))
        else:
            for i in range(start, start + rows, size):
                j = min(i + size, start + rows)
                parts.append((f"block {b} (rows {i} to {j - 1})", X[i:j].to_delayed().ravel()[0]))
                lengths.append(j - i)
        start += int(rows)
    return parts, lengths


@dataclass(frozen=True)
class _Blocks:
    blocks: tuple[tuple[str, Any], ...]

    def __call__(self) -> Iterator[Part]:
        for name, block in self.blocks:
            yield Part(name, _computed, (block,))


def _computed(block: Any) -> Any:
    return block.compute(scheduler="synchronous")


def lazy_blocks(X: Any, task: Task, state: Any, dtype: DTypeLike, columns: Sequence[str] | None = None) -> Any:
    """Return task(state, part) of every block of a dask collection as one dask array, computed on demand.

    `columns` is the order of those of a data frame, if it matters.
    """
    import dask.array as da
    from dask.delayed import delayed

    source = dask_source(X)
    shared = delayed(state)
    source.columns = source.columns if columns is None else tuple(columns)
    parts = [part for (part,) in chosen(source, None)]
    lengths: Sequence[float] = source.lengths or [np.nan] * len(parts)
    work = [delayed(_pinned_block)(task, shared, part.name, part.columns, part.arguments[0]) for part in parts]
    blocks = [da.from_delayed(block, (n,), dtype) for block, n in zip(work, lengths, strict=True)]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def active_client() -> Any:
    """Return the current client of dask.distributed, which is imported, or None."""
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


class DaskRun(Run):
    """Runs tasks on the workers of a client: their shared state is scattered once, and lost tasks are repeated."""

    def __init__(self, client: Any) -> None:
        super().__init__(max(1, sum(client.nthreads().values())))
        self._client = client
        self._shared: tuple[Any, Any] | None = None  # the state last scattered, and its future

    def over(self, task: Task, state: object, source: Source, each: Sequence[Any] | None = None) -> Iterator[Any]:
        """Yield task(state, part, extra) for the parts in order."""
        submit = self._submit_block if source.distributed else self._submit
        jobs = (_Job(self, submit, task, state, job) for job in chosen(source, each))
        return windowed(jobs, 2 * self.n_threads + 2)

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Return function(*arguments), computed on a worker."""
        return _Job(self, self._submit, _apply, None, (function, *arguments)).result()

    def _submit(self, task: Task, state: object, job: tuple[Any, ...]) -> Any:
        return self._client.submit(_pinned, task, self._scattered(state), *job, pure=False)

    def _submit_block(self, task: Task, state: object, job: tuple[Any, ...]) -> Any:
        from dask.delayed import delayed

        part, *extra = job
        block, named = delayed(_pinned_block, pure=False), (part.name, part.columns)
        work = block(task, self._scattered(state), *named, part.arguments[0], *extra)
        return self._client.compute(work)

    def _scattered(self, state: object) -> Any:
        if state is None:
            return None
        if self._shared is None or self._shared[0] is not state:
            self._shared = (state, self._scatter(state))
        return self._shared[1]

    def _scatter(self, state: object) -> Any:
        for attempt in range(_TRIES):
            try:
                return self._client.scatter(state, broadcast=True, hash=False)
            except (OSError, KeyError):  # a worker died during the transfer, unnoticed as yet or just removed
                if attempt == _TRIES - 1:
                    raise
                time.sleep(_PAUSE)
        return None

    def forget(self) -> None:
        """Drop the shared state, which was lost with its workers; it is scattered again when needed."""
        self._shared = None


class _Job:
    """A running task, which is submitted again if its data were lost with a worker."""

    def __init__(
        self, run: DaskRun, submit: Callable[..., Any], task: Task, state: object, job: tuple[Any, ...]
    ) -> None:
        self._run = run
        self._again = (submit, task, state, job)
        self._future = submit(task, state, job)

    def result(self) -> Any:
        for attempt in range(_TRIES):
            try:
                return self._future.result()
            except CancelledError:
                if attempt == _TRIES - 1:
                    raise
                self._run.forget()
                submit, *job = self._again
                self._future = submit(*job)
        return None

    def cancel(self) -> None:
        self._future.cancel()


def _apply(state: object, function: Callable[..., Any], *arguments: object) -> Any:
    return function(*arguments)


def _pinned(task: Task, state: object, *job: Any) -> Any:
    """Run a task with one BLAS thread: workers share the machine, and results must not depend on their threads."""
    with threadpool_limits(1):
        return task(state, *job)


def _pinned_block(task: Task, state: object, name: str, columns: Sequence[Any] | None, rows: Any, *extra: Any) -> Any:
    named = None if columns is None else tuple(columns)
    return _pinned(task, state, Part(name, rows=rows, columns=named), *extra)
