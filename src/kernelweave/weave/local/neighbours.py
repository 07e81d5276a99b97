"""The nearest neighbours of every sample: exact up to 20,000 samples, by nearest neighbour descent for more."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from kernelweave._types import Mask, Progress, Samples
from kernelweave.errors import MissingPackageError, RecallWarning

__all__ = ["EXACT_UP_TO", "Neighbours", "has_pynndescent", "nearest", "nearest_among", "nearest_outside"]

EXACT_UP_TO = 20_000  # samples; nearest neighbour descent is faster for more
_EXACT_PAIRS = 2e9  # queries times samples up to which a search among samples is exact
_BLOCK = 4096
_CHECKED = 200  # samples whose exact neighbours are computed to measure the recall
_RECALL = 0.95


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The positions of the nearest neighbours of every sample, nearest first, and the share that is correct."""

    index: NDArray[np.int32]
    recall: float
    exact: bool


def has_pynndescent() -> bool:
    """Return whether pynndescent is installed, which finds neighbours among many samples."""
    return find_spec("pynndescent") is not None


def nearest(X: Samples, k: int, *, seed: int, n_jobs: int = 1, progress: Progress | None = None) -> Neighbours:
    """Return the k nearest others of every row of X, by Euclidean distance.

    Up to 20,000 rows the search is exact. For more, pynndescent is used, its recall is measured on 200 rows, and a
    `RecallWarning` is issued if it is below 0.95. With n_jobs=1 the result is determined by the seed.
    """
    n = X.shape[0]
    k = min(k, n - 1)
    if n <= EXACT_UP_TO:
        return Neighbours(_search(X, X, k + 1, progress=progress, skip=0), 1.0, exact=True)
    index = _descend(X, k, seed=seed, n_jobs=n_jobs)
    sample = np.random.RandomState(seed).choice(n, _CHECKED, replace=False)
    true = _search(X, X[sample], k + 1, skip=sample)
    recall = float(np.mean([np.isin(true[i], index[row]).mean() for i, row in enumerate(sample)]))
    if recall < _RECALL:
        msg = (
            f"The approximate neighbours hold {recall:.1%} of the true ones ({_CHECKED} samples were checked), less "
            f"than {_RECALL:.0%}: the graph may join samples that are not near. Raise n_candidates, or reduce the "
            "number of columns, by PCA for instance."
        )
        warnings.warn(msg, RecallWarning, stacklevel=2)
    return Neighbours(index, recall, exact=False)


def nearest_among(
    X: Samples, new: Samples, k: int, *, seed: int, n_jobs: int = 1, progress: Progress | None = None
) -> NDArray[np.int32]:
    """Return the k nearest rows of X for every row of `new`: exactly, or by pynndescent if there are too many pairs."""
    k = min(k, X.shape[0])
    if X.shape[0] * new.shape[0] <= _EXACT_PAIRS or X.shape[0] <= EXACT_UP_TO:
        return _search(X, new, k, progress=progress)
    index = _pynndescent(X, k, seed=seed, n_jobs=n_jobs, compressed=False)
    return np.asarray(index.query(_as_matrix(new), k=k)[0], dtype=np.int32)


def nearest_outside(X: Samples, rows: NDArray[np.intp], piece: NDArray[Any], k: int) -> NDArray[np.int32]:
    """Return the k nearest samples in other pieces for the samples at `rows`, exactly; fewer if there are fewer.

    At least k of the k + size nearest samples lie outside a piece of that size; pieces of similar size share a search.
    """
    size = np.bincount(piece)[piece[rows]]
    k = min(k, len(piece) - int(size.max()))
    found = np.empty((len(rows), k), dtype=np.int32)
    powers = np.ceil(np.log2(size)).astype(int)
    for power in np.unique(powers):
        part = np.flatnonzero(powers == power)
        near = _search(X, X[rows[part]], min(k + 2 ** int(power), len(piece)))
        inside = piece[near] == piece[rows[part], None]
        found[part] = np.take_along_axis(near, np.argsort(inside, axis=1, kind="stable")[:, :k], axis=1)
    return found


def _search(
    X: Samples, queries: Samples, k: int, *, progress: Progress | None = None, skip: Any = None
) -> NDArray[np.int32]:
    """Return the k nearest rows of X for every query, block by block; k - 1, without the query, if `skip` is given.

    `skip` holds the position of every query in X; 0 if the queries are X.
    """
    model = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(_as_matrix(X))
    n_queries = queries.shape[0]
    found = np.empty((n_queries, k if skip is None else k - 1), dtype=np.int32)
    for start in range(0, n_queries, _BLOCK):
        stop = min(start + _BLOCK, n_queries)
        near = model.kneighbors(_as_matrix(queries[start:stop]), return_distance=False)
        if skip is not None:
            own = np.arange(start, stop) if np.isscalar(skip) else skip[start:stop]
            near = _without(near, own)
        found[start:stop] = near
        if progress is not None:
            progress("neighbours", stop, n_queries)
    return found


def _without(near: NDArray[Any], own: NDArray[Any]) -> NDArray[Any]:
    """Drop the sample itself from its neighbours, or the last neighbour if copies of the sample took its place."""
    others: Mask = near != own[:, None]
    others[others.all(axis=1), -1] = False
    return near[others].reshape(len(near), -1)


def _descend(X: Samples, k: int, *, seed: int, n_jobs: int) -> NDArray[np.int32]:
    near = _pynndescent(X, k + 1, seed=seed, n_jobs=n_jobs, compressed=True).neighbor_graph[0]
    n = len(near)
    near = _without(near, np.arange(n, dtype=near.dtype)).astype(np.int32, copy=False)
    rows, places = np.nonzero(near < 0)  # not found: use any other sample, to which the kernel gives a small affinity
    near[rows, places] = (rows + 1 + places) % n
    return near


def _pynndescent(X: Samples, k: int, *, seed: int, n_jobs: int, compressed: bool) -> Any:
    if not has_pynndescent():
        msg = (
            f"The search for neighbours among {X.shape[0]} samples needs pynndescent, which is not installed: "
            'pip install "kernelweave[large]", or use solver="landmark".'
        )
        raise MissingPackageError(msg)
    from pynndescent import NNDescent

    return NNDescent(
        _as_matrix(X), n_neighbors=k, random_state=seed, n_jobs=n_jobs, compressed=compressed, low_memory=True
    )


def _as_matrix(X: Samples) -> Samples:
    """Return X, with a sparse array as a sparse matrix, since these libraries do not accept sparse arrays."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else X
