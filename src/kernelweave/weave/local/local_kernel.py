"""The consensus kernel within small groups of samples, and the affinities of samples to their candidates.

Many groups are computed at once, without a matrix of all samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Matrix, Progress, Samples, Vector
from kernelweave.core.graphs.affinity import Affinity, GraphRule, Kind, neighbour_scales, self_tuned
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.kernels import Chi2, Kernel, Laplacian
from kernelweave.kernels.bank import joined_sum, weighted_diagonal, weighted_products
from kernelweave.kernels.base import Products

__all__ = [
    "CandidateAffinities",
    "Index",
    "LocalConsensus",
    "LocalKernel",
    "Tables",
    "affinities",
    "candidate_sqdist",
    "gathered",
    "group_bytes",
    "ridge_rows",
]

Index = NDArray[np.int32]
Tables = tuple[Samples, ...]

_CHUNK = 32 * 2**20  # bytes of gathered samples at a time


@dataclass(frozen=True, slots=True)
class LocalKernel:
    """K = Σ p_i H_i of kernels that were fixed on a sample of the rows.

    Parameters
    ----------
    kernels : tuple of Kernel
        Fixed kernels.
    shares : array (r,)
        Their shares p in the consensus.
    origin : array (n_features,) or None
        Subtracted from the samples before distances are computed, if these would otherwise cancel.
    """

    kernels: tuple[Kernel, ...]
    shares: Vector
    origin: Vector | None = None

    @classmethod
    def fixed_on(cls, sample: Samples, kernels: tuple[Kernel, ...], shares: Vector) -> LocalKernel:
        """Return the consensus of kernels that were fixed on this sample."""
        if sparse.issparse(sample):
            for kernel in kernels:
                _check_narrows(kernel)
            return cls(kernels, shares)
        mean = sample.mean(axis=0)
        far = mean @ mean > 0.9 * float(np.einsum("ij,ij->", sample, sample)) / len(sample)
        return cls(kernels, shares, mean if far else None)

    def within(self, groups: Matrix) -> Matrix:
        """Return the kernel matrix (b, size, size) of each of the groups (b, size, n_features)."""
        inner = groups @ groups.transpose(0, 2, 1)
        moved = groups if self.origin is None else groups - self.origin
        near = inner if self.origin is None else moved @ moved.transpose(0, 2, 1)
        x, own = np.einsum("bii->bi", inner), np.einsum("bii->bi", near)
        sqdist = _sqdist(near, own[:, :, None], own[:, None, :], groups)
        # squared lengths as a column and a row, which kernels broadcast: they are read more often than the products
        products = Products(inner, sqdist, x[:, :, None], x[:, None, :])
        return weighted_products(
            self.kernels, self.shares, products, lambda kernel: np.stack([kernel.gram(X) for X in groups])
        )

    def between(self, x: Matrix, groups: Matrix) -> Matrix:
        """Return the kernel (b, k) of each sample of x (b, n_features) with the k of its group (b, k, n_features)."""
        near_x, near_groups = (x, groups) if self.origin is None else (x - self.origin, groups - self.origin)
        inner = np.einsum("bkd,bd->bk", groups, x, optimize=True)
        near = inner if self.origin is None else np.einsum("bkd,bd->bk", near_groups, near_x, optimize=True)
        own, theirs = _squares(near_x)[:, None], _squares(near_groups)
        squares = (own, theirs) if self.origin is None else (_squares(x)[:, None], _squares(groups))
        lengths, their_lengths = (np.broadcast_to(each, inner.shape) for each in squares)
        products = Products(inner, _sqdist(near, own, theirs, groups), lengths, their_lengths)
        return weighted_products(
            self.kernels,
            self.shares,
            products,
            lambda kernel: np.stack([kernel.gram(one[None], X)[0] for one, X in zip(x, groups, strict=True)]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class LocalConsensus:
    """The consensus kernel of samples in one or several tables.

    Parameters
    ----------
    kernels : tuple of LocalKernel
        The part of every table.
    groups : tuple of tuples of int, default=()
        The positions of tables that are compared together too: the blocks of a mixed table.
    """

    kernels: tuple[LocalKernel, ...]
    groups: tuple[tuple[int, ...], ...] = ()

    def joined(self, parts: Sequence[Matrix]) -> Matrix:
        """Return the consensus kernel of some samples from that of every table, as `joined_sum`."""
        if len(parts) == 1:
            return parts[0]
        return joined_sum(parts, [float(kernel.shares.sum()) for kernel in self.kernels], self.groups)

    def side_by_side(self, tables: Tables) -> Tables:
        """Return the tables in which neighbours are looked for: those that are compared together are one."""
        alone = [X for v, X in enumerate(tables) if not any(v in group for group in self.groups)]
        return (*alone, *(np.hstack([tables[v] for v in group]) for group in self.groups))


def gathered(X: Samples, rows: NDArray[np.integer[Any]]) -> Matrix:
    """Return the samples at rows (b, k), dense, as (b, k, n_features); of a sparse X without its empty columns."""
    if not sparse.issparse(X):
        return np.take(X, rows, axis=0)  # several times faster than X[rows]
    part = X[rows.ravel()]
    columns = np.unique(part.indices)
    dense = part[:, columns].toarray() if len(columns) else np.zeros((part.shape[0], 1), dtype=X.dtype)
    return dense.reshape(*rows.shape, -1)


def _check_narrows(kernel: Kernel) -> None:
    """Refuse a kernel whose value may change if columns in which all samples are 0 are left out."""
    zero = np.zeros((1, 1))
    if kernel.of_products(Products(zero, zero, zero, zero)) is None and not isinstance(kernel, Laplacian | Chi2):
        msg = (
            f'solver="local" cannot compute the kernel {kernel} of sparse samples, since it is not a function of their '
            'inner products: make them dense with X.toarray(), leave the kernel out, or use solver="dense".'
        )
        raise InvalidInputError(msg)


def _squares(x: Matrix) -> Matrix:
    return np.asarray(np.einsum("...d,...d->...", x, x))


def _sqdist(inner: Matrix, own: Matrix, theirs: Matrix, groups: Matrix) -> Matrix:
    """D = |x|² + |y|² - 2x'y, and 0 where it is within rounding, so that copies of a sample are at distance 0."""
    D = own + theirs
    D -= inner
    D -= inner
    D[2 * (1 + np.sqrt(groups.shape[-1])) * np.finfo(groups.dtype).eps * own >= D] = 0
    return D


@dataclass(frozen=True, slots=True, eq=False)
class CandidateAffinities:
    """The affinities of samples to their candidates.

    Parameters
    ----------
    parts : dict of kind to Affinity
        Of every kind that the rule of the graph uses, (n, k) each: "ridge", entries of Z = I - g(K + gI)^-1 on the
        sample and its candidates, and "tuned", self-tuned similarities.
    scale : array (n,) or None
        The squared distance to the seventh candidate; None for a "ridge" graph.
    """

    parts: dict[Kind, Affinity]
    scale: Vector | None


def affinities(
    tables: Tables,
    index: Index,
    consensus: LocalConsensus,
    rule: GraphRule,
    *,
    g: float,
    new: Tables | None = None,
    scales: Vector | None = None,
    progress: Progress | None = None,
) -> CandidateAffinities:
    """Return the affinities of every sample, or of every `new` one, to its candidates, whose positions are in `index`.

    Several tables hold the same samples, each with its own part of the consensus kernel. New samples need the squared
    `scales` of the others for self-tuned similarities.
    """
    parts: dict[Kind, Affinity] = {}
    if rule.graph == "knn":
        D = candidate_sqdist(tables, index, consensus, new, progress)
    else:
        ridge = np.empty(index.shape, dtype=np.float32)
        D = np.empty(index.shape if rule.graph == "both" else (0, 0), dtype=np.float32)
        for rows, groups in _groups(tables, index, new, progress):
            K = consensus.joined(
                [kernel.within(group) for kernel, group in zip(consensus.kernels, groups, strict=True)]
            )
            ridge[rows] = ridge_rows(K, g)
            if rule.graph == "both":
                diagonal = np.einsum("bii->bi", K)
                D[rows] = diagonal[:, :1] + diagonal[:, 1:] - 2 * K[:, 0, 1:]
        parts["ridge"] = Affinity(ridge, index)
    if rule.graph == "ridge":
        return CandidateAffinities(parts, None)
    np.maximum(D, 0, out=D)
    scale = neighbour_scales(D, index.shape[1])
    theirs = scale if new is None else scales
    if theirs is None:
        msg = "Self-tuned similarities of new samples need the scales of the others: pass scales."
        raise TypeError(msg)
    parts["tuned"] = Affinity(self_tuned(D, scale, theirs[index]), index)
    return CandidateAffinities(parts, scale)


def candidate_sqdist(
    tables: Tables, index: Index, consensus: LocalConsensus, new: Tables | None, progress: Progress | None
) -> Matrix:
    """Return D (n, k), the squared distances of samples to their candidates in the consensus kernel."""
    D = np.empty(index.shape, dtype=np.float32)
    for rows, groups in _groups(tables, index, new, progress):
        own, between = [], []
        for kernel, group in zip(consensus.kernels, groups, strict=True):
            diagonal = weighted_diagonal(kernel.kernels, kernel.shares, group.reshape(-1, group.shape[2]))
            own.append(diagonal.reshape(group.shape[:2]))
            between.append(kernel.between(group[:, 0], group[:, 1:]))
        diagonal = consensus.joined(own)
        D[rows] = diagonal[:, :1] + diagonal[:, 1:] - 2 * consensus.joined(between)
    return np.maximum(D, 0, out=D)


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


def _groups(
    tables: Tables, index: Index, new: Tables | None, progress: Progress | None
) -> Iterator[tuple[slice, Iterator[Matrix]]]:
    """Yield rows that take about 32 MiB and, for each table, the samples there, each followed by its candidates."""
    n, k = index.shape
    size = max(1, min(n, _CHUNK // group_bytes(tables, k)))
    for i in range(0, n, size):
        rows = slice(i, min(i + size, n))
        yield rows, (_with_candidates(X, index, rows, None if new is None else new[v]) for v, X in enumerate(tables))
        if progress is not None:
            progress("affinities", rows.stop, n)


def _with_candidates(X: Samples, index: Index, rows: slice, new: Samples | None) -> Matrix:
    """Return the samples at these rows, each followed by its candidates, as (b, k + 1, n_features)."""
    near = index[rows]
    if new is None:
        own = np.arange(rows.start, rows.stop, dtype=index.dtype)[:, None]
        return gathered(X, np.hstack([own, near]))
    if sparse.issparse(X):
        b = len(near)
        both = sparse.csr_array(sparse.vstack([new[rows], X[near.ravel()]]))
        return gathered(both, np.hstack([np.arange(b)[:, None], b + np.arange(near.size).reshape(near.shape)]))
    return np.concatenate([new[rows][:, None], gathered(X, near)], axis=1)


def group_bytes(tables: Tables, k: int) -> int:
    """Return about how much memory a sample and its k candidates take: their columns, and their kernels.

    Of sparse samples, these are the columns that are not zero in all of them.
    """
    widths = [min(X.shape[1], 64 * max(1, X.nnz // X.shape[0])) if sparse.issparse(X) else X.shape[1] for X in tables]
    return int((k + 1) * max(widths) * 4 + (k + 1) ** 2 * 40)
