"""A sparse graph of many samples: each against its candidates only, the largest affinities kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import NotFiniteError
from kernelweave.weave.local.local_kernel import LocalKernel, gathered

__all__ = ["Affinities", "affinities", "graph_of", "ridge_rows", "self_tuned", "top"]

Index = NDArray[np.int32]
Tables = tuple[Samples, ...]
Kernels = tuple[LocalKernel, ...]
Progress = Callable[[str, int, int], None]

_SCALE_NEIGHBOUR = 7  # as in dense "knn" graphs
_CHUNK = 32 * 2**20  # bytes of gathered samples at a time


@dataclass(frozen=True, slots=True)
class Affinities:
    """How each sample is drawn to its candidates: (n, k) each, candidates in the order of `index`.

    Parameters
    ----------
    index : array of int32
        Candidates of every sample, by position.
    ridge : array or None
        Entries of Z = I - g(K + gI)^-1 on the sample and its candidates; None for a "knn" graph.
    sqdist : array or None
        Squared distances in the consensus kernel; None for a "ridge" graph.
    scale : array (n,) or None
        The squared distance to the seventh neighbour; None for a "ridge" graph.
    """

    index: Index
    ridge: Matrix | None
    sqdist: Matrix | None
    scale: Vector | None


def affinities(
    tables: Tables,
    index: Index,
    kernels: Kernels,
    *,
    graph: str,
    g: float,
    new: Tables | None = None,
    progress: Progress | None = None,
) -> Affinities:
    """Return the affinities of every sample, or of `new` ones, to the samples at its positions in `index`.

    Several tables hold the same samples, each with its own part of the consensus kernel.
    """
    n, k = index.shape
    ridge = np.empty((n, k), dtype=np.float32) if graph != "knn" else None
    sqdist = np.empty((n, k), dtype=np.float32) if graph != "ridge" else None
    for rows in chunks(n, (k + 1) * max(map(_width, tables)) * 4 + (k + 1) ** 2 * 40):
        groups = _with_candidates(tables, index[rows], rows, new)
        if ridge is not None:
            K = sum(kernel.within(A) for kernel, A in zip(kernels, groups, strict=True))
            ridge[rows] = ridge_rows(K, g)
            if sqdist is not None:
                d = np.einsum("bii->bi", K)
                sqdist[rows] = d[:, :1] + d[:, 1:] - 2 * K[:, 0, 1:]
        elif sqdist is not None:
            sqdist[rows] = sum(kernel.distances(A) for kernel, A in zip(kernels, groups, strict=True))
        if progress is not None:
            progress("affinities", rows.stop, n)
    if sqdist is None:
        return Affinities(index, ridge, None, None)
    np.maximum(sqdist, 0, out=sqdist)
    t = min(_SCALE_NEIGHBOUR, k) - 1
    return Affinities(index, ridge, sqdist, np.partition(sqdist, t, axis=1)[:, t])


def ridge_rows(K: Matrix, g: float) -> Matrix:
    """-g [(K + gI)^-1]_0j, j > 0, of every K in (b, k + 1, k + 1): the first sample's row of Z among its candidates."""
    K = K.copy()
    K[:, np.arange(K.shape[1]), np.arange(K.shape[1])] += K.dtype.type(g)
    first = np.zeros((*K.shape[:2], 1), dtype=K.dtype)
    first[:, 0] = -g
    try:
        return np.asarray(np.linalg.solve(K, first)[:, 1:, 0])
    except np.linalg.LinAlgError as error:
        msg = "K + gamma I is singular in a neighbourhood: raise gamma, or pass kernels that are positive definite."
        raise NotFiniteError(msg) from error


def graph_of(found: Affinities, *, graph: str, n_neighbors: int) -> sparse.csr_array:
    """Return the graph by its name, as the dense solver has it, among candidates."""
    parts = []
    if found.ridge is not None:
        parts.append(_top(found.index, found.ridge, 2 * n_neighbors if graph == "both" else n_neighbors))
    if found.sqdist is not None:
        Z = self_tuned(found.sqdist, found.scale, found.scale[found.index])
        parts.append(_top(found.index, Z, ceil(n_neighbors / 2) if graph == "both" else n_neighbors))
    return parts[0] if len(parts) == 1 else sparse.csr_array(_evened(parts[0]) + _evened(parts[1]))


def self_tuned(sqdist: Matrix, own: Vector, theirs: Matrix) -> Matrix:
    """exp(-d_ij²/(σ_i σ_j)) from squared distances and squared scales."""
    tiny = np.finfo(sqdist.dtype).tiny
    with np.errstate(over="ignore"):  # of a sample with many copies all others are infinitely far away
        Z = sqdist / np.sqrt(np.maximum(own, tiny))[:, None]
        Z /= np.sqrt(np.maximum(theirs, tiny))
    np.negative(Z, out=Z)
    return np.asarray(np.exp(Z, out=Z))


def top(values: Matrix, k: int) -> tuple[NDArray[np.intp], Matrix]:
    """Return where in its row the k largest values are, and these, 0 where they are not positive."""
    k = min(k, values.shape[1])
    where = np.argpartition(-values, k - 1, axis=1)[:, :k]
    return where, np.maximum(np.take_along_axis(values, where, axis=1), 0)


def _top(index: Index, values: Matrix, k: int) -> sparse.csr_array:
    """S = (A + A')/2, A the k largest positive entries of each row."""
    n = len(index)
    where, kept = top(values, k)
    columns = np.take_along_axis(index, where, axis=1).ravel()
    indptr = np.arange(0, kept.size + 1, kept.shape[1], dtype=np.int32)
    A = sparse.csr_array((kept.ravel(), columns, indptr), shape=(n, n))
    A.eliminate_zeros()
    S = sparse.csr_array(A + A.T)
    S.data *= S.dtype.type(0.5)
    S.sort_indices()
    return S


def _evened(S: sparse.csr_array) -> sparse.csr_array:
    """Return a graph with mean degree 1, so that two of them weigh the same in a sum."""
    total = float(S.sum(dtype=np.float64)) / S.shape[0]
    return S / S.dtype.type(total) if total > 0 else S


def _with_candidates(tables: Tables, index: Index, rows: slice, new: Tables | None) -> Iterator[Matrix]:
    """Yield for each table every sample of these rows, then its candidates, as (b, k + 1, d)."""
    own = np.arange(rows.start, rows.stop, dtype=index.dtype)[:, None]
    for v, X in enumerate(tables):
        if new is None:
            yield gathered(X, np.hstack([own, index]))
        elif sparse.issparse(X):
            b = len(index)
            both = sparse.csr_array(sparse.vstack([new[v][rows], X[index.ravel()]]))
            yield gathered(both, np.hstack([np.arange(b)[:, None], b + np.arange(index.size).reshape(index.shape)]))
        else:
            yield np.concatenate([new[v][rows][:, None], X[index]], axis=1)


def _width(X: Any) -> int:
    """Return the columns of the dense form of a few samples: of sparse ones, those that are filled."""
    if not sparse.issparse(X):
        return int(X.shape[1])
    return int(min(X.shape[1], 64 * max(1, X.nnz // X.shape[0])))


def chunks(n: int, row_bytes: int) -> Iterator[slice]:
    """Yield the rows in parts of about 32 MiB."""
    size = max(1, min(n, _CHUNK // row_bytes))
    return (slice(i, min(i + size, n)) for i in range(0, n, size))
