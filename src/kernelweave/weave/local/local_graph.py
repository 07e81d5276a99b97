"""Affinities of many samples, each compared with its candidates only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Matrix, Progress, Samples, Vector
from kernelweave.core.graphs.affinity import Affinity, GraphRule, Kind, neighbour_scales, self_tuned
from kernelweave.errors import NotFiniteError
from kernelweave.weave.local.local_kernel import LocalKernel, gathered

__all__ = ["CandidateAffinities", "Index", "Kernels", "Tables", "affinities", "ridge_rows"]

Index = NDArray[np.int32]
Tables = tuple[Samples, ...]
Kernels = tuple[LocalKernel, ...]

_CHUNK = 32 * 2**20  # bytes of gathered samples at a time


@dataclass(frozen=True, slots=True, eq=False)
class CandidateAffinities:
    """Ridge affinities and squared distances of samples to their candidates: (n, k) each, in the order of `index`.

    Parameters
    ----------
    index : array of int32
        Candidates of every sample, by position.
    ridge : array or None
        Entries of Z = I - g(K + gI)^-1 on the sample and its candidates; None for a "knn" graph.
    sqdist : array or None
        Squared distances in the consensus kernel; None for a "ridge" graph.
    scale : array (n,) or None
        The squared distance to the seventh candidate; None for a "ridge" graph.
    """

    index: Index
    ridge: Matrix | None
    sqdist: Matrix | None
    scale: Vector | None

    def of(self, scales: Vector | None) -> Callable[[Kind], Affinity]:
        """Return the affinities of each kind, given the squared scales of all training samples."""

        def affinity(kind: Kind) -> Affinity:
            if kind == "ridge":
                return Affinity(_computed(self.ridge), self.index)
            theirs = _computed(scales)[self.index]
            return Affinity(self_tuned(_computed(self.sqdist).copy(), _computed(self.scale), theirs), self.index)

        return affinity


def _computed(values: Matrix | None) -> Matrix:
    if values is None:
        msg = "These affinities were not computed, since the rule of the graph does not use them: pass another rule."
        raise TypeError(msg)
    return values


def affinities(
    tables: Tables,
    index: Index,
    kernels: Kernels,
    rule: GraphRule,
    *,
    g: float,
    new: Tables | None = None,
    progress: Progress | None = None,
) -> CandidateAffinities:
    """Return the affinities of every sample, or of every `new` one, to its candidates, whose positions are in `index`.

    Several tables hold the same samples, each with its own part of the consensus kernel.
    """
    n, k = index.shape
    ridge = np.empty((n, k), dtype=np.float32) if "ridge" in rule.kept else None
    sqdist = np.empty((n, k), dtype=np.float32) if "tuned" in rule.kept else None
    for rows in chunks(n, (k + 1) * max(map(_width, tables)) * 4 + (k + 1) ** 2 * 40):
        groups = _with_candidates(tables, index[rows], rows, new)
        if ridge is not None:
            K = np.asarray(sum(kernel.within(group) for kernel, group in zip(kernels, groups, strict=True)))
            ridge[rows] = ridge_rows(K, g)
            if sqdist is not None:
                diagonal = np.einsum("bii->bi", K)
                sqdist[rows] = diagonal[:, :1] + diagonal[:, 1:] - 2 * K[:, 0, 1:]
        elif sqdist is not None:
            sqdist[rows] = sum(kernel.distances(group) for kernel, group in zip(kernels, groups, strict=True))
        if progress is not None:
            progress("affinities", rows.stop, n)
    if sqdist is None:
        return CandidateAffinities(index, ridge, None, None)
    np.maximum(sqdist, 0, out=sqdist)
    return CandidateAffinities(index, ridge, sqdist, neighbour_scales(sqdist, k))


def ridge_rows(K: Matrix, g: float) -> Matrix:
    """Z_0j = -g [(K + gI)^-1]_0j, j > 0, for each K in (b, k + 1, k + 1), of a sample and its k candidates."""
    K = K.copy()
    K[:, np.arange(K.shape[1]), np.arange(K.shape[1])] += K.dtype.type(g)
    first = np.zeros((*K.shape[:2], 1), dtype=K.dtype)
    first[:, 0] = -g
    try:
        return np.asarray(np.linalg.solve(K, first)[:, 1:, 0])
    except np.linalg.LinAlgError as error:
        msg = "K + gamma I is singular in a neighbourhood: raise gamma, or pass kernels that are positive definite."
        raise NotFiniteError(msg) from error


def _with_candidates(tables: Tables, index: Index, rows: slice, new: Tables | None) -> Iterator[Matrix]:
    """Yield for each table the samples of these rows, each followed by its candidates, as (b, k + 1, n_features)."""
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


def _width(X: Samples) -> int:
    """Return about how many columns a few samples take in dense form: of sparse ones, those that are not all zero."""
    if not sparse.issparse(X):
        return int(X.shape[1])
    return int(min(X.shape[1], 64 * max(1, X.nnz // X.shape[0])))


def chunks(n: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices of rows that take about 32 MiB each."""
    size = max(1, min(n, _CHUNK // row_bytes))
    return (slice(i, min(i + size, n)) for i in range(0, n, size))
