"""The solver "dense": full kernel matrices, every sample compared with all others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import linalg, sparse

from kernelweave._types import Matrix, Vector
from kernelweave.core.consensus.self_weighted import KernelTiles, combine_tiles
from kernelweave.core.graphs.affinity import (
    Affinity,
    GraphRule,
    KernelAffinities,
    Kind,
    join_pieces,
    kernel_sqdist,
    neighbour_scales,
    self_tuned,
)
from kernelweave.core.graphs.new_rows import bordered_rows, row_sqdist, self_similarities
from kernelweave.core.paper.graph_step import ridge_inverse
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.kernels.view_bank import bank_of
from kernelweave.samples.digests import Seen
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import Scaling, fit_scalings, scaled
from kernelweave.samples.views import Views
from kernelweave.weave.classes import classify_graph
from kernelweave.weave.clusters import cluster_graph
from kernelweave.weave.consensus_kernel import Consensus, kernel_attributes, weigh
from kernelweave.weave.ensemble import ensemble_clusters
from kernelweave.weave.graph_model import Lean
from kernelweave.weave.plan import Classes, Clusters, LabelTask, Plan, Reading
from kernelweave.weave.woven import PERTURBATIONS, WovenGraph

__all__ = ["Dense", "DenseRows"]


@dataclass(frozen=True, slots=True)
class Dense:
    """The solver that compares every sample with all others, for up to some thousand samples.

    It supports several views, gaps in them, precomputed kernels, and every graph and embedding. It needs memory for
    about four n x n matrices.
    """

    name: ClassVar[str] = "dense"
    supports: ClassVar[frozenset[str]] = frozenset(
        {"views", "gaps", "mixed", "precomputed", "auto", "graph", "gamma", "embedding", "consensus"}
    )
    up_to: ClassVar[float] = 5000  # samples; for more, local graphs are as good and much faster

    def memory(self, samples: Views | KernelStack, n_neighbors: int, n_groups: int, *, consensus: bool) -> int:
        """Return about how many bytes a fit needs beyond its samples."""
        return int((8.0 if consensus else 4.0) * samples.dtype.itemsize * samples.n_samples**2)

    def cluster(
        self, samples: Views | KernelStack, plan: Plan, reading: Reading, rng: np.random.RandomState
    ) -> Clusters:
        """Return the clusters of the samples."""
        consensus, seen, tiles = _combine(samples, plan)
        if reading.consensus:
            woven = _weave(consensus, seen, plan, join=True)
            return ensemble_clusters(woven, tiles, reading, plan, rng, weave_kernel)
        del tiles  # it holds the products between samples, twice the size of the kernel
        return cluster_graph(_weave(consensus, seen, plan, join=True), reading, plan, rng)

    def classify(
        self, samples: Views | KernelStack, plan: Plan, task: LabelTask, rng: np.random.RandomState
    ) -> Classes:
        """Return the classes of the samples; "auto" spreads labels by harmonic functions."""
        consensus, seen, _ = _combine(samples, plan)
        woven = _weave(consensus, seen, plan, join=False)
        return classify_graph(woven, task, lgc=task.propagation == "lgc", say=plan.say)


def _combine(samples: Views | KernelStack, plan: Plan) -> tuple[Consensus, Seen, KernelTiles]:
    """Return the consensus of the kernels, the digests of the samples, and the kernels by tiles."""
    seen = Seen(samples.digests())
    scalings: dict[str, Scaling] = {}
    training: Views | None = None
    if isinstance(samples, Views):
        scalings = fit_scalings(samples, plan.scale)
        training = scaled(samples, scalings)
    for name, one in scalings.items():
        plan.say(f"scale of {name}: {one.method}, since {one.reason}")
    compared = samples if training is None else training
    bank = bank_of(plan.kernels, compared)
    tiles = KernelTiles(bank.fit_tiles(compared), len(bank.names), samples.n_samples)
    p = weigh(tiles, plan.weights, bank, compared)
    plan.say(f"kernels: {len(p)}, the largest share {p.max():.0%} ({bank.names[p.argmax()]})")
    K = combine_tiles(tiles.of(samples.dtype), p[None], tiles.n)[0]
    return Consensus(bank, training, scalings, p, K), seen, tiles


def _weave(consensus: Consensus, seen: Seen, plan: Plan, *, join: bool) -> WovenGraph:
    """Return the graph of the consensus, in one piece if `join`."""
    K, bank = consensus.matrix, consensus.bank
    fitted = kernel_attributes(bank.names, bank.views, consensus.weights, consensus.scalings)
    S, degrees = weave_kernel(K, plan.rule, join=join)
    plan.say(f"graph: {S.nnz // 2} edges between {len(K)} samples")

    def perturbed() -> list[sparse.csr_array]:
        return [weave_kernel(K, plan.rule.perturbed(*factors))[0] for factors in PERTURBATIONS]

    joiner = DenseRows(consensus, plan.rule, degrees)
    return WovenGraph(S, joiner, seen, perturbed, {**fitted, "graph_": S, "consensus_kernel_": K})


def weave_kernel(K: Matrix, rule: GraphRule, *, join: bool = True) -> tuple[sparse.csr_array, tuple[float, ...]]:
    """Return the graph of a kernel matrix by the rule, in one piece if `join`, and the mean degrees of its parts."""
    if K.trace() <= 0:
        msg = (
            f"The kernels add up to a matrix with trace {K.trace():g}, but k(x, x) is positive: pass kernels with a "
            "positive diagonal."
        )
        raise InvalidInputError(msg)
    try:
        S, degrees, last = rule.weave(KernelAffinities(K, rule.gamma), len(K))
    except linalg.LinAlgError as error:
        at = f"gamma={rule.gamma:g}"
        msg = f"K + gamma I is singular at {at}: raise gamma, or pass kernels that are positive definite."
        raise NotFiniteError(msg) from error
    return join_pieces(S, last) if join else S, degrees


@dataclass(frozen=True, eq=False)
class DenseRows(Lean):
    """The rows of a dense graph for new samples: the same problem for the kernel bordered by each new sample.

    Parameters
    ----------
    consensus : Consensus
        The kernel of the graph.
    rule : GraphRule
        The rule of the graph.
    degrees : tuple of float
        The mean degrees of its parts.
    """

    chunked: ClassVar[bool] = False

    consensus: Consensus
    rule: GraphRule
    degrees: tuple[float, ...]

    def rows(self, new: Views | KernelStack) -> sparse.csr_array:
        """Return the rows of the graph, without edges that only join pieces."""
        A, g = self._inverse
        K_x = np.ascontiguousarray(self.consensus.rows(new), dtype=A.dtype)
        diagonal = self.consensus.matrix.diagonal()
        K_xx = self_similarities(A, K_x, diagonal)

        def affinity(kind: Kind) -> Affinity:
            if kind == "ridge":
                return Affinity(bordered_rows(A, K_x, K_xx, g=g))
            D = row_sqdist(K_x, K_xx, diagonal)
            return Affinity(self_tuned(D, neighbour_scales(D, D.shape[1]), self._scales))

        return self.rule.rows(affinity, len(A), self.degrees)

    @cached_property
    def _inverse(self) -> tuple[Matrix, float]:
        """A = (K + gI)^-1 and g, computed once."""
        K = self.consensus.matrix
        g = self.rule.gamma * float(K.diagonal().mean())
        return ridge_inverse(K, gamma=g), g

    @cached_property
    def _scales(self) -> Vector:
        """The squared scales of the training samples, computed once."""
        D = kernel_sqdist(self.consensus.matrix)
        return neighbour_scales(D, len(D) - 1)
