"""One rule for sparse graphs: which affinities are used, how many of each row are kept, and how they are combined.

A caller supplies affinities only: of all pairs, of every sample to its candidates, or of new samples. Letters: K (n, n)
kernel, Z ridge affinities, D squared distances, σ² squared scales, C the largest affinities of each row, S graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.algebra.matrices import largest_columns, ridge_inverse
from kernelweave.core.graphs.edges import Edges, join_pieces, median_edges
from kernelweave.errors import InvalidInputError, NotFiniteError

__all__ = [
    "SCALE_RANK",
    "Affinity",
    "Cut",
    "Family",
    "GraphKind",
    "GraphRule",
    "KernelAffinities",
    "Kind",
    "RowPart",
    "Woven",
    "cut_graphs",
    "kernel_sqdist",
    "mean_degree",
    "neighbour_scales",
    "one_graph",
    "ridge_affinity",
    "row_blocks",
    "self_tuned",
    "several_cuts",
    "shared_neighbours",
    "top_rows",
    "weighted_sum",
]

GraphKind: TypeAlias = Literal["ridge", "knn", "both"]
Kind: TypeAlias = Literal["ridge", "tuned"]

SCALE_RANK = 7  # of the neighbour whose distance is a sample's own scale (Zelnik-Manor and Perona, 2004)
# by the bytes of a number: the digits to which norms are compared, and the relative difference below which affinities
# are ties, broken by the column; affinities are accurate to about 1e-12 in double and 1e-6 in single precision
_DIGITS_AND_TIE = {8: (9, 1e-7), 4: (5, 1e-5)}
_BLOCK = 256  # rows at a time, so that no temporary array has the size of all affinities


class Affinity(NamedTuple):
    """Affinities of samples to candidates: one row of values per sample, at these columns, or at all n if None.

    To compare affinities of all pairs, each is multiplied by the `preference` of its samples, if it is given.
    """

    values: Matrix
    columns: Labels | None = None
    preference: Vector | None = None

    def preferring(self) -> Affinity:
        """Return affinities of all pairs with the preferences that break ties; others as they are."""
        return self if self.columns is not None else self._replace(preference=_column_preference(self.values))

    def compared(self, rows: slice | NDArray[np.intp]) -> Matrix:
        """Return the values of some rows as they are compared with each other."""
        return self.values[rows] if self.preference is None else self.values[rows] * self.preference

    def edges_out(self, S: sparse.csr_array, piece: Labels) -> Edges:
        """Return one edge out of every piece of S but the largest: the largest affinity to a candidate outside.

        Its weight is the median one of S. Where no candidate lies outside a piece, it is joined to the largest piece at
        a hundredth of that weight.
        """
        largest = int(np.bincount(piece).argmax())
        rows = np.flatnonzero(piece != largest)
        best, to = np.empty(len(rows), dtype=self.values.dtype), np.empty(len(rows), dtype=np.intp)
        for block in row_blocks(len(rows)):
            some = rows[block]
            columns = np.arange(len(piece))[None] if self.columns is None else self.columns[some]
            values = np.where(piece[columns] == piece[some][:, None], -np.inf, self.compared(some))
            place = values.argmax(axis=1)[:, None]
            best[block] = np.take_along_axis(values, place, axis=1)[:, 0]
            to[block] = place[:, 0] if self.columns is None else np.take_along_axis(columns, place, axis=1)[:, 0]
        reached = np.isfinite(best)
        best = best if self.preference is None else best * self.preference[rows]
        # the last of each piece is its best; ties go to the first sample
        order = np.lexsort((-rows, best, piece[rows]))
        last = order[np.flatnonzero(np.diff(piece[rows][order], append=-1))]
        hub = int(np.flatnonzero(piece == largest)[0])
        edges = median_edges(S, rows[last], np.where(reached[last], to[last], hub)[:, None])
        return edges._replace(weights=np.where(reached[last], edges.weights, edges.weights / 100).astype(S.dtype))


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
        The number of entries per row that are kept.
    """

    graph: GraphKind = "ridge"
    gamma: float = 0.1
    n_neighbors: int = 10

    @property
    def kept(self) -> dict[Kind, int]:
        """The number of entries per row that are kept of each kind of affinity."""
        k = self.n_neighbors
        if self.graph == "both":
            return {"ridge": 2 * k, "tuned": ceil(k / 2)}
        return {"ridge": k} if self.graph == "ridge" else {"tuned": k}

    def perturbed(self, gamma: float, n_neighbors: float) -> GraphRule:
        """Return the rule with gamma and the number of neighbours multiplied by these factors."""
        return GraphRule(self.graph, gamma * self.gamma, max(1, round(n_neighbors * self.n_neighbors)))

    def weave(self, affinity: Callable[[Kind], Affinity], n: int) -> Woven:
        """Return the graph of n samples: S = (C + C')/2 for each kind, C the largest positive entries of each row."""
        parts = []
        for kind, k in self.kept.items():
            last = affinity(kind).preferring()
            parts.append(_symmetric(top_rows(last, k, n)))
        degrees = tuple(float(S.sum(dtype=np.float64)) / n or 1.0 for S in parts)
        return Woven(_added(parts, degrees), degrees, last)

    def rows(self, affinity: Callable[[Kind], Affinity], n: int, degrees: tuple[float, ...]) -> sparse.csr_array:
        """Return the rows (n_new, n) of the graph for new samples, its parts scaled by the degrees of the n samples."""
        return _added([top_rows(affinity(kind), k, n) for kind, k in self.kept.items()], degrees)


def _added(parts: list[sparse.csr_array], degrees: tuple[float, ...]) -> sparse.csr_array:
    if len(parts) == 1:
        return parts[0]
    least = np.finfo(parts[0].dtype).tiny  # 1/d overflows below it
    return sparse.csr_array(sum(S / S.dtype.type(max(d, least)) for S, d in zip(parts, degrees, strict=True)))


def _symmetric(C: sparse.csr_array) -> sparse.csr_array:
    S = sparse.csr_array(C + C.T)
    S.data *= S.dtype.type(0.5)
    S.sort_indices()
    return S


class Cut(NamedTuple):
    """How many of the largest affinities of each row a graph keeps, and whether shared neighbours count.

    If `shared`, the weight of two samples is multiplied by the Jaccard index of their neighbourhoods.
    """

    k: int
    shared: bool = False


def cut_graphs(affinity: Affinity, cuts: Sequence[Cut], n: int) -> list[sparse.csr_array]:
    """Return the graph (C + C')/2 of n samples for each cut, in one piece; the rows are sorted once."""
    affinity = affinity.preferring()
    values, columns = _largest(affinity, max(cut.k for cut in cuts))
    graphs = []
    for cut in cuts:
        S = _symmetric(_as_rows(values[:, : cut.k], columns[:, : cut.k], n))
        graphs.append(join_pieces(shared_neighbours(S) if cut.shared else S, affinity))
    return graphs


def shared_neighbours(S: sparse.csr_array) -> sparse.csr_array:
    """S_ij · |N_i ∩ N_j| / |N_i ∪ N_j|, N_i the neighbours of i and i itself."""
    edges = sparse.csr_array((np.ones(S.nnz, dtype=np.float32), S.indices, S.indptr), shape=S.shape)
    near = sparse.csr_array(edges + sparse.eye_array(S.shape[0], format="csr", dtype=np.float32))
    size = near.sum(axis=1)
    i = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    both = sparse.csr_array(near @ near).multiply(edges).tocsr()  # the entries of S, since neighbours share each other
    both.sort_indices()
    union = size[i] + size[S.indices] - both.data
    return sparse.csr_array((S.data * (both.data / union).astype(S.dtype), S.indices, S.indptr), shape=S.shape)


def top_rows(affinity: Affinity, k: int, n: int) -> sparse.csr_array:
    """C, the k largest positive entries of every row, in n columns."""
    return _as_rows(*_largest(affinity, k), n)


def _largest(affinity: Affinity, k: int) -> tuple[Matrix, Labels]:
    """Return the k largest entries of every row and their columns, from large to small."""
    values, of = affinity.values, affinity.columns
    n_rows, width = values.shape
    k = min(k, width)
    columns, kept = np.empty((n_rows, k), dtype=np.intp), np.empty((n_rows, k), dtype=values.dtype)
    for rows in row_blocks(n_rows):
        top = largest_columns(affinity.compared(rows), k)
        kept[rows] = np.take_along_axis(values[rows], top, axis=1)
        columns[rows] = top if of is None else np.take_along_axis(of[rows], top, axis=1)
    return kept, columns


def _as_rows(values: Matrix, columns: Labels, n: int) -> sparse.csr_array:
    """Return the positive values at these columns as a sparse array of n columns."""
    n_rows, k = values.shape
    short = sparse.get_index_dtype(maxval=max(n_rows * k, n))  # scikit-learn accepts 32-bit indices only
    indptr = np.arange(0, n_rows * k + 1, k, dtype=short)
    C = sparse.csr_array((np.maximum(values, 0).ravel(), columns.astype(short).ravel(), indptr), shape=(n_rows, n))
    C.eliminate_zeros()
    return C


def _column_preference(values: Matrix) -> Vector:
    """Factors near 1 that rank the columns by their norm, and equal ones by position.

    Copies of a sample have equal columns up to rounding. Every row must prefer the same copy: if rounding broke the tie
    in each row, the graph would depend on the machine and on the order of the samples.
    """
    digits, tie = _DIGITS_AND_TIE[values.dtype.itemsize]
    size = np.einsum("ij,ij->j", values, values)
    rank = np.round(size / (size.max() or 1), digits).argsort(kind="stable").argsort()
    return np.asarray(1 - tie * rank / len(values), dtype=values.dtype)


def row_blocks(n_rows: int) -> Iterator[slice]:
    """Yield slices of 256 rows that together cover all rows."""
    return (slice(i, min(i + _BLOCK, n_rows)) for i in range(0, n_rows, _BLOCK))


def ridge_affinity(K: Matrix, *, gamma: float) -> Matrix:
    """Z = I - g(K + gI)^-1, g = γ tr(K)/n: Eq. 14 without the labels' term; its diagonal is set to 0."""
    g = gamma * float(K.diagonal().mean())
    Z = ridge_inverse(K, gamma=g)
    Z *= -g
    np.fill_diagonal(Z, 0)
    return Z


def kernel_sqdist(K: Matrix) -> Matrix:
    """D_ij = K_ii + K_jj - 2K_ij; D_ii is infinite, so that a sample is not its own neighbour."""
    diagonal = K.diagonal()
    D = -2 * K
    D += diagonal[:, None]
    D += diagonal
    np.maximum(D, 0, out=D)
    np.fill_diagonal(D, np.inf)
    return D


def neighbour_scales(D: Matrix, others: int) -> Vector:
    """σ_i², the seventh smallest entry of row i of D, or the largest if there are fewer than seven others."""
    rank = min(SCALE_RANK, others) - 1
    return np.concatenate([np.partition(D[rows], rank, axis=1)[:, rank] for rows in row_blocks(len(D))])


def self_tuned(D: Matrix, own: Vector, theirs: Vector | Matrix) -> Matrix:
    """exp(-D_ij / (σ_i σ_j)) from squared distances and squared scales; D is overwritten."""
    tiny = np.finfo(D.dtype).tiny
    with np.errstate(over="ignore"):  # the scale of a sample with many copies is 0, and D / tiny is infinite
        D *= -1 / np.sqrt(np.maximum(own, tiny))[:, None]
        D *= 1 / np.sqrt(np.maximum(theirs, tiny))
    return np.asarray(np.exp(D, out=D))


@dataclass(frozen=True, slots=True, eq=False)
class KernelAffinities:
    """The affinities of all pairs of samples in a kernel K, of either kind.

    Parameters
    ----------
    K : array of shape (n, n)
        The kernel.
    gamma : float
        The ridge, relative to its mean diagonal.
    """

    K: Matrix
    gamma: float

    def __call__(self, kind: Kind) -> Affinity:
        """Return ridge affinities, or self-tuned similarities; a kernel that has none is an error."""
        if self.K.trace() <= 0:
            msg = (
                f"The kernels add up to a matrix with trace {self.K.trace():g}, but k(x, x) is positive: pass kernels "
                "with a positive diagonal."
            )
            raise InvalidInputError(msg)
        if kind == "ridge":
            try:
                return Affinity(ridge_affinity(self.K, gamma=self.gamma))
            except linalg.LinAlgError as error:
                msg = f"K + gamma I is singular at gamma={self.gamma:g}: raise gamma, or pass kernels that are "
                msg += "positive definite."
                raise NotFiniteError(msg) from error
        D = kernel_sqdist(self.K)
        scales = neighbour_scales(D, len(D) - 1)
        return Affinity(self_tuned(D, scales, scales))


def mean_degree(S: sparse.csr_array) -> float:
    """Return the mean degree of a graph, 1 for one without edges, or with edges too weak to divide by."""
    degree = float(S.sum(dtype=np.float64)) / S.shape[0]
    return degree if degree > np.finfo(S.dtype).tiny else 1.0


def weighted_sum(graphs: tuple[sparse.csr_array, ...], weights: Vector) -> sparse.csr_array:
    """Return Σ w_g S_g / (mean degree of S_g), or the only graph as it is."""
    if len(graphs) == 1:
        return graphs[0]
    parts = (S * S.dtype.type(w / mean_degree(S)) for S, w in zip(graphs, weights, strict=True) if w > 0)
    total = sparse.csr_array(sum(parts, start=sparse.csr_array(graphs[0].shape, dtype=graphs[0].dtype)))
    total.sort_indices()
    return total


# of ridge affinities graphs of shared neighbours are the best in the mean
_CUTS: dict[Kind, tuple[Cut, ...]] = {
    "ridge": (Cut(10), Cut(15), Cut(10, shared=True), Cut(30, shared=True)),
    "tuned": (Cut(5), Cut(15)),
}
# for rings and arcs: single samples between two of them share few neighbours with either
_CUTS_OF_SHAPES: dict[Kind, tuple[Cut, ...]] = {"ridge": (), "tuned": (Cut(10, shared=True), Cut(20, shared=True))}
_KEPT: dict[Kind, int] = {"ridge": 15, "tuned": 15}  # entries per row for new samples


@dataclass(frozen=True, slots=True)
class RowPart:
    """One kind of affinity in the rows of new samples: how many entries are kept, and their weight."""

    kind: Kind
    k: int
    weight: float


class Family(NamedTuple):
    """Graphs of one consensus kernel that new samples join by the same rows: those of a graph of this mean degree."""

    graphs: tuple[sparse.csr_array, ...]
    parts: tuple[RowPart, ...]
    degree: float


def several_cuts(K: Matrix, kinds: tuple[Kind, ...], gamma: float, *, any_shape: bool = False) -> list[Family]:
    """Return for each kind of affinity its graphs with different numbers of neighbours, each in one piece.

    If groups may have `any_shape`, there are two more graphs with weights by shared neighbours.
    """
    found = []
    for kind in kinds:
        cuts = _CUTS[kind] + (_CUTS_OF_SHAPES[kind] if any_shape else ())
        affinity = KernelAffinities(K, gamma)(kind)
        graphs = cut_graphs(affinity, cuts, len(K))
        plain = graphs[cuts.index(Cut(_KEPT[kind]))]
        found.append(Family(tuple(graphs), (RowPart(kind, _KEPT[kind], 1.0),), mean_degree(plain)))
    return found


def one_graph(K: Matrix, rule: GraphRule, *, join: bool = True) -> Family:
    """Return the graph of a kernel matrix by the rule, in one piece if `join`."""
    S, degrees, last = rule.weave(KernelAffinities(K, rule.gamma), len(K))
    weights = [1.0] if len(degrees) == 1 else [1 / d for d in degrees]  # as in the graph
    parts = tuple(RowPart(kind, k, weight) for (kind, k), weight in zip(rule.kept.items(), weights, strict=True))
    S = join_pieces(S, last) if join else S
    return Family((S,), parts, mean_degree(S))
