"""The solver "dense": full kernel matrices, every sample compared with all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy import sparse

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.graphs.affinity import Kind, kernel_sqdist
from kernelweave.samples.digests import Seen
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.scaling import Version, fit_versions
from kernelweave.samples.views import Views
from kernelweave.weave.classes import classify_graph
from kernelweave.weave.clusters import cluster_graphs
from kernelweave.weave.consensus_kernel import Consensus, combine, kernel_attributes
from kernelweave.weave.dense_graphs import Family, one_graph, several_cuts, weighted_sum
from kernelweave.weave.dense_rows import DenseRows, RowPart
from kernelweave.weave.plan import Classes, Clusters, LabelTask, Plan, Reading
from kernelweave.weave.structure import clarity
from kernelweave.weave.structureless import Kind as NullKind
from kernelweave.weave.structureless import without_structure
from kernelweave.weave.woven import PERTURBATIONS, SeveralGraphs, WovenGraph

__all__ = ["Dense", "row_shares"]

_MOST_COPIES = 4  # of a sample that are compared
_POWER_OF_LABELS = 16.0  # of the share of labels that neighbours predict

_Built = tuple[Version, Consensus, list[Family]]


@dataclass(frozen=True, slots=True)
class Dense:
    """The solver that compares every sample with all others, for up to some thousand samples.

    It supports several views, gaps in them, precomputed kernels, and every graph and embedding. It needs memory for
    about six n x n matrices.
    """

    name: ClassVar[str] = "dense"
    supports: ClassVar[frozenset[str]] = frozenset(
        {"views", "gaps", "mixed", "precomputed", "auto", "graph", "gamma", "embedding"}
    )
    up_to: ClassVar[float] = 5000  # samples; for more, local graphs are as good and much faster

    def memory(self, samples: Views | KernelStack, n_neighbors: int, n_groups: int) -> int:
        """Return about how many bytes a fit needs beyond its samples."""
        return int(6.0 * samples.dtype.itemsize * samples.n_samples**2)

    def cluster(
        self, samples: Views | KernelStack, plan: Plan, reading: Reading, rng: np.random.RandomState
    ) -> Clusters:
        """Return the clusters of the samples."""
        kept, places = _thinned(samples)
        return cluster_graphs(_several(kept, places, plan), reading, plan, rng)

    def classify(
        self, samples: Views | KernelStack, plan: Plan, task: LabelTask, rng: np.random.RandomState
    ) -> Classes:
        """Return the classes of the samples; "auto" spreads labels by harmonic functions."""
        built: list[_Built] = []
        for version in _versions(samples, plan):
            consensus = combine(samples, version, plan.kernels, plan.weights, plan.say, labelled=True)
            built.append((version, consensus, [one_graph(consensus.matrix, plan.rule, join=False)]))
        shares = np.array([version.share * _label_trust(consensus.matrix, task) for version, consensus, _ in built])
        woven = _woven(samples, np.arange(samples.n_samples), built, shares / shares.sum(), plan)
        return classify_graph(woven, task, lgc=task.propagation == "lgc", say=plan.say)


def _label_trust(K: Matrix, task: LabelTask) -> float:
    """Return a power of the share of labelled samples whose nearest labelled sample has their class, by the kernel K.

    One right and one wrong are added, since few labels say little.
    """
    known = np.flatnonzero(task.labelled)
    D = kernel_sqdist(K[np.ix_(known, known)])
    right = float(np.count_nonzero(task.codes[known][D.argmin(axis=1)] == task.codes[known])) if len(known) > 1 else 0.0
    return float(((right + 1) / (len(known) + 2)) ** _POWER_OF_LABELS)


def _thinned(samples: Views | KernelStack) -> tuple[Views | KernelStack, Labels]:
    """Return at most four copies of every sample, and the position of the first copy of each among those kept.

    With as many copies as a row of a graph has entries, a sample would be joined to its copies only, and be a cluster
    of its own. Kernel matrices stay whole.
    """
    n = samples.n_samples
    if isinstance(samples, KernelStack):
        return samples, np.arange(n)
    digests = np.ascontiguousarray(samples.digests()).view("S16").ravel()
    _, first, group, counts = np.unique(digests, return_index=True, return_inverse=True, return_counts=True)
    if len(counts) in (1, n):
        return samples, np.arange(n)
    order = np.argsort(group, kind="stable")
    rank = np.empty(n, dtype=np.intp)  # of every sample among its copies
    rank[order] = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = np.flatnonzero(rank < _MOST_COPIES)
    return samples if len(kept) == n else samples.select(kept), np.searchsorted(kept, first[group])


def _versions(samples: Views | KernelStack, plan: Plan) -> tuple[Version, ...]:
    return fit_versions(samples, plan.scale) if isinstance(samples, Views) else (Version("given", {}),)


def _several(samples: Views | KernelStack, copies: Labels, plan: Plan) -> SeveralGraphs:
    """Return the graphs of all versions of the samples."""
    built = _built(samples, _versions(samples, plan), plan)
    families = [(version, family) for version, _, found in built for family in found]
    priors = np.array([version.share for version, family in families for _ in family.graphs])

    def null(views: Views, rng: np.random.RandomState, kind: NullKind) -> tuple[sparse.csr_array, ...]:
        other = without_structure(views, rng, kind)
        found = _built(other, [version.refitted(other) for version, _, _ in built], plan.silent())
        graphs = _graphs(found)
        return graphs if len(graphs) > 1 else (*graphs, *_perturbed(found, plan))

    return SeveralGraphs(
        _graphs(built),
        priors / priors.sum(),
        any(version.few_columns for version, _, _ in built),
        lambda weights: _woven(samples, copies, built, weights, plan),
        lambda: _perturbed(built, plan),
        partial(null, samples) if isinstance(samples, Views) else None,
        partial(clarity, samples, [version for version, _, _ in built], plan) if isinstance(samples, Views) else None,
        copies,
    )


def _graphs(built: Sequence[_Built]) -> tuple[sparse.csr_array, ...]:
    return tuple(S for _, _, families in built for family in families for S in family.graphs)


def _perturbed(built: Sequence[_Built], plan: Plan) -> list[sparse.csr_array]:
    """Return graphs with more and with fewer edges than the only one."""
    K = built[0][1].matrix
    return [one_graph(K, plan.rule.perturbed(*factors)).graphs[0] for factors in PERTURBATIONS]


def _built(samples: Views | KernelStack, versions: Sequence[Version], plan: Plan) -> list[_Built]:
    """Return every version of the samples, its consensus kernel and its graphs."""
    built: list[_Built] = []
    for version in versions:
        consensus = combine(samples, version, plan.kernels, plan.weights, plan.say)
        if plan.many:
            families = several_cuts(consensus.matrix, _kinds(version, plan), plan.rule.gamma)
        else:
            families = [one_graph(consensus.matrix, plan.rule)]
        built.append((version, consensus, families))
    return built


def _kinds(version: Version, plan: Plan) -> tuple[Kind, ...]:
    """Return the kinds of affinity of a version: neighbours are looked for in z-scores, and where columns are few."""
    if plan.graph == "ridge":
        return ("ridge",)
    if plan.graph == "knn":
        return ("tuned",)
    return ("ridge", "tuned") if version.few_columns or version.name == "zscore" else ("ridge",)


def _woven(
    samples: Views | KernelStack, copies: Labels, built: Sequence[_Built], weights: Vector, plan: Plan
) -> WovenGraph:
    """Return the sum of the graphs with these weights, and what the model keeps of them."""
    S = weighted_sum(_graphs(built), weights)
    plan.say(f"graph: {S.nnz // 2} edges between {S.shape[0]} samples")
    shares, parts = row_shares(built, weights)
    for (version, _, _), share in zip(built, shares, strict=True):
        if len(built) > 1:
            plan.say(f"scale: {version.name}, share {share:.0%}")
    versions = tuple(version.counted(share) for (version, _, _), share in zip(built, shares, strict=True))
    whole = len(copies) == S.shape[0]
    consensus = Consensus.summed([one for _, one, _ in built], shares)
    K, bank = consensus.matrix, consensus.bank
    attributes = {
        **kernel_attributes(bank.names, bank.views, consensus.weights, versions),
        "graph_": S if whole else sparse.csr_array(S[copies][:, copies]),
        "consensus_kernel_": K if whole else K[np.ix_(copies, copies)],
    }
    scalings = [one for version in versions for one in version.scalings.values()]
    scaled = bool(scalings) and all(one.method != "none" or one.unit is not None for one in scalings)
    single = plan.dtype is None and scaled  # other samples may have large means
    joiner = DenseRows(consensus, plan.rule.gamma, parts, single)
    return WovenGraph(S, joiner, Seen(samples.digests()[copies]), attributes)


def row_shares(built: Sequence[_Built], weights: Vector) -> tuple[list[float], tuple[RowPart, ...]]:
    """Return the shares of the versions in the sum of the graphs, and the rows of new samples in that sum."""
    shares, total, done = [], dict[tuple[Kind, int], float](), 0
    for _, _, families in built:
        start = done
        for family in families:
            share = float(weights[done : (done := done + len(family.graphs))].sum())
            factor = 1.0 if len(weights) == 1 else share / family.degree  # as in `weighted_sum`
            for part in family.parts:
                total[part.kind, part.k] = total.get((part.kind, part.k), 0.0) + factor * part.weight
        shares.append(float(weights[start:done].sum()))
    return shares, tuple(RowPart(kind, k, weight) for (kind, k), weight in total.items())
