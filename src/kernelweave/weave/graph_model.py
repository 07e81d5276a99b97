"""A fitted graph as an object: how new samples join it, and what its nodes tell them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Graph, Mask, Matrix
from kernelweave.core.graphs.coordinates import nearness, unit_rows
from kernelweave.core.graphs.new_rows import harmonic_rows
from kernelweave.samples.digests import Seen
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = ["Answers", "Centres", "GraphModel", "Joiner", "Lean"]

_BLOCK = 1024  # new samples at a time, so that memory does not depend on their number


class Joiner(Protocol):
    """How new samples are joined to the nodes of a graph; in chunks, if it takes any number of them.

    New samples are of the kind that the graph was made of, Views or a KernelStack.
    """

    chunked: ClassVar[bool]

    def rows(self, new: Any) -> Graph:
        """Return the rows (m, nodes) of the graph for m new samples, dense or sparse."""


class Lean:
    """A frozen dataclass whose copies and pickles hold its fields only, not what was computed from them."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """The centres of the clusters in the embedding, how many samples each has, and whether rows have unit length."""

    means: Matrix
    counts: NDArray[np.integer[Any]]
    unit: bool = False


class Answers(NamedTuple):
    """Distributions (m, c) of samples over groups, which samples nothing is known of, and training positions or -1."""

    distributions: Matrix
    undecided: Mask
    known: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class GraphModel:
    """A fitted graph: its nodes, what each of them carries, and the answers for the training samples.

    Parameters
    ----------
    joiner : Joiner
        Gives the rows of the graph for new samples.
    coordinates : array of shape (n_nodes, n_components)
        Where the nodes lie in the embedding, for `transform`.
    values : array of shape (n_nodes, n_groups) or None
        What a new sample inherits as a mean over its neighbours: votes of clusters, or scores of classes.
    centres : Centres or None
        Without values: a new sample is told by how near its coordinates are to these centres of the clusters.
    seen : Seen or None
        Recognises training samples, which get the answers of `fit`.
    distributions, undecided, embedding
        Those answers: the groups of every training sample, which of them are undecided, and where they lie.
    """

    joiner: Joiner
    coordinates: Matrix
    values: Matrix | None = None
    centres: Centres | None = None
    seen: Seen | None = None
    distributions: Matrix | None = None
    undecided: Mask | None = None
    embedding: Matrix | None = None

    def __post_init__(self) -> None:
        if self.values is None and self.centres is None:
            msg = "A GraphModel needs values or centres to tell new samples by."
            raise TypeError(msg)

    def rows(self, new: Views | KernelStack) -> Graph:
        """Return the rows of the graph for new samples."""
        return self.joiner.rows(new)

    def scores(self, new: Views | KernelStack) -> Matrix:
        """Return the scores of every group for new samples, all 0 for one that is similar to nothing."""
        if self.values is not None:
            return harmonic_rows(self.rows(new), self.values)[0]
        P, reached = harmonic_rows(self.rows(new), self.coordinates)
        return np.where(reached[:, None], self.nearness(P), 0)

    def nearness(self, P: Matrix) -> Matrix:
        """Return the memberships of samples at these coordinates in the clusters, by the distance to their centres."""
        if self.centres is None:
            msg = "This GraphModel has no centres to tell samples by."
            raise TypeError(msg)
        rows = unit_rows(P) if self.centres.unit else P
        return nearness(rows, self.centres.means, self.centres.counts).astype(P.dtype)

    @property
    def n_groups(self) -> int:
        """The number of clusters or classes."""
        return int(self.values.shape[1]) if self.values is not None else len(self.centres.means)  # type: ignore[union-attr]

    def place(self, new: Views | KernelStack) -> Matrix:
        """Return the coordinates of new samples: the means of their neighbours', 0 for one similar to nothing."""
        return harmonic_rows(self.rows(new), self.coordinates)[0]

    def known(self, samples: Views | KernelStack) -> NDArray[np.intp]:
        """Return the position in the training set of every sample, -1 for new ones."""
        return np.full(samples.n_samples, -1) if self.seen is None else self.seen.find(samples)

    def answers(self, samples: Views | KernelStack) -> Answers:
        """Return the distribution of every sample over the groups: that of `fit` for training samples."""
        known = self.known(samples)
        out = np.empty((len(known), self.n_groups), dtype=self.coordinates.dtype)
        undecided = np.zeros(len(known), dtype=bool)
        old = np.zeros(len(known), dtype=bool)
        if self.distributions is not None and self.undecided is not None:
            old = known >= 0
            out[old], undecided[old] = self.distributions[known[old]], self.undecided[known[old]]
        for rows in _blocks(np.flatnonzero(~old)):
            out[rows], undecided[rows] = distributions(self.scores(samples.select(rows)))
        return Answers(out, undecided, known)

    def transform(self, samples: Views | KernelStack) -> Matrix:
        """Return every sample in the embedding: as in `fit` for training samples."""
        known = self.known(samples)
        out = np.empty((len(known), self.coordinates.shape[1]), dtype=self.coordinates.dtype)
        old = np.zeros(len(known), dtype=bool)
        if self.embedding is not None:
            old = known >= 0
            out[old] = self.embedding[known[old]]
        for rows in _blocks(np.flatnonzero(~old)):
            out[rows] = self.place(samples.select(rows))
        return out


def distributions(F: Matrix) -> tuple[Matrix, Mask]:
    """Return scores scaled to sum to one, uniform where there are none, and which rows have none; F is overwritten."""
    empty = F.sum(axis=1) <= 0
    F[empty] = 1
    F /= F.sum(axis=1, keepdims=True)
    return F, empty


def _blocks(rows: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [rows[i : i + _BLOCK] for i in range(0, len(rows), _BLOCK)]
