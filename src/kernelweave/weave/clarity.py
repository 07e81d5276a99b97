"""Whether clusters stand out at all from those that samples without structure have."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import cached_property

import numpy as np
from scipy import sparse

from kernelweave._types import Vector, WeightsLike
from kernelweave.core.graphs.affinity import Cut, KernelAffinities, Kind, cut_graphs
from kernelweave.core.graphs.coordinates import eigenvalue_gaps
from kernelweave.core.partitions.agreement import mean_agreement
from kernelweave.kernels.recipes import KernelsLike, take_negatives
from kernelweave.runtime import threads
from kernelweave.samples.prepared import Compared, compared_again, without_structure
from kernelweave.samples.scaling import Version
from kernelweave.samples.views import Views
from kernelweave.select import CLEAR
from kernelweave.weave.consensus_kernel import combine
from kernelweave.weave.graph_partitions import spectra, unit_partitions
from kernelweave.weave.plan import Plan

__all__ = ["Clarity"]

_SAMPLED = 300  # rows: enough to tell clusters from one cloud, and quick
_ENOUGH = 0.2  # agreement above chance that shows structure
_BEYOND_DOUBT = 1.5  # times as much ends the draws of samples without structure
_DRAWS = 3  # at most: by chance, graphs of few columns may agree in one of them and not in another
_FEWEST_MEMBERS = 8
_STARTS = 5  # of k-means
_KINDS: tuple[Kind, ...] = ("ridge", "tuned")


class Clarity:
    """How far clusters stand out from those of samples without structure; measured when it is first read.

    Parameters
    ----------
    views : Views or None
        The samples, at most 300 of which are drawn; None for kernel matrices. Their clarity is not measured, nor that
        of fewer than 16 samples: it is 1.
    versions : sequence of Version
        How they are scaled.
    plan : Plan
        The kernels, their weights and the regularisation of the graph.
    n_clusters : int
        The number of clusters.
    rng : RandomState
        Draws the samples; what is drawn later has no effect on it.
    """

    __saved__ = ("value",)

    def __init__(
        self, views: Views | None, versions: Sequence[Version], plan: Plan, n_clusters: int, rng: np.random.RandomState
    ) -> None:
        self._sample, self._versions, self._n_clusters = None, versions, 1
        self._single = n_clusters == 1
        self._kernels: KernelsLike = plan.kernels
        self._weights: WeightsLike = plan.weights
        self._gamma = plan.rule.gamma
        if views is not None and n_clusters > 1:
            drawn = np.sort(rng.choice(views.n_samples, min(views.n_samples, _SAMPLED), replace=False))
            self._n_clusters = min(n_clusters, len(drawn) // _FEWEST_MEMBERS)
            self._sample = views.select(drawn)
        self._rng = deepcopy(rng)

    @cached_property
    def value(self) -> float:
        """From 0 for clusters like those of samples without structure, or a single one, to 1 for those that stand out.

        The larger of how far graphs agree on the clusters beyond chance, and how far a gap between eigenvalues, after
        this or a smaller number, exceeds that of one cloud with the same means and covariances. If the agreement is
        little above chance, samples without structure are drawn again, and the largest chance counts.
        """
        sample, c, rng = self._sample, self._n_clusters, deepcopy(self._rng)
        if self._single:
            return 0.0
        if sample is None or c < 2:
            return 1.0
        chance, gap, beyond = 0.0, np.inf, np.inf
        signs = not take_negatives(self._kernels)
        with threads(1, library="blas"):  # the matrices are too small for more
            values, agreement = self._measured(sample, rng)
            for _ in range(_DRAWS):
                cloud, normal = self._measured(without_structure(sample, rng, "normal", signs=signs), rng)
                _, permuted = self._measured(without_structure(sample, rng, "permuted"), rng)
                gap = min(gap, float(eigenvalue_gaps(values, cloud, np.arange(2, c + 1)).max()))
                chance = max(chance, normal, permuted)
                beyond = (agreement - chance) / _ENOUGH
                if not 0 < beyond < _BEYOND_DOUBT:
                    break
        return float(np.clip(max(beyond, (gap - 1) / (CLEAR - 1)), 0, 1))

    def _measured(self, views: Views, rng: np.random.RandomState) -> tuple[list[Vector], float]:
        """Return the eigenvalues of two graphs of each version, and how far their partitions agree."""
        graphs: list[sparse.csr_array] = []
        for one in compared_again(self._versions, views):
            graphs += self._graphs(one)
        found = spectra(graphs, self._n_clusters)
        parts = unit_partitions(found, [self._n_clusters], rng, n_init=_STARTS)
        return found.values, mean_agreement(parts[self._n_clusters])

    def _graphs(self, compared: Compared) -> list[sparse.csr_array]:
        K = combine(compared, self._kernels, self._weights).matrix
        affinities = KernelAffinities(K, self._gamma)
        return [S for kind in _KINDS for S in cut_graphs(affinities(kind), [Cut(10)], len(K))]

    def __getstate__(self) -> dict[str, float]:
        return {"value": self.value}  # as in a model file: without the samples and the random numbers
