"""The graph of the solver "local": candidates, affinities, one piece, and its rows for new samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Labels, Progress, Samples, Vector
from kernelweave.core.graphs.affinity import GraphRule
from kernelweave.core.graphs.edges import Edges, join_pieces, median_edges, strays
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.bank import weighted_diagonal
from kernelweave.samples.scaling import Scaling
from kernelweave.samples.views import Views
from kernelweave.weave.local.local_kernel import (
    CandidateAffinities,
    Index,
    LocalConsensus,
    Tables,
    affinities,
    candidate_sqdist,
    group_bytes,
)
from kernelweave.weave.local.locality import near_order
from kernelweave.weave.local.neighbours import Search, nearest, nearest_outside, search_new

__all__ = ["LocalRows", "LocalWeave", "new_rows", "perturbed", "weave_local"]

_NEW_ORDERED_FROM = 200_000  # samples; new ones are ordered for the search among them, which reads less of each


@dataclass(frozen=True, slots=True, eq=False)
class LocalWeave:
    """A graph of many samples, and the constants that its rows for new samples depend on.

    Parameters
    ----------
    graph : sparse array (n, n)
        The graph.
    consensus : LocalConsensus
        The consensus kernel.
    rule : GraphRule
        How the graph was cut from affinities.
    g : float
        The ridge.
    degrees : tuple of float
        The mean degrees of the graph's parts.
    n_candidates : int
        The number of samples that each was compared with.
    scale : array (n,) or None
        The squared distance of every sample to its seventh neighbour; None for "ridge".
    recall : float
        The measured share of true neighbours among the candidates.
    seed : int
        The seed of the search for neighbours.
    """

    graph: sparse.csr_array
    consensus: LocalConsensus
    rule: GraphRule
    g: float
    degrees: tuple[float, ...]
    n_candidates: int
    scale: Vector | None
    recall: float
    seed: int


def weave_local(
    tables: Tables,
    consensus: LocalConsensus,
    rule: GraphRule,
    *,
    n_candidates: int,
    join: bool,
    seed: int,
    least: float = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[LocalWeave, Index]:
    """Return the graph of scaled samples in single precision, and the candidates of every sample.

    If `join`, the graph is in one piece, and every sample of a piece of fewer than `least` samples is joined to others.
    """
    g = rule.gamma * _mean_diagonal(tables, consensus)
    searched = consensus.side_by_side(tables)
    found = [nearest(X, n_candidates, seed=seed, n_jobs=n_jobs, progress=progress) for X in searched]
    recall = min(one.recall for one in found)
    index = _best(tables, [one.positions for one in found], consensus, None, progress)
    del found
    near = affinities(tables, index, consensus, rule, g=g, progress=progress)
    S, degrees = _woven(near, rule, tables, consensus, least if join else None)
    return LocalWeave(S, consensus, rule, g, degrees, n_candidates, near.scale, recall, seed), index


def perturbed(
    tables: Tables, woven: LocalWeave, index: Index, factors: tuple[float, float], *, least: float = 0
) -> sparse.csr_array:
    """Return the graph with the ridge and the number of neighbours multiplied by these factors, in one piece."""
    rule = woven.rule.perturbed(*factors)
    near = affinities(tables, index, woven.consensus, rule, g=factors[0] * woven.g)
    return _woven(near, rule, tables, woven.consensus, least)[0]


def _woven(
    near: CandidateAffinities, rule: GraphRule, tables: Tables, consensus: LocalConsensus, least: float | None
) -> tuple[sparse.csr_array, tuple[float, ...]]:
    """Return the graph of the samples and the mean degrees of its parts; in one piece unless `least` is None.

    A piece of fewer than `least` samples would still have its own eigenvector if it were joined by a single edge.
    Therefore each of its samples is joined to the nearest ones outside, until no such piece is left.
    """
    S, degrees, last = rule.weave(near.parts.__getitem__, tables[0].shape[0])
    if least is None:
        return S, degrees
    S = join_pieces(S, _NearestOutside(tables, consensus, least, ceil(rule.n_neighbors / 2)))
    return join_pieces(S, last), degrees


class _NearestOutside(NamedTuple):
    """The k nearest samples outside of its piece, for every sample of a piece smaller than `least`."""

    tables: Tables
    consensus: LocalConsensus
    least: float
    k: int

    def edges_out(self, S: sparse.csr_array, piece: Labels) -> Edges:
        """Return edges of the median weight to them."""
        rows = strays(piece, self.least)
        if not len(rows):
            return median_edges(S, rows, np.empty((0, self.k), dtype=np.int32))
        found = [nearest_outside(X, rows, piece, self.k) for X in self.consensus.side_by_side(self.tables)]
        new = tuple(X[rows] for X in self.tables)
        return median_edges(S, rows, _best(self.tables, found, self.consensus, new, None))


def _best(
    tables: Tables, found: list[Index], consensus: LocalConsensus, new: Tables | None, progress: Progress | None
) -> Index:
    """Return the nearest of all tables' candidates in the consensus kernel, as many as one table has."""
    if len(found) == 1:
        return found[0]
    k = found[0].shape[1]
    union = np.sort(np.hstack(found), axis=1)
    D = candidate_sqdist(tables, union, consensus, new, progress)
    D[:, 1:][union[:, 1:] == union[:, :-1]] = np.inf  # found in several tables
    return np.take_along_axis(union, np.argsort(D, axis=1, kind="stable")[:, :k], axis=1)


def _mean_diagonal(tables: Tables, consensus: LocalConsensus) -> float:
    """tr(K)/n, estimated on at most 2000 samples."""
    n = tables[0].shape[0]
    some = np.linspace(0, n - 1, min(n, 2000)).astype(np.intp)
    own = zip(tables, consensus.kernels, strict=True)
    parts = [weighted_diagonal(kernel.kernels, kernel.shares, X[some]) for X, kernel in own]
    mean = float(consensus.joined(parts).mean())
    if mean <= 0:
        msg = f"The mean of k(x, x) is {mean:g} over the samples, but must be positive: pass other kernels."
        raise InvalidInputError(msg)
    return mean


@dataclass(frozen=True, eq=False)
class LocalRows:
    """The rows of a local graph for new samples: the same local problem among their candidates.

    Parameters
    ----------
    training : Views
        The training samples, scaled, in single precision.
    scalings : dict of view name to Scaling
        How samples are scaled.
    woven : LocalWeave
        The graph and its constants.
    n_jobs : int or None
        Number of threads of the search for neighbours; None for as many as BLAS uses.
    """

    chunked: ClassVar[bool] = False

    training: Views
    scalings: Mapping[str, Scaling]
    woven: LocalWeave
    n_jobs: int | None

    @property
    def row_bytes(self) -> int:
        """About how much memory the row of one sample takes while it is computed."""
        return group_bytes(self.training.tables, self.woven.n_candidates)

    def order(self, new: Views) -> NDArray[np.intp]:
        """Return new samples in an order in which those of a block have many candidates in common.

        Among fewer than 200,000 training samples it would not be faster, and they are left as they are.
        """
        if self.training.n_samples < _NEW_ORDERED_FROM:
            return np.arange(new.n_samples)
        return near_order(new.scaled(self.scalings, np.float32).tables[0])

    def rows(self, new: Views) -> sparse.csr_array:
        """Return the rows of the graph."""
        tables = new.scaled(self.scalings, np.float32).tables
        return new_rows(self.training.tables, tables, self.woven, self._searches)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only: the search is prepared again where it is needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _searches(self) -> tuple[Search, ...]:
        woven = self.woven
        return tuple(
            search_new(X, woven.n_candidates, seed=woven.seed, n_jobs=self.n_jobs)
            for X in woven.consensus.side_by_side(self.training.tables)
        )


def new_rows(tables: Tables, new: Tables, woven: LocalWeave, searches: Sequence[Search]) -> sparse.csr_array:
    """Return the rows (n_new, n) of the graph for new samples: the same local problem among their candidates."""
    k = min(woven.n_candidates, tables[0].shape[0])
    new = tuple(_like(X, x) for X, x in zip(tables, new, strict=True))
    found = [search.nearest(x, k) for search, x in zip(searches, woven.consensus.side_by_side(new), strict=True)]
    index = _best(tables, found, woven.consensus, new, None)
    near = affinities(tables, index, woven.consensus, woven.rule, g=woven.g, new=new, scales=woven.scale)
    return woven.rule.rows(near.parts.__getitem__, tables[0].shape[0], woven.degrees)


def _like(X: Samples, new: Samples) -> Samples:
    """Return new samples, dense if the training samples are dense."""
    return new.toarray() if sparse.issparse(new) and not sparse.issparse(X) else new
