"""The local graph from candidates and affinities, and its rows for new samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy import sparse

from kernelweave._types import Progress, Samples, Vector
from kernelweave.core.graphs.affinity import GraphRule, join_pieces
from kernelweave.core.graphs.pieces import strays, tied
from kernelweave.errors import InvalidInputError
from kernelweave.weave.local.local_kernel import (
    CandidateAffinities,
    Index,
    Kernels,
    Tables,
    affinities,
    candidate_sqdist,
)
from kernelweave.weave.local.neighbours import Search, nearest, nearest_outside

__all__ = ["LocalWeave", "default_candidates", "new_rows", "perturbed", "weave_local"]

_FEW = 5000  # samples; up to here more candidates are affordable, and the graph is closer to the dense one


def default_candidates(n_samples: int, n_neighbors: int) -> int:
    """Return the number of candidates of each sample: 60 up to 5000 samples, 15 for more, at least 1.5 n_neighbors."""
    return max(60 if n_samples <= _FEW else 15, ceil(1.5 * n_neighbors))


@dataclass(frozen=True, slots=True, eq=False)
class LocalWeave:
    """A graph of many samples, and the constants that its rows for new samples depend on.

    Parameters
    ----------
    graph : sparse array (n, n)
        The graph.
    kernels : tuple of LocalKernel
        The consensus kernel, one part per table.
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
    kernels: Kernels
    rule: GraphRule
    g: float
    degrees: tuple[float, ...]
    n_candidates: int
    scale: Vector | None
    recall: float
    seed: int


def weave_local(
    tables: Tables,
    kernels: Kernels,
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
    g = rule.gamma * _mean_diagonal(tables, kernels)
    found = [nearest(X, n_candidates, seed=seed, n_jobs=n_jobs, progress=progress) for X in tables]
    recall = min(one.recall for one in found)
    index = _best(tables, [one.positions for one in found], kernels, None, progress)
    del found
    near = affinities(tables, index, kernels, rule, g=g, progress=progress)
    S, degrees = _woven(near, rule, tables, kernels, least if join else None)
    return LocalWeave(S, kernels, rule, g, degrees, n_candidates, near.scale, recall, seed), index


def perturbed(
    tables: Tables, woven: LocalWeave, index: Index, factors: tuple[float, float], *, least: float = 0
) -> sparse.csr_array:
    """Return the graph with the ridge and the number of neighbours multiplied by these factors, in one piece."""
    rule = woven.rule.perturbed(*factors)
    near = affinities(tables, index, woven.kernels, rule, g=factors[0] * woven.g)
    return _woven(near, rule, tables, woven.kernels, least)[0]


def new_rows(tables: Tables, new: Tables, woven: LocalWeave, searches: Sequence[Search]) -> sparse.csr_array:
    """Return the rows (n_new, n) of the graph for new samples: the same local problem among their candidates."""
    k = min(woven.n_candidates, tables[0].shape[0])
    new = tuple(_like(X, x) for X, x in zip(tables, new, strict=True))
    found = [search.nearest(x, k) for search, x in zip(searches, new, strict=True)]
    index = _best(tables, found, woven.kernels, new, None)
    near = affinities(tables, index, woven.kernels, woven.rule, g=woven.g, new=new, scales=woven.scale)
    return woven.rule.rows(near.parts.__getitem__, tables[0].shape[0], woven.degrees)


def _like(X: Samples, new: Samples) -> Samples:
    """Return new samples, dense if the training samples are dense."""
    return new.toarray() if sparse.issparse(new) and not sparse.issparse(X) else new


def _woven(
    near: CandidateAffinities, rule: GraphRule, tables: Tables, kernels: Kernels, least: float | None
) -> tuple[sparse.csr_array, tuple[float, ...]]:
    """Return the graph of the samples and the mean degrees of its parts; in one piece unless `least` is None.

    A piece of fewer than `least` samples would still have its own eigenvector if it were joined by a single edge.
    Therefore each of its samples is joined to the nearest ones outside, until no such piece is left.
    """
    S, degrees, last = rule.weave(near.parts.__getitem__, tables[0].shape[0])
    if least is None:
        return S, degrees
    piece, rows = strays(S, least)
    while len(rows):
        found = [nearest_outside(X, rows, piece, ceil(rule.n_neighbors / 2)) for X in tables]
        S = tied(S, rows, _best(tables, found, kernels, tuple(X[rows] for X in tables), None))
        piece, rows = strays(S, least)
    return join_pieces(S, last), degrees


def _best(tables: Tables, found: list[Index], kernels: Kernels, new: Tables | None, progress: Progress | None) -> Index:
    """Return the nearest of all tables' candidates in the consensus kernel, as many as one table has."""
    if len(found) == 1:
        return found[0]
    k = found[0].shape[1]
    union = np.sort(np.hstack(found), axis=1)
    D = candidate_sqdist(tables, union, kernels, new, progress)
    D[:, 1:][union[:, 1:] == union[:, :-1]] = np.inf  # found in several tables
    return np.take_along_axis(union, np.argsort(D, axis=1, kind="stable")[:, :k], axis=1)


def _mean_diagonal(tables: Tables, kernels: Kernels) -> float:
    """tr(K)/n, estimated on at most 2000 samples."""
    n = tables[0].shape[0]
    some = np.linspace(0, n - 1, min(n, 2000)).astype(np.intp)
    mean = sum(float(kernel.diagonal(X[some]).mean()) for X, kernel in zip(tables, kernels, strict=True))
    if mean <= 0:
        msg = f"The mean of k(x, x) is {mean:g} over the samples, but must be positive: pass other kernels."
        raise InvalidInputError(msg)
    return mean
