"""The solver "dense": full kernel matrices, every sample compared with all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Labels, Matrix, Vector
from kernelweave.core.algebra.matrices import has_alike_rows
from kernelweave.core.consensus.label_agreement import nearest_agreement
from kernelweave.core.graphs.affinity import (
    Family,
    Kind,
    RowPart,
    kernel_sqdist,
    one_graph,
    several_cuts,
    weighted_sum,
)
from kernelweave.kernels.recipes import take_negatives
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.prepared import Compared, NullKind, Prepared, compared_again, prepare, without_structure
from kernelweave.samples.scaling import Version
from kernelweave.samples.views import Views
from kernelweave.select import ClusterEvidence
from kernelweave.weave.classes import classify_graph
from kernelweave.weave.clusters import cluster_graphs
from kernelweave.weave.consensus_kernel import Consensus, combine
from kernelweave.weave.dense_rows import DenseRows
from kernelweave.weave.density import few_columns_of
from kernelweave.weave.plan import Classes, Clusters, ClusterTask, KernelShares, LabelTask, Plan
from kernelweave.weave.woven import PERTURBATIONS, SeveralGraphs, WovenGraph

__all__ = ["COUNTED_ON", "Dense", "counted_in_some", "row_shares"]

COUNTED_ON = 2000  # samples drawn at random, where there are too many to count clusters in all

# of a sample that are compared, beside all with a label: with as many as a row of a graph has entries, a sample would
# be joined to its copies only, and be a cluster of its own
_MOST_COPIES = 4
_DRAWN = 3  # columns: groups of so few may be of any shape, such as rings and arcs
_KINDS: dict[str, tuple[Kind, ...]] = {"ridge": ("ridge",), "knn": ("tuned",)}  # of affinities, if they are asked for
_POWER_OF_LABELS = 16.0  # of the share of labels that neighbours predict

_Built = tuple[Version, Consensus, list[Family]]
_Build = Callable[[Prepared, Plan], list[_Built]]


@dataclass(frozen=True, slots=True)
class Dense:
    """The solver that compares every sample with all others, for up to some thousand samples.

    It supports several views, gaps in them, precomputed kernels, and every graph and embedding. It needs memory for
    about six n x n matrices.
    """

    name: ClassVar[str] = "dense"
    supports: ClassVar[frozenset[str]] = frozenset(
        {"views", "gaps", "mixed", "precomputed", "auto", "graph", "gamma", "embedding", "float64"}
    )
    up_to: ClassVar[int] = 5000  # samples; for more, local graphs are as good and much faster
    matrices: ClassVar[float] = 6.0  # of size n x n that a fit holds at once

    def unsuited(self, n: int) -> str | None:
        """Return why n samples are too many; None if they are not."""
        return f"{n} samples are more than {self.up_to}" if n > self.up_to else None

    def memory(self, samples: Views | KernelStack, n_neighbors: int, n_groups: int) -> int:
        """Return about how many bytes a fit needs beyond its samples."""
        return int(self.matrices * samples.dtype.itemsize * samples.n_samples**2)

    def cluster(
        self, samples: Views | KernelStack, plan: Plan, task: ClusterTask, rng: np.random.RandomState
    ) -> Clusters:
        """Return the clusters of the samples."""
        prepared, built = _settled(samples, plan, lambda given, told: _built(given.compared, told))
        views = prepared.kept
        versions = [version for version, _, _ in built]
        priors = np.array([version.share for version, _, families in built for one in families for _ in one.graphs])
        several = SeveralGraphs(
            tuple(S for _, _, families in built for one in families for S in one.graphs),
            priors / priors.sum(),
            any(version.few_columns for version in versions),
            lambda weights, S: _woven(prepared, built, weights, S, plan),
            lambda: _perturbed(built, plan),
            None if views is None else partial(_null, views, versions, plan),
            None,
            partial(few_columns_of, views, versions[-1].scalings),
            views,
            versions,
            prepared.copies,
        )
        return cluster_graphs(several, task, plan, rng)

    def classify(
        self, samples: Views | KernelStack, plan: Plan, task: LabelTask, rng: np.random.RandomState
    ) -> Classes:
        """Return the classes of the samples; "auto" spreads labels by harmonic functions."""

        def build(given: Prepared, told: Plan) -> list[_Built]:
            codes = _codes_of(given, task.codes)
            found = [combine(one, told.kernels, told.weights, told.say, codes=codes) for one in given.compared]
            pairs = zip(given.compared, found, strict=True)
            return [(one.version, K, [one_graph(K.matrix, told.rule, join=False)]) for one, K in pairs]

        prepared, built = _settled(samples, plan, build, task.codes)
        task = task._replace(codes=_codes_of(prepared, task.codes))
        shares = np.array([version.share * _label_trust(consensus.matrix, task) for version, consensus, _ in built])
        weights = shares / shares.sum()
        S = weighted_sum(tuple(one.graphs[0] for _, _, (one,) in built), weights)
        woven = _woven(prepared, built, weights, S, plan)
        return classify_graph(woven, task, prepared.copies, lgc=task.propagation == "lgc", say=plan.say)


def counted_in_some(
    some: Views, plan: Plan, task: ClusterTask, rng: np.random.RandomState, *, drawn: bool
) -> ClusterEvidence | None:
    """Return the evidence for each number of clusters in some samples, compared each with all others of them.

    `drawn` is whether they were drawn from more.
    """
    plan.say(f"number of clusters: tried in {some.n_samples} samples")
    found = Dense().cluster(some, plan.silent(), task, rng).evidence
    return replace(found, n_counted=some.n_samples) if drawn and found is not None else found


def _settled(
    samples: Views | KernelStack,
    plan: Plan,
    build: _Build,
    codes: Labels | None = None,
) -> tuple[Prepared, list[_Built]]:
    """Return the samples that are compared, and what `build` makes of them.

    Where there are many copies, or kernels do not tell some samples apart, as in tables of all combinations of some
    values, there are ties. The values of the samples decide their order then, so that of the input does not matter.
    """
    built: list[_Built] = []
    for by_value in (False, True):
        prepared = prepare(samples, plan.scale, most_copies=_MOST_COPIES, codes=codes, by_value=by_value)
        distinct = np.unique(prepared.copies if codes is None else prepared.copies[codes < 0])
        if not by_value and len(prepared.rows) < len(prepared.copies):
            continue
        built = build(prepared, plan)
        matrices = () if by_value or prepared.kept is None else [consensus.matrix for _, consensus, _ in built]
        if not any(has_alike_rows(K, distinct) for K in matrices):
            break
        plan = plan.silent()
    return prepared, built


def _codes_of(prepared: Prepared, codes: Labels) -> NDArray[np.intp]:
    """Return the codes of the labels of the samples that are compared."""
    known = np.full(prepared.compared[0].samples.n_samples, -1, dtype=np.intp)
    known[prepared.copies] = codes
    return known


def _label_trust(K: Matrix, task: LabelTask) -> float:
    """Return a power of the share of labelled samples whose nearest labelled one by the kernel K has their class."""
    known = np.flatnonzero(task.codes >= 0)
    D = kernel_sqdist(K[np.ix_(known, known)])
    return float(nearest_agreement(D, task.codes[known]) ** _POWER_OF_LABELS)


def _null(
    views: Views, versions: Sequence[Version], plan: Plan, rng: np.random.RandomState, kind: NullKind
) -> tuple[sparse.csr_array, ...]:
    """Return the graphs of samples without structure in the same versions; with perturbed ones if there is one."""
    drawn = without_structure(views, rng, kind, signs=not take_negatives(plan.kernels))
    found = _built(compared_again(versions, drawn), plan.silent())
    graphs = tuple(S for _, _, families in found for one in families for S in one.graphs)
    return graphs if len(graphs) > 1 else (*graphs, *_perturbed(found, plan))


def _perturbed(built: Sequence[_Built], plan: Plan) -> list[sparse.csr_array]:
    """Return graphs with more and with fewer edges than the only one."""
    K = built[0][1].matrix
    return [one_graph(K, plan.rule.perturbed(*factors)).graphs[0] for factors in PERTURBATIONS]


def _built(compared: Sequence[Compared], plan: Plan) -> list[_Built]:
    """Return every version of the samples, its consensus kernel and its graphs."""
    built: list[_Built] = []
    for one in compared:
        version, samples = one
        # neighbours are looked for in z-scores, and where columns are few
        both = version.few_columns or version.name == "zscore"
        kinds = _KINDS.get(plan.graph, ("ridge", "tuned") if both else ("ridge",))
        any_shape = plan.graph == "auto" and version.few_columns and samples.shape[1] <= _DRAWN
        consensus = combine(one, plan.kernels, plan.weights, plan.say)
        if plan.many:
            families = several_cuts(consensus.matrix, kinds, plan.rule.gamma, any_shape=any_shape)
        else:
            families = [one_graph(consensus.matrix, plan.rule)]
        built.append((version, consensus, families))
    return built


def _woven(prepared: Prepared, built: Sequence[_Built], weights: Vector, S: sparse.csr_array, plan: Plan) -> WovenGraph:
    """Return S, the sum of the graphs with these weights, and what the model keeps of it."""
    shares, parts = row_shares(built, weights)
    versions = tuple(replace(version, share=share) for (version, _, _), share in zip(built, shares, strict=True))
    consensus = Consensus.summed([one for _, one, _ in built], shares)
    K, bank = consensus.matrix, consensus.versions[0].bank
    p = np.sum([version.weights for version in consensus.versions], axis=0)
    kernels = KernelShares(bank.names, bank.views, p, p, versions)
    edges = S.nnz // 2
    plan.say(f"graph: {edges} edge{'s' * (edges != 1)} between {S.shape[0]} samples")
    for version in versions if len(built) > 1 else ():
        plan.say(f"scale: {version.name}, share {version.share:.0%}")
    nodes = np.argsort(prepared.rows) if len(prepared.rows) == len(prepared.copies) else prepared.copies
    same = np.array_equal(nodes, np.arange(S.shape[0]))
    attributes = {
        "graph_": S if same else sparse.csr_array(S[nodes][:, nodes]),
        "consensus_kernel_": K if same else K[np.ix_(nodes, nodes)],
    }
    scalings = [one for version in versions for one in version.scalings.values()]
    scaled = bool(scalings) and all(one.method != "none" or one.unit is not None for one in scalings)
    single = plan.dtype is None and scaled  # other samples may have large means
    joiner = DenseRows(consensus, plan.rule.gamma, parts, single)
    return WovenGraph(S, joiner, prepared.seen, kernels, attributes)


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
