"""Whether clusters stand out at all: a sample of the rows beside rows without structure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from kernelweave._types import Vector
from kernelweave.core.graphs.affinity import Cut, KernelAffinities, Kind, cut_graphs
from kernelweave.core.graphs.coordinates import eigenvalue_gaps
from kernelweave.core.partitions.agreement import mean_agreement
from kernelweave.samples.prepared import Compared, compared_again, without_structure
from kernelweave.samples.scaling import Version
from kernelweave.samples.views import Views
from kernelweave.select import CLEAR
from kernelweave.weave.consensus_kernel import combine
from kernelweave.weave.graph_partitions import spectra, unit_partitions
from kernelweave.weave.plan import Plan

__all__ = ["clarity"]

_SAMPLED = 300  # rows: enough to tell clusters from one cloud, and quick
_ENOUGH = 0.2  # agreement above chance that shows structure
_BEYOND_DOUBT = 1.5  # times as much ends the draws of samples without structure
_DRAWS = 3  # at most: by chance, graphs of few columns may agree in one of them and not in another
_FEWEST_MEMBERS = 8
_STARTS = 5  # of k-means
_KINDS: tuple[Kind, ...] = ("ridge", "tuned")


def clarity(
    views: Views, versions: Sequence[Version], plan: Plan, n_clusters: int, rng: np.random.RandomState
) -> float:
    """Return how far `n_clusters` clusters stand out from samples without structure, from 0 to 1.

    On at most 300 samples: the larger of how far graphs agree on the clusters beyond chance, and how far a gap between
    eigenvalues, after this or a smaller number, exceeds that of one cloud with the same means and covariances. Where
    the agreement is little above chance, samples without structure are drawn again, and the largest chance counts.
    """
    drawn = np.sort(rng.choice(views.n_samples, min(views.n_samples, _SAMPLED), replace=False))
    c = min(n_clusters, len(drawn) // _FEWEST_MEMBERS)
    if c < 2:
        return 1.0
    sample = views.select(drawn)
    values, agreement = _measured(compared_again(versions, sample), plan, c, rng)
    chance, gap, beyond = 0.0, np.inf, np.inf
    for _ in range(_DRAWS):
        cloud, normal = _measured(compared_again(versions, without_structure(sample, rng, "normal")), plan, c, rng)
        _, permuted = _measured(compared_again(versions, without_structure(sample, rng, "permuted")), plan, c, rng)
        gap = min(gap, float(eigenvalue_gaps(values, cloud, np.arange(2, c + 1)).max()))
        chance = max(chance, normal, permuted)
        beyond = (agreement - chance) / _ENOUGH
        if not 0 < beyond < _BEYOND_DOUBT:
            break
    return float(np.clip(max(beyond, (gap - 1) / (CLEAR - 1)), 0, 1))


def _measured(
    compared: Sequence[Compared], plan: Plan, c: int, rng: np.random.RandomState
) -> tuple[list[Vector], float]:
    """Return the eigenvalues of two graphs of each version, and how far their partitions agree."""
    graphs: list[sparse.csr_array] = []
    for one in compared:
        K = combine(one, plan.kernels, plan.weights).matrix
        affinities = KernelAffinities(K, plan.rule.gamma)
        for kind in _KINDS:
            graphs += cut_graphs(affinities(kind), [Cut(10)], len(K))
    found = spectra(graphs, c)
    return found.values, mean_agreement(unit_partitions(found, [c], rng, n_init=_STARTS)[c])
