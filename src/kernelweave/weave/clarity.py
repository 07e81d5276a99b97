"""Whether clusters stand out at all from those that samples without structure have."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import sparse

from kernelweave._types import Vector
from kernelweave.core.graphs.affinity import Cut, KernelAffinities, Kind, cut_graphs
from kernelweave.core.graphs.coordinates import eigenvalue_gaps
from kernelweave.core.partitions.agreement import mean_agreement
from kernelweave.kernels.recipes import take_negatives
from kernelweave.runtime import threads
from kernelweave.samples.prepared import Compared, compared_again, without_structure
from kernelweave.samples.scaling import Version
from kernelweave.samples.views import Views
from kernelweave.select import CLEAR
from kernelweave.weave.consensus_kernel import combine
from kernelweave.weave.graph_partitions import spectra, unit_partitions
from kernelweave.weave.plan import Plan

__all__ = ["SAMPLED", "Clarity"]

SAMPLED = 300  # rows: enough to tell clusters from one cloud, and quick
_ENOUGH = 0.2  # agreement above chance that shows structure
_BEYOND_DOUBT = 1.5  # times as much ends the draws of samples without structure
_DRAWS = 3  # at most: by chance, graphs of few columns may agree in one of them and not in another
_FEWEST_MEMBERS = 8
_STARTS = 5  # of k-means
_KINDS: tuple[Kind, ...] = ("ridge", "tuned")


@dataclass(frozen=True, eq=False)
class Clarity:
    """How far clusters stand out from those of samples without structure; measured when it is first read.

    Parameters
    ----------
    sample : Views or None
        Some of the samples, at most `SAMPLED`, as they are. None for kernel matrices and for a single cluster: the
        clarity of the first is not measured, nor that of fewer than 16 samples, and is 1.
    versions : sequence of Version
        How the samples are scaled.
    plan : Plan
        The kernels, their weights and the regularisation of the graph.
    n_clusters : int
        The number of clusters.
    rng : RandomState
        Draws samples without structure. It must be a copy, so that what is drawn elsewhere has no effect.
    """

    __saved__: ClassVar[tuple[str, ...]] = ("value",)

    sample: Views | None
    versions: Sequence[Version]
    plan: Plan
    n_clusters: int
    rng: np.random.RandomState

    @cached_property
    def value(self) -> float:
        """From 0 for clusters like those of samples without structure, or a single one, to 1 for those that stand out.

        The larger of how far graphs agree on the clusters beyond chance, and how far a gap between eigenvalues, after
        this or a smaller number, exceeds that of one cloud with the same means and covariances. If the agreement is
        little above chance, samples without structure are drawn again, and the largest chance counts.
        """
        if self.n_clusters == 1:
            return 0.0
        if self.sample is None or self.sample.n_samples < 2 * _FEWEST_MEMBERS:
            return 1.0
        c, rng = min(self.n_clusters, self.sample.n_samples // _FEWEST_MEMBERS), deepcopy(self.rng)
        chance, gap, beyond = 0.0, np.inf, np.inf
        signs = not take_negatives(self.plan.kernels)
        with threads(1, library="blas"):  # the matrices are too small for more
            values, agreement = self._measured(self.sample, c, rng)
            for _ in range(_DRAWS):
                cloud, normal = self._measured(without_structure(self.sample, rng, "normal", signs=signs), c, rng)
                _, permuted = self._measured(without_structure(self.sample, rng, "permuted"), c, rng)
                gap = min(gap, float(eigenvalue_gaps(values, cloud, np.arange(2, c + 1)).max()))
                chance = max(chance, normal, permuted)
                beyond = (agreement - chance) / _ENOUGH
                if not 0 < beyond < _BEYOND_DOUBT:
                    break
        return float(np.clip(max(beyond, (gap - 1) / (CLEAR - 1)), 0, 1))

    def _measured(self, views: Views, c: int, rng: np.random.RandomState) -> tuple[list[Vector], float]:
        """Return the eigenvalues of two graphs of each version, and how far their partitions into c clusters agree."""
        graphs: list[sparse.csr_array] = []
        for one in compared_again(self.versions, views):
            graphs += self._graphs(one)
        found = spectra(graphs, c)
        parts = unit_partitions(found, [c], rng, n_init=_STARTS)
        return found.values, mean_agreement(parts[c])

    def _graphs(self, compared: Compared) -> list[sparse.csr_array]:
        K = combine(compared, self.plan.kernels, self.plan.weights).matrix
        affinities = KernelAffinities(K, self.plan.rule.gamma)
        return [S for kind in _KINDS for S in cut_graphs(affinities(kind), [Cut(10)], len(K))]

    def __getstate__(self) -> dict[str, float]:
        return {"value": self.value}  # as in a model file: without the samples and the random numbers
