"""The nearest neighbours of every sample: exact up to 20,000 samples, approximate for more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Progress, Samples
from kernelweave.weave.local.inverted_lists import RECALL, build_lists, has_faiss, without_itself

__all__ = ["EXACT_UP_TO", "ExactSearch", "Neighbours", "Search", "nearest", "nearest_outside", "search_new"]

EXACT_UP_TO = 20_000  # samples; for more, inverted lists are faster
_NEW_EXACT_UP_TO = 5000  # training samples that new ones are compared with
_NEW_RECALL = 0.9  # of the neighbours of new samples
_BLOCK = 4096
_PAIRS = 2**23  # distances between sparse samples at a time


class Search(Protocol):
    """Finds the nearest of the samples that it was made of."""

    @property
    def recall(self) -> float:
        """The share of the true neighbours that it finds."""

    def nearest(self, queries: Samples, k: int, progress: Progress | None = None) -> NDArray[np.int32]:
        """Return the positions of the k nearest samples of every query, nearest first."""


class Neighbours(NamedTuple):
    """The positions (n, k) of the nearest neighbours of every sample, nearest first, and the share that is correct."""

    positions: NDArray[np.int32]
    recall: float


@dataclass(frozen=True, slots=True, eq=False)
class ExactSearch:
    """Compares every query with all samples X, by matrix products."""

    recall: ClassVar[float] = 1.0

    X: Samples

    def nearest(self, queries: Samples, k: int, progress: Progress | None = None) -> NDArray[np.int32]:
        """Return the positions of the k nearest samples of every query, nearest first."""
        from sklearn.neighbors import NearestNeighbors

        n_queries = queries.shape[0]
        found = np.empty((n_queries, k), dtype=np.int32)
        thin = sparse.issparse(self.X)
        model = None if thin else NearestNeighbors(n_neighbors=k, algorithm="brute").fit(self.X)
        size = max(1, min(_BLOCK, _PAIRS // self.X.shape[0])) if thin else _BLOCK
        for start in range(0, n_queries, size):
            stop = min(start + size, n_queries)
            block = queries[start:stop]
            if model is None:
                near = _nearest_sparse(self.X, sparse.csr_array(block), k)
            else:
                near = model.kneighbors(block, return_distance=False)
            found[start:stop] = near
            if progress is not None:
                progress("neighbours", stop, n_queries)
        return found


def nearest(
    X: Samples, k: int, *, seed: int, n_jobs: int | None = None, progress: Progress | None = None
) -> Neighbours:
    """Return the k nearest others of every row of X, by Euclidean distance.

    Up to 20,000 rows the search is exact. For more, it finds at least 0.95 of the neighbours, as measured on 500 rows.
    The result is determined by the seed, whatever the number of threads.
    """
    n = X.shape[0]
    k = min(k, n - 1)
    search = _search(X, k, EXACT_UP_TO, seed, n_jobs, RECALL)
    near = search.nearest(X, k + 1, progress)
    return Neighbours(without_itself(near, np.arange(n, dtype=np.int32)), search.recall)


def search_new(X: Samples, k: int, *, seed: int, n_jobs: int | None = None) -> Search:
    """Return a search for the k nearest rows of X of new samples: exact up to 5000 rows, or where faiss is missing.

    For more, it finds 0.9 of them: new samples are joined to the nearest ones, and a missed neighbour hardly changes
    the result.
    """
    return _search(X, k, _NEW_EXACT_UP_TO if has_faiss() else X.shape[0], seed, n_jobs, _NEW_RECALL)


def _search(X: Samples, k: int, exact_up_to: int, seed: int, n_jobs: int | None, least: float) -> Search:
    exact = ExactSearch(X)
    if X.shape[0] <= exact_up_to:
        return exact
    return build_lists(X, k, exact.nearest, seed=seed, n_jobs=n_jobs, least=least) or exact


def nearest_outside(X: Samples, rows: NDArray[np.intp], piece: NDArray[Any], k: int) -> NDArray[np.int32]:
    """Return the k nearest samples in other pieces for the samples at `rows`, exactly; fewer if there are fewer.

    At least k of the k + size nearest samples lie outside a piece of that size; pieces of similar size share a search.
    """
    size = np.bincount(piece)[piece[rows]]
    k = min(k, len(piece) - int(size.max()))
    found = np.empty((len(rows), k), dtype=np.int32)
    powers = np.ceil(np.log2(size)).astype(int)
    search = ExactSearch(X)
    for power in np.unique(powers):
        part = np.flatnonzero(powers == power)
        near = search.nearest(X[rows[part]], min(k + 2 ** int(power), len(piece)))
        inside = piece[near] == piece[rows[part], None]
        found[part] = np.take_along_axis(near, np.argsort(inside, axis=1, kind="stable")[:, :k], axis=1)
    return found


def _nearest_sparse(X: sparse.csr_array, queries: sparse.csr_array, k: int) -> NDArray[np.intp]:
    """Return the k nearest rows of X from one sparse product, which is faster than scikit-learn's search."""
    D = -2 * (queries @ X.T).toarray()
    D += X.multiply(X).sum(axis=1)
    near = np.argpartition(D, k - 1, axis=1)[:, :k]
    return np.take_along_axis(near, np.argsort(np.take_along_axis(D, near, axis=1), axis=1, kind="stable"), axis=1)
