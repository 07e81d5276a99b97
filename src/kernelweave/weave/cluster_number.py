"""The number of clusters: agreement of the graphs, compared with samples without structure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import TypeAlias, TypedDict

import numpy as np
from scipy import sparse

from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.coordinates import eigenvalue_gaps
from kernelweave.core.partitions.agreement import Partitions, modularity, rand_index
from kernelweave.core.partitions.density_peaks import peak_partitions
from kernelweave.core.partitions.mixtures import shared_shape
from kernelweave.core.partitions.valleys import depth, relief
from kernelweave.samples.prepared import NullKind
from kernelweave.select import CLEAR, ClusterEvidence, candidate_numbers, cluster_evidence
from kernelweave.weave.graph_partitions import Spectra, spectra, unit_partitions
from kernelweave.weave.woven import SeveralGraphs

__all__ = ["count_clusters"]

_DOUBT = 1.3  # times more or less than a clear gap
_MORE_DRAWS = 4  # of samples without structure, if in doubt; fewer of many samples, which differ less
_DRAWN = 2000  # samples in all of these draws
_STARTS = 3  # of k-means; there are many numbers to try
_ERRORS = 1.0  # standard errors: of many cuts through one cluster, some run through sparse places by chance
_SMALL = 10  # a cluster with fewer samples than the mean divided by this may be a few outliers
_EVERY_UP_TO, _STEP = 10, 4  # clusters; above, every fourth number is tried on samples without structure


_Null: TypeAlias = Callable[[np.random.RandomState, NullKind], tuple[sparse.csr_array, ...]]


class _FewColumns(TypedDict):
    """What few columns show for each number: valleys in every graph, and between peaks, and clusters of one shape."""

    depths: dict[int, list[float]]
    peak_depths: dict[int, float]
    shared_shapes: dict[int, float]


def count_clusters(several: SeveralGraphs, say: Callable[[str], None], rng: np.random.RandomState) -> ClusterEvidence:
    """Return the number of clusters that the graphs suggest, and the evidence."""
    evidence = None
    if several.sampled is not None and several.samples is not None and several.samples.blocks:
        # categories divide a graph of all samples into combinations, which samples without structure have too
        evidence = several.sampled(rng)
    evidence = evidence or _evidence_of(several, say, rng)
    say(f"number of clusters: {evidence.words}")
    return evidence


def _evidence_of(several: SeveralGraphs, say: Callable[[str], None], rng: np.random.RandomState) -> ClusterEvidence:
    """Return the evidence in the graphs; in some of the samples if no number stands out in that of too many."""
    graphs, priors = several.graphs, several.priors
    if len(graphs) == 1:
        graphs = (*graphs, *several.perturbed())
        priors = np.ones(len(graphs)) / len(graphs)
    numbers = candidate_numbers(graphs[0].shape[0])
    of = spectra(graphs, numbers[-1], say)
    found = unit_partitions(of, numbers, rng, n_init=_STARTS)
    within = {
        k: float(np.average([modularity(*pair) for pair in zip(graphs, z, strict=True)], weights=priors))
        for k, z in found.items()
    }
    least = graphs[0].shape[0] / _SMALL
    even = {k: [bool(np.bincount(one, minlength=k).min() >= least / k) for one in z] for k, z in found.items()}
    weigh = partial(
        cluster_evidence,
        _agreement(found, priors),
        within,
        of.values,
        even=even,
        few_columns=several.few_columns,
        n_distinct=len(np.unique(several.copies)),
    )
    table = several.table()
    if table is not None:
        return weigh(**_few_columns(table, found))
    if several.null is not None:
        return _beside_chance(several.null, of.values, even, weigh, priors, rng)
    evidence = weigh()
    if several.sampled is not None and evidence.found != "gap":
        return several.sampled(rng) or evidence
    return evidence


def _few_columns(X: Matrix, found: dict[int, Partitions]) -> _FewColumns:
    """Return how deep valleys between clusters are, in graphs and by peaks, and how well clusters of one shape fit.

    Copies of a sample count once: where numbers are counts or were rounded, they would be peaks of density.
    """
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    X, found = X[first], {k: z[:, first] for k, z in found.items()}
    of = relief(X)
    peaks = peak_partitions(of, list(found))
    least = len(X) / _SMALL
    return {
        "depths": {k: [depth(of, labels, _ERRORS) for labels in z] for k, z in found.items()},
        "peak_depths": {k: depth(of, z) for k, z in peaks.items() if np.bincount(z).min() >= least / k},
        "shared_shapes": shared_shape(X),
    }


def _beside_chance(
    null: _Null,
    values: list[Vector],
    even: dict[int, list[bool]],
    weigh: Callable[..., ClusterEvidence],
    priors: Vector,
    rng: np.random.RandomState,
) -> ClusterEvidence:
    """Return the evidence compared with samples without structure.

    How far graphs of such samples agree is measured for numbers about as large as the one that would be chosen without
    it, and for smaller ones: no others are compared, and larger ones take most of the time.
    """
    numbers = list(even)
    cloud = spectra(null(rng, "normal"), numbers[-1])
    without = _surer(cloud, values, even, null, rng)
    most = weigh(without).chosen + 2 * _STEP
    some = [k for k in numbers if k <= _EVERY_UP_TO or (k % _STEP == 0 and k < most)]
    permuted = spectra(null(rng, "permuted"), some[-1])
    found = (unit_partitions(one, some, rng, n_init=_STARTS) for one in (cloud, permuted))
    return weigh(without, [_agreement(partitions, priors) for partitions in found])


def _surer(
    cloud: Spectra, values: list[Vector], even: dict[int, list[bool]], null: _Null, rng: np.random.RandomState
) -> list[Vector]:
    """Return the eigenvalues of every graph of samples without structure, their means over more draws if in doubt.

    By chance, the largest gap may be above the threshold of a clear gap in one draw, and below it in the next.
    """
    numbers = list(even)
    largest = float(eigenvalue_gaps(values, cloud.values, np.array(numbers), np.array(list(even.values())).T).max())
    if not 1 / _DOUBT < largest / CLEAR < _DOUBT:
        return cloud.values
    n_draws = int(np.clip(round(_DRAWN / len(cloud.vectors[0])), 1, _MORE_DRAWS))
    draws = [cloud.values, *(spectra(null(rng, "normal"), numbers[-1]).values for _ in range(n_draws))]
    return [np.mean(of_graph, axis=0) for of_graph in zip(*draws, strict=True)]


def _agreement(found: dict[int, Partitions], priors: Vector) -> dict[int, float]:
    """Return the mean adjusted Rand index of pairs of graphs, each weighted by the product of the graphs' priors."""
    pairs = list(combinations(range(len(priors)), 2))
    weights = [priors[i] * priors[j] for i, j in pairs]
    return {k: float(np.average([rand_index(z[i], z[j]) for i, j in pairs], weights=weights)) for k, z in found.items()}
