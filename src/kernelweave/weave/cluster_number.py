"""The number of clusters: what the graphs of the samples agree on, beside graphs of samples without structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import sparse

from kernelweave._types import Vector
from kernelweave.core.graphs.coordinates import eigenvalue_gaps
from kernelweave.core.partitions.agreement import Partitions, modularity, rand_index
from kernelweave.samples.prepared import NullKind
from kernelweave.select import CLEAR, ClusterEvidence, candidate_numbers, cluster_evidence
from kernelweave.weave.graph_partitions import QUICK_TOL, spectrum, unit_partitions
from kernelweave.weave.woven import SeveralGraphs

__all__ = ["count_clusters"]

_DOUBT = 1.3  # times more or less than a clear gap
_MORE_DRAWS = 4  # of samples without structure, if in doubt
_EVERY_UP_TO = 10  # clusters; above, every fourth number is tried on samples without structure


class _Tried(NamedTuple):
    """Of every graph the eigenvalues, and for each number of clusters its partitions and how far graphs agree."""

    values: list[Vector]
    partitions: dict[int, Partitions]
    agreement: dict[int, float]


def count_clusters(several: SeveralGraphs, say: Callable[[str], None], rng: np.random.RandomState) -> ClusterEvidence:
    """Return the number of clusters that the graphs suggest, and the evidence."""
    graphs, priors = several.graphs, several.priors
    if len(graphs) == 1:
        graphs = (*graphs, *several.perturbed())
        priors = np.ones(len(graphs)) / len(graphs)
    numbers = candidate_numbers(graphs[0].shape[0])
    values, found, agreement = _tried(graphs, priors, numbers, rng, say)
    within = {
        k: float(np.average([modularity(*pair) for pair in zip(graphs, z, strict=True)], weights=priors))
        for k, z in found.items()
    }
    without: list[Vector] | None = None
    by_chance: tuple[dict[int, float], ...] = ()
    if several.null is not None:
        some = [k for k in numbers if k <= _EVERY_UP_TO or k % 4 == 0]
        cloud, _, normal = _tried(several.null(rng, "normal"), priors, some, rng, say, most=numbers[-1])
        without = _surer(cloud, values, numbers, several.null, rng)
        by_chance = (normal, _tried(several.null(rng, "permuted"), priors, some, rng, say).agreement)
    evidence = cluster_evidence(agreement, within, values, without, by_chance, few_columns=several.few_columns)
    say(f"number of clusters: {evidence.words}")
    return evidence


def _surer(
    cloud: list[Vector],
    values: Sequence[Vector],
    numbers: Sequence[int],
    null: Callable[[np.random.RandomState, NullKind], tuple[sparse.csr_array, ...]],
    rng: np.random.RandomState,
) -> list[Vector]:
    """Return the eigenvalues of every graph of samples without structure, their means over more draws if in doubt.

    By chance, the largest gap may be on one side of what is clear in one draw, and on the other in the next.
    """
    largest = float(eigenvalue_gaps(values, cloud, np.array(numbers)).max())
    if not 1 / _DOUBT < largest / CLEAR < _DOUBT:
        return cloud
    more = (null(rng, "normal") for _ in range(_MORE_DRAWS))
    draws = [cloud, *([spectrum(S, numbers[-1] + 1, tol=QUICK_TOL)[0] for S in graphs] for graphs in more)]
    return [np.mean(of_graph, axis=0) for of_graph in zip(*draws, strict=True)]


def _tried(
    graphs: Sequence[sparse.csr_array],
    priors: Vector,
    numbers: Sequence[int],
    rng: np.random.RandomState,
    say: Callable[[str], None],
    most: int | None = None,
) -> _Tried:
    """Return the eigenvalues of every graph, its partitions, and how far graphs agree on each number of clusters."""
    values, found = unit_partitions(graphs, numbers, rng, say=say, most=most)
    return _Tried(values, found, {k: _agreement(z, priors) for k, z in found.items()})


def _agreement(found: Partitions, priors: Vector) -> float:
    """Return the mean adjusted Rand index of pairs of graphs, each weighted by the product of the graphs' priors."""
    pairs = list(combinations(range(len(found)), 2))
    weights = [priors[i] * priors[j] for i, j in pairs]
    return float(np.average([rand_index(found[i], found[j]) for i, j in pairs], weights=weights))
