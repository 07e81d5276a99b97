"""One rule for sparse graphs: which affinities, how many of each row, how they are added up.

A caller supplies affinities only: of all pairs, of every sample to its candidates, or of new samples. Letters: K (n, n)
kernel, Z ridge affinities, D squared distances, σ² squared scales, S graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.algebra.matrices import shifted, symmetric_inverse

__all__ = [
    "SCALE_RANK",
    "Affinity",
    "GraphKind",
    "GraphRule",
    "Kind",
    "Woven",
    "kernel_sqdist",
    "neighbour_scales",
    "ridge_affinity",
    "row_blocks",
    "self_tuned",
    "top_rows",
]

GraphKind: TypeAlias = Literal["ridge", "knn", "both"]
Kind: TypeAlias = Literal["ridge", "tuned"]

SCALE_RANK = 7  # of the neighbour whose distance is a sample's own scale (Zelnik-Manor and Perona, 2004)
_BLOCK = 256  # rows at a time, so that no temporary is of the size of Z


class Affinity(NamedTuple):
    """Affinities of m samples to k candidates: values (m, k), at these columns (m, k), or at all n."""

    values: Matrix
    columns: Labels | None = None


class Woven(NamedTuple):
    """A graph, the mean degree of each of its parts, and the affinities of its last part."""

    graph: sparse.csr_array
    degrees: tuple[float, ...]
    last: Affinity


@dataclass(frozen=True, slots=True)
class GraphRule:
    """How a sparse graph is cut from affinities.

    Parameters
    ----------
    graph : {"ridge", "knn", "both"}
        Ridge affinities, self-tuned similarities, or the sum of both, each with mean degree 1: the first with twice
        and the second with half as many neighbours.
    gamma : float
        The ridge, relative to the mean diagonal of the kernel.
    n_neighbors : int
        How many entries of each row are kept.
    """

    graph: GraphKind = "ridge"
    gamma: float = 0.1
    n_neighbors: int = 10

    @property
    def kept(self) -> dict[Kind, int]:
        """How many entries of a row are kept of each kind of affinity."""
        k = self.n_neighbors
        if self.graph == "both":
            return {"ridge": 2 * k, "tuned": ceil(k / 2)}
        return {"ridge": k} if self.graph == "ridge" else {"tuned": k}

    def perturbed(self, gamma: float, n_neighbors: float) -> GraphRule:
        """Return the rule with gamma and the number of neighbours multiplied by these factors."""
        return GraphRule(self.graph, gamma * self.gamma, max(1, round(n_neighbors * self.n_neighbors)))

    def weave(self, affinity: Callable[[Kind], Affinity], n: int) -> Woven:
        """Return the graph of n samples: S = (A + A')/2 for each kind, A the largest positive entries of each row."""
        parts = []
        for kind, k in self.kept.items():
            last = affinity(kind)
            parts.append(_symmetric(top_rows(last, k, n)))
        degrees = tuple(float(S.sum(dtype=np.float64)) / n or 1.0 for S in parts)
        return Woven(_added(parts, degrees), degrees, last)

    def rows(self, affinity: Callable[[Kind], Affinity], n: int, degrees: tuple[float, ...]) -> sparse.csr_array:
        """Return the rows (m, n) of the graph for new samples, its parts in the proportions of the n samples."""
        return _added([top_rows(affinity(kind), k, n) for kind, k in self.kept.items()], degrees)


def _added(parts: list[sparse.csr_array], degrees: tuple[float, ...]) -> sparse.csr_array:
    if len(parts) == 1:
        return parts[0]
    return sparse.csr_array(sum(S / S.dtype.type(d) for S, d in zip(parts, degrees, strict=True)))


def _symmetric(A: sparse.csr_array) -> sparse.csr_array:
    S = sparse.csr_array(A + A.T)
    S.data *= S.dtype.type(0.5)
    S.sort_indices()
    return S


def top_rows(affinity: Affinity, k: int, n: int) -> sparse.csr_array:
    """The k largest positive entries of every row, as (m, n)."""
    values, of = affinity
    m, width = values.shape
    k = min(k, width)
    short = sparse.get_index_dtype(maxval=max(m * k, n))  # scikit-learn takes short indices only
    columns, kept = np.empty((m, k), dtype=short), np.empty((m, k), dtype=values.dtype)
    for rows in row_blocks(m):
        block = values[rows]
        top = np.argpartition(block, width - k, axis=1)[:, width - k :]
        kept[rows] = np.maximum(np.take_along_axis(block, top, axis=1), 0)
        columns[rows] = top if of is None else np.take_along_axis(of[rows], top, axis=1)
    indptr = np.arange(0, m * k + 1, k, dtype=short)
    A = sparse.csr_array((kept.ravel(), columns.ravel(), indptr), shape=(m, n))
    A.eliminate_zeros()
    return A


def row_blocks(m: int) -> Iterator[slice]:
    """Yield the rows in blocks."""
    return (slice(i, min(i + _BLOCK, m)) for i in range(0, m, _BLOCK))


def ridge_affinity(K: Matrix, *, gamma: float) -> Matrix:
    """Z = I - g(K + gI)^-1, g = γ tr(K)/n: Eq. 14 without the labels' term; its diagonal is set to 0."""
    g = gamma * float(K.diagonal().mean())
    Z = symmetric_inverse(shifted(K, g), overwrite=True)
    Z *= -g
    np.fill_diagonal(Z, 0)
    return Z


def kernel_sqdist(K: Matrix) -> Matrix:
    """D_ij = K_ii + K_jj - 2K_ij; infinite from a sample to itself, which is no neighbour of its own."""
    k = K.diagonal()
    D = -2 * K
    D += k[:, None]
    D += k
    np.maximum(D, 0, out=D)
    np.fill_diagonal(D, np.inf)
    return D


def neighbour_scales(D: Matrix, others: int) -> Vector:
    """σ_i², the squared distance of every sample to the seventh, or last, of the others that a row of D holds."""
    t = min(SCALE_RANK, others) - 1
    return np.concatenate([np.partition(D[rows], t, axis=1)[:, t] for rows in row_blocks(len(D))])


def self_tuned(D: Matrix, own: Vector, theirs: Vector | Matrix) -> Matrix:
    """exp(-d_ij² / (σ_i σ_j)) from squared distances and squared scales, written into D."""
    tiny = np.finfo(D.dtype).tiny
    with np.errstate(over="ignore"):  # of a sample with many copies all others are infinitely far away
        D *= -1 / np.sqrt(np.maximum(own, tiny))[:, None]
        D *= 1 / np.sqrt(np.maximum(theirs, tiny))
    return np.asarray(np.exp(D, out=D))
