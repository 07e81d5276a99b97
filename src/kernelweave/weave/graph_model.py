"""A fitted graph as an object: the rows of the graph for new samples, and predictions from its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Graph, Mask, Matrix
from kernelweave.core.graphs.coordinates import nearness, unit_rows
from kernelweave.core.graphs.new_rows import distributions, harmonic_rows
from kernelweave.errors import NotFiniteError
from kernelweave.samples.digests import Seen
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = ["Answers", "Centres", "GraphModel", "Joiner", "Ordering"]

_BUDGET = 16 * 2**20  # bytes that the rows of a block of new samples may take while they are computed
_LEAST, _MOST = 16, 4096  # samples of a block
_ORDERED = 2**15  # samples that are ordered at a time, so that memory does not grow with their number


class Joiner(Protocol):
    """Computes the rows of a graph for new samples; `chunked` tells whether samples may be read in chunks.

    New samples have the type of the training samples, Views or a KernelStack.
    """

    chunked: ClassVar[bool]

    @property
    def row_bytes(self) -> int:
        """About how much memory the row of one sample takes while it is computed."""

    def rows(self, new: Any) -> Graph:
        """Return the rows (n_new, n_nodes) of the graph for new samples, dense or sparse."""


@runtime_checkable
class Ordering(Protocol):
    """A joiner that is faster if the samples of a block are near each other."""

    def order(self, new: Any) -> NDArray[np.intp]:
        """Return new samples in an order in which most neighbours are near each other."""


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """The means of the clusters in the embedding, their sizes, and whether rows are scaled to unit length."""

    means: Matrix
    counts: NDArray[np.integer[Any]]
    unit: bool = False


class Answers(NamedTuple):
    """Distributions (n_new, c) over groups, which samples are undecided, and positions in the training set or -1."""

    distributions: Matrix
    undecided: Mask
    known: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class GraphModel:
    """A fitted graph: the coordinates and values of its nodes, and the results for the training samples.

    Parameters
    ----------
    joiner : Joiner
        Computes the rows of the graph for new samples.
    coordinates : array of shape (n_nodes, n_components)
        Coordinates of the nodes in the embedding, for `transform`.
    values : array of shape (n_nodes, n_groups) or None
        One-hot clusters or scores of classes at the nodes; a new sample gets their mean over its neighbours.
    centres : Centres or None
        Used without values: memberships of a new sample follow from the distances of its coordinates to the centres.
    seen : Seen or None
        Digests of the training samples, which get the results of `fit`.
    distributions, undecided, embedding
        These results: the distribution, whether it is undecided, and the coordinates of every training sample.
    power : float
        Of the scores of new samples, before they are scaled to sum to one.
    """

    joiner: Joiner
    coordinates: Matrix
    values: Matrix | None = None
    centres: Centres | None = None
    seen: Seen | None = None
    distributions: Matrix | None = None
    undecided: Mask | None = None
    embedding: Matrix | None = None
    power: float = 1.0

    def check_loaded(self) -> None:
        """Refuse a model file without what predictions need."""
        if self.values is None and self.centres is None:
            msg = "A GraphModel needs values or centres to predict new samples."
            raise TypeError(msg)
        if not 0 < self.power < np.inf:
            msg = f"The power of the scores of a GraphModel is {self.power}: it must be positive."
            raise ValueError(msg)

    def rows(self, new: Views | KernelStack) -> Graph:
        """Return the rows of the graph for new samples."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what is not finite is refused
            found = self.joiner.rows(new)
        values = found.data if sparse.issparse(found) else found
        if not np.isfinite(values).all():
            msg = "The predictions for these samples are not finite: their kernels are out of range."
            raise NotFiniteError(msg)
        return found

    def scores(self, new: Views | KernelStack) -> Matrix:
        """Return the scores of every group for new samples, all 0 for a sample without neighbours."""
        if self.values is not None:
            return harmonic_rows(self.rows(new), self.values)[0]
        return self.memberships(new)[0]

    def memberships(self, new: Views | KernelStack) -> tuple[Matrix, Matrix]:
        """Return memberships in the clusters, from the distances to their centres, and the coordinates of new samples.

        Both are 0 for a sample without neighbours.
        """
        if self.centres is None:
            msg = "This GraphModel has no centres to predict new samples from."
            raise TypeError(msg)
        P, reached = harmonic_rows(self.rows(new), self.coordinates)
        rows = unit_rows(P) if self.centres.unit else P
        M = nearness(rows, self.centres.means, self.centres.counts).astype(P.dtype)
        return np.where(reached[:, None], M, 0), P

    @property
    def n_groups(self) -> int:
        """The number of clusters or classes."""
        return int(self.values.shape[1]) if self.values is not None else len(self.centres.means)  # type: ignore[union-attr]

    def known(self, samples: Views | KernelStack) -> NDArray[np.intp]:
        """Return the position in the training set of every sample, -1 for new ones."""
        return np.full(samples.n_samples, -1) if self.seen is None else self.seen.find(samples)

    def answers(self, samples: Views | KernelStack) -> Answers:
        """Return the distribution of every sample over the groups; training samples get that of `fit`."""
        known = self.known(samples)
        out = np.empty((len(known), self.n_groups), dtype=self.coordinates.dtype)
        undecided = np.zeros(len(known), dtype=bool)
        old = np.zeros(len(known), dtype=bool)
        if self.distributions is not None and self.undecided is not None:
            old = known >= 0
            out[old], undecided[old] = self.distributions[known[old]], self.undecided[known[old]]
        for rows, new in self._blocks(samples, np.flatnonzero(~old)):
            out[rows], undecided[rows] = distributions(self.scores(new), self.power)
        return Answers(out, undecided, known)

    def transform(self, samples: Views | KernelStack) -> Matrix:
        """Return the coordinates of every sample in the embedding; training samples get those of `fit`.

        Those of new ones are means over their neighbours, 0 for a sample without neighbours.
        """
        known = self.known(samples)
        out = np.empty((len(known), self.coordinates.shape[1]), dtype=self.coordinates.dtype)
        old = np.zeros(len(known), dtype=bool)
        if self.embedding is not None:
            old = known >= 0
            out[old] = self.embedding[known[old]]
        for rows, new in self._blocks(samples, np.flatnonzero(~old)):
            out[rows] = harmonic_rows(self.rows(new), self.coordinates)[0]
        return out

    def _blocks(
        self, samples: Views | KernelStack, rows: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], Views | KernelStack]]:
        """Yield these positions, and the samples there, in blocks whose rows of the graph fit in the budget."""
        size = min(max(_BUDGET // self.joiner.row_bytes, _LEAST), _MOST) if len(rows) else 1
        if len(rows) == samples.n_samples <= size:
            yield rows, samples
            return
        if isinstance(self.joiner, Ordering) and len(rows) > size:
            windows = (rows[i : i + _ORDERED] for i in range(0, len(rows), _ORDERED))
            rows = np.concatenate([some[self.joiner.order(samples.select(some))] for some in windows])
        for i in range(0, len(rows), size):
            yield rows[i : i + size], samples.select(rows[i : i + size])
