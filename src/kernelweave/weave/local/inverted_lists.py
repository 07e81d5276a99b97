"""Approximate neighbours among many samples: inverted lists of faiss, with enough effort for a recall of 0.95.

k-means divides the samples into about √n lists. A query is compared with the samples of the nearest lists only, by
4-bit codes of their coordinates; the best candidates are then ranked by their true distances. How many lists and
candidates are needed is found on 500 of the samples, whose true neighbours are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from kernelweave._types import Array, Mask, Matrix, Progress, Samples, Vector
from kernelweave.errors import MissingPackageError
from kernelweave.samples.source import in_process, windowed

__all__ = ["RECALL", "InvertedLists", "build_lists", "has_faiss", "true_distances", "without_itself"]

Exact = Callable[[Samples, int], NDArray[np.int32]]  # queries and k: their true neighbours

_CHECKED = 500  # samples whose true neighbours are computed
RECALL = 0.96  # of these, so that the recall of all samples is above 0.95
_SLACK = 0.005  # more recall than that is asked of all candidates, of which the best are kept
_FACTORS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # candidates that are ranked by their true distances, per neighbour
_TOO_COARSE = 8  # candidates per neighbour: with more, codes are slower than all columns
_FEWEST_LISTS = 4  # to begin with
_CODED_FROM = 16  # columns; fewer are compared as they are, since their codes would be too coarse
_MOST_CODES = 256
_SKETCHED = 256  # columns of the random projection of sparse samples
_TRAINED_ON = 64  # samples per list for k-means
_STEPS = 8  # of k-means
_BY_QUERY = 11  # how faiss scans codes: query by query, which is the fastest for some dozen candidates
_BLOCK = 8192
_RANKED = 2**20  # bytes of candidates whose distances are computed at a time


def has_faiss() -> bool:
    """Return whether faiss is installed, which finds neighbours among many samples."""
    return find_spec("faiss") is not None


@dataclass(frozen=True, slots=True, eq=False)
class InvertedLists:
    """Finds the nearest of many samples.

    Parameters
    ----------
    X : array or sparse array (n, n_features)
        The samples.
    exact : function of queries and a number
        Finds true neighbours, for queries whose lists hold too few samples.
    sketch : function of samples
        Returns them as faiss stores them: centred, dense, of a suitable number of columns.
    index : faiss.IndexIVF
        The lists.
    n_jobs : int or None
        Number of threads; None for as many as BLAS uses.
    probes : int
        Number of lists that a query is compared with.
    factor : int
        Number of candidates per neighbour that are ranked by their true distances.
    recall : float
        The share of true neighbours that were found for the samples that were checked.
    """

    X: Samples
    exact: Exact
    sketch: Callable[[Samples], Matrix]
    index: Any
    n_jobs: int | None
    probes: int = _FEWEST_LISTS
    factor: int = _FACTORS[-1]
    recall: float = 0.0

    def nearest(self, queries: Samples, k: int, progress: Progress | None = None) -> NDArray[np.int32]:
        """Return the k nearest samples of every query, nearest first."""
        n_queries = queries.shape[0]
        found = np.empty((n_queries, k), dtype=np.int32)
        order = np.arange(n_queries) if n_queries <= _BLOCK else self._order(queries)
        blocks = [order[start : start + _BLOCK] for start in range(0, n_queries, _BLOCK)]

        def one(block: NDArray[np.intp]) -> NDArray[np.int32]:
            return self._ranked(queries[block], self.candidates(queries[block], k), k)

        done = 0
        for block, near in zip(blocks, _in_threads(one, blocks, self.n_jobs), strict=True):
            found[block] = near
            done += len(block)
            if progress is not None:
                progress("neighbours", done, n_queries)
        return found

    def _order(self, queries: Samples) -> NDArray[np.intp]:
        """Return the order of the nearest lists, in which queries of a block read the same memory."""
        blocks = (queries[start : start + _BLOCK] for start in range(0, queries.shape[0], _BLOCK))
        with threadpool_limits(1):
            place = np.concatenate([self.index.quantizer.search(self.sketch(block), 1)[1].ravel() for block in blocks])
        return np.argsort(place, kind="stable")

    def candidates(self, queries: Samples, k: int) -> NDArray[np.int64]:
        """Return the positions of the candidates of every query, -1 where the lists hold too few."""
        from faiss import SearchParametersIVF

        effort = SearchParametersIVF()
        effort.nprobe = self.probes
        k = min(self.factor * k, self.X.shape[0])
        return np.asarray(self.index.search(self.sketch(queries), k, params=effort)[1])

    def _ranked(self, queries: Samples, candidates: NDArray[np.int64], k: int) -> NDArray[np.int32]:
        """Return the k candidates of every query with the smallest true distances."""
        near = candidates
        if self.factor > 1:
            D = true_distances(self.X, queries, np.maximum(candidates, 0))
            D[candidates < 0] = np.inf
            near = np.take_along_axis(candidates, np.argsort(D, axis=1)[:, :k], axis=1)
        few = (near < 0).any(axis=1)
        if few.any():
            near[few] = self.exact(queries[few], k)
        return near.astype(np.int32)

    def tuned(self, sample: NDArray[np.intp], true: NDArray[np.int32], least: float = RECALL) -> InvertedLists:
        """Return the lists with the least effort that finds enough of the true neighbours of some of the samples.

        Lists are added until the candidates hold enough of them, and then candidates are left out.
        """
        k = true.shape[1] + 1  # a sample is among its own neighbours
        queries, wide = self.X[sample], self
        with threadpool_limits(1):
            while True:
                candidates = wide.candidates(queries, k)
                if wide.probes == self.index.nlist or _recall(true, candidates) >= least + _SLACK:
                    break
                wide = replace(wide, probes=min(ceil(1.1 * wide.probes), self.index.nlist))
        for factor in _FACTORS:
            recall = _recall(true, candidates[:, : factor * k])
            if recall >= least:
                break
        return replace(wide, factor=factor, recall=recall)


def build_lists(
    X: Samples, k: int, exact: Exact, *, seed: int, n_jobs: int | None, least: float = RECALL
) -> InvertedLists | None:
    """Return the inverted lists of the samples, or None if they find less than `least` of k neighbours.

    That may happen to sparse samples only: for dense ones, all lists without codes give the true neighbours.
    """
    if not has_faiss():
        msg = (
            f"The search for neighbours among {X.shape[0]} samples needs faiss-cpu, which is not installed: "
            'pip install "kernelweave[large]", or use solver="landmark".'
        )
        raise MissingPackageError(msg)
    rng = np.random.RandomState(seed)
    sample = rng.choice(X.shape[0], min(X.shape[0], _CHECKED), replace=False)
    true = without_itself(exact(X[sample], k + 1), sample)
    sketch, width = _sketch(X, rng)
    for codes in _codes(width):
        index = _filled(X, sketch, f"IVF{round(np.sqrt(X.shape[0]))},{codes}", width, seed)
        lists = InvertedLists(X, exact, sketch, index, n_jobs).tuned(sample, true, least)
        if lists.recall >= least and (codes == "Flat" or lists.factor <= _TOO_COARSE):
            return lists
    return None


def true_distances(X: Samples, queries: Samples, candidates: NDArray[np.integer[Any]]) -> Matrix:
    """Return the squared distance of every query to its candidates, which are rows of X."""
    if sparse.issparse(X):
        near, rows = X[candidates.ravel()], np.repeat(np.arange(queries.shape[0]), candidates.shape[1])
        difference = near - queries[rows]
        return np.asarray(difference.multiply(difference).sum(axis=1)).reshape(candidates.shape)
    D = np.empty(candidates.shape, dtype=X.dtype)
    size = max(1, _RANKED // (candidates.shape[1] * X.shape[1] * X.itemsize))  # small blocks stay in the cache
    for start in range(0, len(D), size):
        difference = np.take(X, candidates[start : start + size], axis=0)  # several times faster than X[...]
        difference -= queries[start : start + size, None]
        np.einsum("bkd,bkd->bk", difference, difference, out=D[start : start + size])
    return D


def without_itself(near: NDArray[np.int32], own: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
    """Drop the sample itself from its neighbours, or the last neighbour if copies of the sample took its place."""
    others: Mask = near != own[:, None]
    others[others.all(axis=1), -1] = False
    return near[others].reshape(len(near), -1)


def _codes(width: int) -> tuple[str, ...]:
    """Return what faiss keeps of the samples, the next if the first is too coarse: 4-bit codes, and all columns."""
    if width < _CODED_FROM:
        return ("Flat",)
    return f"PQ{width // ceil(width / _MOST_CODES)}x4fs", "Flat"


def _sketch(X: Samples, rng: np.random.RandomState) -> tuple[Callable[[Samples], Matrix], int]:
    """Return a function that prepares samples for faiss, and the number of columns after it.

    Columns are centred, since distances between samples far from the origin would cancel, and columns of zeros are
    added so that codes can be of equally many columns. Sparse samples are projected at random.
    """
    n_features = X.shape[1]
    if sparse.issparse(X):
        width = min(n_features, _SKETCHED)
        drawn = rng.standard_normal((n_features, width)) / np.sqrt(width) if width < n_features else np.eye(width)
        return _Projected(drawn.astype(np.float32)), width
    size = ceil(n_features / _MOST_CODES)
    width = size * ceil(n_features / size)
    return _Centred(X[:: max(1, X.shape[0] // 10_000)].mean(axis=0), width), width


@dataclass(frozen=True, slots=True, eq=False)
class _Centred:
    mean: Vector
    width: int

    def __call__(self, X: Matrix) -> Matrix:
        rows = np.zeros((len(X), self.width), dtype=np.float32)
        np.subtract(X, self.mean, out=rows[:, : X.shape[1]], casting="same_kind")
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class _Projected:
    directions: Matrix

    def __call__(self, X: Samples) -> Matrix:
        return np.ascontiguousarray(X @ self.directions, dtype=np.float32)


def _filled(X: Samples, sketch: Callable[[Samples], Matrix], kind: str, width: int, seed: int) -> Any:
    """Return a faiss index that holds all samples."""
    from faiss import index_factory  # takes a fifth of a second to import

    index: Any = index_factory(width, kind)
    index.cp.niter, index.cp.seed, index.cp.max_points_per_centroid = _STEPS, seed, _TRAINED_ON
    if kind.endswith("fs"):
        index.implem = _BY_QUERY
    n = X.shape[0]
    rng = np.random.RandomState(seed)
    some = np.sort(rng.choice(n, min(n, _TRAINED_ON * index.nlist), replace=False))
    with threadpool_limits(1):  # short, and threads would mostly wait for each other
        index.train(sketch(X[some]))
        for start in range(0, n, _BLOCK):
            index.add(sketch(X[start : start + _BLOCK]))
    return index


def _recall(true: Array, found: Array) -> float:
    return float((true[:, :, None] == found[:, None]).any(axis=2).mean())


def _in_threads(
    task: Callable[[NDArray[np.intp]], Array], blocks: list[NDArray[np.intp]], n_jobs: int | None
) -> Iterator[Array]:
    """Yield task(block) in order, on `n_jobs` threads with one thread of OpenMP each."""
    if len(blocks) == 1:  # as many threads as OpenMP has: limiting them takes as long as the search for some samples
        yield task(blocks[0])
        return
    from faiss import omp_set_num_threads

    with in_process(n_jobs) as run:
        if run.n_threads == 1:
            yield from map(task, blocks)
            return
        with ThreadPoolExecutor(run.n_threads, initializer=omp_set_num_threads, initargs=(1,)) as pool:
            yield from windowed((pool.submit(task, block) for block in blocks), 2 * run.n_threads)
