"""The solver "local": every sample is compared with its nearest neighbours only, without n x n matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Labels, Vector
from kernelweave.core.graphs.edges import with_copies
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.view_bank import ViewBank
from kernelweave.runtime import StageProgress, threads
from kernelweave.samples.prepared import FewCopies, few_copies
from kernelweave.samples.scaling import fit_by_view
from kernelweave.samples.views import Views
from kernelweave.select import ClusterEvidence, candidate_numbers
from kernelweave.weave.classes import classify_graph
from kernelweave.weave.clusters import cluster_graphs
from kernelweave.weave.consensus_kernel import weigh
from kernelweave.weave.dense import COUNTED_ON, counted_in_some
from kernelweave.weave.density import few_columns_of
from kernelweave.weave.local.inverted_lists import has_faiss
from kernelweave.weave.local.local_graph import LocalRows, perturbed, weave_local
from kernelweave.weave.local.local_kernel import (
    LocalConsensus,
    LocalKernel,
)
from kernelweave.weave.local.locality import near_order
from kernelweave.weave.local.neighbours import EXACT_UP_TO
from kernelweave.weave.plan import (
    Classes,
    Clusters,
    ClusterTask,
    KernelShares,
    LabelTask,
    Plan,
    check_count,
)
from kernelweave.weave.woven import PERTURBATIONS, SeveralGraphs, WovenGraph

__all__ = ["Local"]

# of a sample that are compared, beside all with a label: with more, few of its candidates would be other samples
_MOST_COPIES = 2
_WEIGHED_ON = 2000  # samples drawn at random
_BYTES_PER_NEIGHBOUR = 70  # search for candidates, kernels, graph, eigenvectors
_BYTES_PER_SAMPLE = 400
_FEW = 5000  # samples; up to here more candidates are affordable, and the graph is closer to the dense one
_ORDERED_FROM = 10_000  # samples; fewer fit in the processor's cache
_FEW_LABELS = 0.02  # of the samples; with fewer, harmonic scores are nearly equal for all classes far from the labels


@dataclass(frozen=True, slots=True)
class Local:
    """The solver that compares every sample with its nearest neighbours only, for up to two million samples.

    It supports several views without gaps, and every graph and embedding. It works in single precision.

    Parameters
    ----------
    n_candidates : int or None, default=None
        The number of nearest neighbours that each sample is compared with, at least `n_neighbors` if that is given;
        None for 60 up to 5000 samples and 15 for more, but at least 1.5 times `n_neighbors`.
    """

    name: ClassVar[str] = "local"
    supports: ClassVar[frozenset[str]] = frozenset({"views", "mixed", "auto", "graph", "gamma", "embedding"})
    up_to: ClassVar[int] = 2_000_000  # samples; a fit of more would take most of an hour

    n_candidates: int | None = None

    def __post_init__(self) -> None:
        check_count(self.n_candidates, "n_candidates")

    def unsuited(self, n: int) -> str | None:
        """Return why n samples are too many, for one fit or without the package for searches; None if they are not."""
        if n > self.up_to:
            return f"{n} samples are more than {self.up_to}"
        if n > EXACT_UP_TO and not has_faiss():
            return f'{n} samples are many, and faiss-cpu ("kernelweave[large]") is not installed'
        return None

    def memory(self, samples: Views, n_neighbors: int, n_groups: int) -> int:
        """Return about how many bytes a fit needs beyond its samples: a little more than a million of them took."""
        n = samples.shape[0]
        per_sample = _BYTES_PER_SAMPLE + _BYTES_PER_NEIGHBOUR * self.candidates(n, n_neighbors)
        return n * per_sample + 2 * 4 * samples.n_numbers  # two copies of the samples in single precision

    def cluster(self, samples: Views, plan: Plan, task: ClusterTask, rng: np.random.RandomState) -> Clusters:
        """Return the clusters of the samples."""
        with threads(1, library="blas"):  # matrices of neighbourhoods are too small for more
            woven, few, place, perturbed_graphs = self._weave(samples, plan, rng, n_clusters=task.n_clusters)
            versions = woven.kernels.versions
            several = SeveralGraphs(
                (woven.graph,),
                np.ones(1),
                False,
                lambda weights, graph: woven,
                perturbed_graphs,
                None,
                lambda own: _counted(few.samples, plan, task, own),
                lambda: few_columns_of(few.samples, versions[0].scalings, np.argsort(place)),
                few.samples,
                versions,
                place[few.copies],
            )
            return cluster_graphs(several, task, plan, rng)

    def classify(self, samples: Views, plan: Plan, task: LabelTask, rng: np.random.RandomState) -> Classes:
        """Return the classes of the samples; "auto" spreads few labels by local and global consistency."""
        few_labels = bool(np.count_nonzero(task.codes >= 0) < _FEW_LABELS * len(task.codes))
        lgc = task.propagation == "lgc" or (task.propagation == "auto" and few_labels)
        with threads(1, library="blas"):  # matrices of neighbourhoods are too small for more
            woven, few, _, _ = self._weave(samples, plan, rng, codes=task.codes)
            known = task._replace(codes=task.codes[few.kept])
            return classify_graph(woven, known, few.copies, lgc=lgc, say=plan.say)

    def _weave(
        self,
        samples: Views,
        plan: Plan,
        rng: np.random.RandomState,
        *,
        codes: Labels | None = None,
        n_clusters: int | Literal["auto"] = 1,
    ) -> _Woven:
        """Return the graph of samples for clusters, or with `codes` for classes.

        For clusters the graph is in one piece, pieces smaller than a quarter of a cluster get several edges, and many
        samples are in an order in which neighbours are near each other.
        """
        join = codes is None
        few = few_copies(samples, _MOST_COPIES, among=None if codes is None else codes < 0)
        samples, codes = few.samples, None if codes is None else codes[few.kept]
        n, n_neighbors = samples.n_samples, plan.rule.n_neighbors
        c = candidate_numbers(n)[-1] if n_clusters == "auto" else n_clusters
        least = min(n / (4 * c), 1000) if join else 0.0
        n_candidates = self.candidates(n, n_neighbors)
        if plan.counted and n_candidates < min(n_neighbors, n - 1):
            msg = (
                f"Local(n_candidates={n_candidates}) compares each sample with fewer others than the "
                f"n_neighbors={n_neighbors} that it is to be joined to: raise n_candidates, or lower n_neighbors."
            )
            raise InvalidInputError(msg)
        version = fit_by_view(samples, plan.scale, precision=np.float32)
        scalings = version.scalings
        for name, one in scalings.items():
            plan.say(f"scale of {name}: {one.method}, since {one.reason}")
        drawn = np.sort(rng.choice(n, min(n, _WEIGHED_ON), replace=False))
        training, sample = samples.scaled(scalings, np.float32), samples.select(drawn).scaled(scalings)
        bank, p, consensus = _weighed(plan, sample, None if codes is None else codes[drawn])
        ordered = join and n > _ORDERED_FROM
        order = near_order(training.tables[0]) if ordered else np.arange(n)
        place = np.argsort(order)
        training = training.select(order) if ordered else training
        found, near = weave_local(
            training.tables,
            consensus,
            plan.rule,
            n_candidates=n_candidates,
            join=join,
            least=least,
            seed=rng.randint(np.iinfo(np.int32).max),
            n_jobs=plan.n_jobs,
            progress=StageProgress(plan.say),
        )
        edges = found.graph.nnz // 2
        told = f"graph: {edges} edge{'s' * (edges != 1)} between {n} samples"
        plan.say(f"{told}, recall of neighbours {found.recall:.3f}")

        def others() -> list[sparse.csr_array]:
            return [perturbed(training.tables, found, near, factors, least=least) for factors in PERTURBATIONS]

        joiner = LocalRows(training, scalings, found, plan.n_jobs)
        weighed = KernelShares(bank.names, bank.views, p, p, (version,))
        graph = sparse.csr_array(found.graph[place][:, place]) if ordered else found.graph
        attributes = {"graph_": with_copies(graph, few.kept, few.copies), "neighbor_recall_": found.recall}
        return _Woven(WovenGraph(found.graph, joiner, few.seen, weighed, attributes), few, place, others)

    def candidates(self, n_samples: int, n_neighbors: int) -> int:
        """Return the number of candidates of each sample.

        By default 60 up to 5000 samples, 15 for more, at least 1.5 n_neighbors.
        """
        return int(self.n_candidates or max(60 if n_samples <= _FEW else 15, ceil(1.5 * n_neighbors)))


class _Woven(NamedTuple):
    """A graph, the samples that are compared, their positions in it, and a function that makes perturbed graphs."""

    graph: WovenGraph
    few: FewCopies
    place: NDArray[np.intp]
    perturbed: Callable[[], list[sparse.csr_array]]


def _counted(samples: Views, plan: Plan, task: ClusterTask, rng: np.random.RandomState) -> ClusterEvidence | None:
    """Return the evidence for each number of clusters in samples drawn at random."""
    n = samples.n_samples
    some = samples.select(np.sort(rng.choice(n, min(n, COUNTED_ON), replace=False)))
    return counted_in_some(some, plan, task, rng, drawn=n > COUNTED_ON)


def _weighed(plan: Plan, sample: Views, codes: Labels | None) -> tuple[ViewBank, Vector, LocalConsensus]:
    """Return the bank, the kernels' shares computed on a sample of the rows, and their consensus for each table."""
    bank, _, p = weigh(plan.kernels, plan.weights, sample, codes=codes, together=True)
    fixed = [one.kernels for one in bank.banks.values()]
    plan.say(f"kernels: {len(p)}, the largest share {p.max():.0%} ({bank.names[p.argmax()]})")
    views = np.array(bank.views)
    parts = [
        LocalKernel.fixed_on(table.astype(np.float32), kernels, p[views == name])
        for name, table, kernels in zip(sample.names, sample.tables, fixed, strict=True)
    ]
    return bank, p, LocalConsensus(tuple(parts), bank.together)
