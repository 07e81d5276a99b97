"""Tasks over chunks on local threads, in an order that does not change the results."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from joblib import effective_n_jobs
from threadpoolctl import threadpool_info, threadpool_limits

from kernelweave.samples.parts import Part

if TYPE_CHECKING:
    from kernelweave.samples.source import Source

__all__ = ["Run", "in_process", "tree_sum"]

Task = Callable[..., Any]  # (state, part or block, extra...) -> result


class Run:
    """Runs tasks in this process; every task has one BLAS thread, so that results do not depend on their number."""

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads

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
