"""The solver "local": every sample is compared with its nearest neighbours only, without n x n matrices.

From the top: the solver, the graph of candidates and affinities, and its rows for new samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Labels, Progress, Samples, Vector
from kernelweave.core.graphs.affinity import GraphRule, join_pieces
from kernelweave.core.graphs.pieces import strays, tied, with_copies
from kernelweave.errors import InvalidInputError
from kernelweave.kernels.bank import weighted_diagonal
from kernelweave.kernels.view_bank import ViewBank
from kernelweave.samples.blas_threads import threads
from kernelweave.samples.digests import Seen, few_copies
from kernelweave.samples.scaling import Scaling, fit_by_view
from kernelweave.samples.views import Views
from kernelweave.select import ClusterEvidence, candidate_numbers
from kernelweave.weave.classes import classify_graph
from kernelweave.weave.clusters import cluster_graphs
from kernelweave.weave.consensus_kernel import weigh
from kernelweave.weave.dense import Dense
from kernelweave.weave.density import few_columns_of
from kernelweave.weave.local.inverted_lists import has_faiss
from kernelweave.weave.local.local_kernel import (
    CandidateAffinities,
    Index,
    LocalConsensus,
    LocalKernel,
    Tables,
    affinities,
    candidate_sqdist,
    group_bytes,
)
from kernelweave.weave.local.locality import near_order
from kernelweave.weave.local.neighbours import EXACT_UP_TO, Search, nearest, nearest_outside, search_new
from kernelweave.weave.plan import (
    MOST_COPIES,
    Classes,
    Clusters,
    ClusterTask,
    KernelShares,
    LabelTask,
    Plan,
    check_count,
)
from kernelweave.weave.progress import StageProgress
from kernelweave.weave.woven import PERTURBATIONS, SeveralGraphs, WovenGraph

__all__ = ["Local", "LocalRows", "LocalWeave", "new_rows", "perturbed", "weave_local"]

_WEIGHED_ON = 2000  # samples drawn at random
_COUNTED_ON = 2000  # samples in which clusters are counted if no number stands out in the graph of all
_BYTES_PER_NEIGHBOUR = 70  # search for candidates, kernels, graph, eigenvectors
_BYTES_PER_SAMPLE = 400
_FEW = 5000  # samples; up to here more candidates are affordable, and the graph is closer to the dense one
_ORDERED_FROM = 10_000  # samples; fewer fit in the processor's cache
_NEW_ORDERED_FROM = 200_000  # samples; new ones are ordered for the search among them, which reads less of each
_FEW_LABELS = 0.02  # of the samples; with fewer, harmonic scores are nearly equal for all classes far from the labels


@dataclass(frozen=True, slots=True)
class Local:
    """The solver that compares every sample with its nearest neighbours only, for up to some million samples.

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
        n, n_features = samples.shape
        candidates = self.candidates(n, n_neighbors)
        return n * (_BYTES_PER_SAMPLE + _BYTES_PER_NEIGHBOUR * candidates + 2 * 4 * n_features)

    def cluster(self, samples: Views, plan: Plan, task: ClusterTask, rng: np.random.RandomState) -> Clusters:
        """Return the clusters of the samples."""
        digests = samples.digests()
        kept, copies = few_copies(digests, MOST_COPIES)
        n = len(kept)
        samples = samples if n == samples.n_samples else samples.select(kept)
        c = candidate_numbers(n)[-1] if task.n_clusters == "auto" else task.n_clusters
        with threads(1, library="blas"):  # matrices of neighbourhoods are too small for more
            seen, least = Seen(digests), min(n / (4 * c), 1000)
            woven, perturbed_graphs, place = self._weave(samples, plan, rng, seen, least=least)
            woven.attributes["graph_"] = with_copies(woven.attributes["graph_"], kept, copies)
            versions = woven.kernels.versions
            several = SeveralGraphs(
                (woven.graph,),
                np.ones(1),
                False,
                lambda weights, graph: woven,
                perturbed_graphs,
                None,
                lambda own: _counted(samples, plan, task, own),
                lambda: few_columns_of(samples, versions[0].scalings, np.argsort(place)),
                samples,
                versions,
                place[copies],
            )
            return cluster_graphs(several, task, plan, rng)

    def classify(self, samples: Views, plan: Plan, task: LabelTask, rng: np.random.RandomState) -> Classes:
        """Return the classes of the samples; "auto" spreads few labels by local and global consistency."""
        digests = samples.digests()
        kept, copies = few_copies(digests, MOST_COPIES, among=task.codes < 0)
        samples = samples if len(kept) == samples.n_samples else samples.select(kept)
        few = bool(np.count_nonzero(task.codes >= 0) < _FEW_LABELS * len(task.codes))
        lgc = task.propagation == "lgc" or (task.propagation == "auto" and few)
        with threads(1, library="blas"):  # matrices of neighbourhoods are too small for more
            known = task._replace(codes=task.codes[kept])
            woven, _, _ = self._weave(samples, plan, rng, Seen(digests), codes=known.codes)
            woven.attributes["graph_"] = with_copies(woven.attributes["graph_"], kept, copies)
            return classify_graph(woven, known, lgc=lgc, say=plan.say).with_copies(copies)

    def _weave(
        self,
        samples: Views,
        plan: Plan,
        rng: np.random.RandomState,
        seen: Seen,
        *,
        codes: Labels | None = None,
        least: float = 0,
    ) -> tuple[WovenGraph, Callable[[], list[sparse.csr_array]], NDArray[np.intp]]:
        """Return the graph, a function that makes perturbed ones, and the position of every sample in them.

        For clusters, that is without `codes` of classes, the graph is in one piece, pieces smaller than `least` samples
        get several edges, and many samples are in an order in which neighbours are near each other.
        """
        join = codes is None
        n, n_neighbors = samples.n_samples, plan.rule.n_neighbors
        n_candidates = self.candidates(n, n_neighbors)
        if plan.counted and n_candidates < min(n_neighbors, n - 1):
            msg = (
                f"Local(n_candidates={n_candidates}) compares each sample with fewer others than the "
                f"n_neighbors={n_neighbors} that it is to be joined to: raise n_candidates, or lower n_neighbors."
            )
            raise InvalidInputError(msg)
        version = fit_by_view(samples, plan.scale)
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
        attributes = {"graph_": graph, "neighbor_recall_": found.recall}
        return WovenGraph(found.graph, joiner, seen, weighed, attributes), others, place

    def candidates(self, n_samples: int, n_neighbors: int) -> int:
        """Return the number of candidates of each sample.

        By default 60 up to 5000 samples, 15 for more, at least 1.5 n_neighbors.
        """
        return int(self.n_candidates or max(60 if n_samples <= _FEW else 15, ceil(1.5 * n_neighbors)))


def _counted(samples: Views, plan: Plan, task: ClusterTask, rng: np.random.RandomState) -> ClusterEvidence | None:
    """Return the evidence for each number of clusters in some of the samples, compared each with all others of them."""
    n = samples.n_samples
    drawn = np.sort(rng.choice(n, min(n, _COUNTED_ON), replace=False))
    found = Dense().cluster(samples.select(drawn), plan.silent(), task, rng).evidence
    return found if found is None or len(drawn) == n else replace(found, n_counted=len(drawn))


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


@dataclass(frozen=True, slots=True, eq=False)
class LocalWeave:
    """A graph of many samples, and the constants that its rows for new samples depend on.

    Parameters
    ----------
    graph : sparse array (n, n)
        The graph.
    consensus : LocalConsensus
        The consensus kernel.
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
    consensus: LocalConsensus
    rule: GraphRule
    g: float
    degrees: tuple[float, ...]
    n_candidates: int
    scale: Vector | None
    recall: float
    seed: int


def weave_local(
    tables: Tables,
    consensus: LocalConsensus,
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
    g = rule.gamma * _mean_diagonal(tables, consensus)
    searched = consensus.side_by_side(tables)
    found = [nearest(X, n_candidates, seed=seed, n_jobs=n_jobs, progress=progress) for X in searched]
    recall = min(one.recall for one in found)
    index = _best(tables, [one.positions for one in found], consensus, None, progress)
    del found
    near = affinities(tables, index, consensus, rule, g=g, progress=progress)
    S, degrees = _woven(near, rule, tables, consensus, least if join else None)
    return LocalWeave(S, consensus, rule, g, degrees, n_candidates, near.scale, recall, seed), index


def perturbed(
    tables: Tables, woven: LocalWeave, index: Index, factors: tuple[float, float], *, least: float = 0
) -> sparse.csr_array:
    """Return the graph with the ridge and the number of neighbours multiplied by these factors, in one piece."""
    rule = woven.rule.perturbed(*factors)
    near = affinities(tables, index, woven.consensus, rule, g=factors[0] * woven.g)
    return _woven(near, rule, tables, woven.consensus, least)[0]


def _woven(
    near: CandidateAffinities, rule: GraphRule, tables: Tables, consensus: LocalConsensus, least: float | None
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
        searched = consensus.side_by_side(tables)
        found = [nearest_outside(X, rows, piece, ceil(rule.n_neighbors / 2)) for X in searched]
        S = tied(S, rows, _best(tables, found, consensus, tuple(X[rows] for X in tables), None))
        piece, rows = strays(S, least)
    return join_pieces(S, last), degrees


def _best(
    tables: Tables, found: list[Index], consensus: LocalConsensus, new: Tables | None, progress: Progress | None
) -> Index:
    """Return the nearest of all tables' candidates in the consensus kernel, as many as one table has."""
    if len(found) == 1:
        return found[0]
    k = found[0].shape[1]
    union = np.sort(np.hstack(found), axis=1)
    D = candidate_sqdist(tables, union, consensus, new, progress)
    D[:, 1:][union[:, 1:] == union[:, :-1]] = np.inf  # found in several tables
    return np.take_along_axis(union, np.argsort(D, axis=1, kind="stable")[:, :k], axis=1)


def _mean_diagonal(tables: Tables, consensus: LocalConsensus) -> float:
    """tr(K)/n, estimated on at most 2000 samples."""
    n = tables[0].shape[0]
    some = np.linspace(0, n - 1, min(n, 2000)).astype(np.intp)
    own = zip(tables, consensus.kernels, strict=True)
    parts = [weighted_diagonal(kernel.kernels, kernel.shares, X[some]) for X, kernel in own]
    mean = float(consensus.joined(parts).mean())
    if mean <= 0:
        msg = f"The mean of k(x, x) is {mean:g} over the samples, but must be positive: pass other kernels."
        raise InvalidInputError(msg)
    return mean


@dataclass(frozen=True, eq=False)
class LocalRows:
    """The rows of a local graph for new samples: the same local problem among their candidates.

    Parameters
    ----------
    training : Views
        The training samples, scaled, in single precision.
    scalings : dict of view name to Scaling
        How samples are scaled.
    woven : LocalWeave
        The graph and its constants.
    n_jobs : int or None
        Number of threads of the search for neighbours; None for as many as BLAS uses.
    """

    chunked: ClassVar[bool] = False

    training: Views
    scalings: Mapping[str, Scaling]
    woven: LocalWeave
    n_jobs: int | None

    @property
    def row_bytes(self) -> int:
        """About how much memory the row of one sample takes while it is computed."""
        return group_bytes(self.training.tables, self.woven.n_candidates)

    def order(self, new: Views) -> NDArray[np.intp]:
        """Return new samples in an order in which those of a block have many candidates in common.

        Among fewer than 200,000 training samples it would not be faster, and they are left as they are.
        """
        if self.training.n_samples < _NEW_ORDERED_FROM:
            return np.arange(new.n_samples)
        return near_order(new.scaled(self.scalings, np.float32).tables[0])

    def rows(self, new: Views) -> sparse.csr_array:
        """Return the rows of the graph."""
        tables = new.scaled(self.scalings, np.float32).tables
        return new_rows(self.training.tables, tables, self.woven, self._searches)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields only: the search is prepared again where it is needed."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _searches(self) -> tuple[Search, ...]:
        woven = self.woven
        return tuple(
            search_new(X, woven.n_candidates, seed=woven.seed, n_jobs=self.n_jobs)
            for X in woven.consensus.side_by_side(self.training.tables)
        )


def new_rows(tables: Tables, new: Tables, woven: LocalWeave, searches: Sequence[Search]) -> sparse.csr_array:
    """Return the rows (n_new, n) of the graph for new samples: the same local problem among their candidates."""
    k = min(woven.n_candidates, tables[0].shape[0])
    new = tuple(_like(X, x) for X, x in zip(tables, new, strict=True))
    found = [search.nearest(x, k) for search, x in zip(searches, woven.consensus.side_by_side(new), strict=True)]
    index = _best(tables, found, woven.consensus, new, None)
    near = affinities(tables, index, woven.consensus, woven.rule, g=woven.g, new=new, scales=woven.scale)
    return woven.rule.rows(near.parts.__getitem__, tables[0].shape[0], woven.degrees)


def _like(X: Samples, new: Samples) -> Samples:
    """Return new samples, dense if the training samples are dense."""
    return new.toarray() if sparse.issparse(new) and not sparse.issparse(X) else new
