"""From several graphs to clusters: the partitions of each, what they agree on, and whether that stands out at all.

A graph whose clusters depend on how they are read from it is not trusted: the weight of a graph is a power of the mean
adjusted Rand index of its partitions. Letters: P the embedding, M memberships.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from kernelweave._plural import counted
from kernelweave._types import Vector
from kernelweave.core.graphs.affinity import Cut, KernelAffinities, Kind, cut_graphs
from kernelweave.core.graphs.coordinates import eigenvalue_gaps, embedded, margins, shrinkage
from kernelweave.core.partitions.agreement import mean_agreement, merge, trusted
from kernelweave.samples.prepared import Compared, compared_again, without_structure
from kernelweave.samples.scaling import Version
from kernelweave.samples.views import Views
from kernelweave.select import CLEAR
from kernelweave.weave.cluster_number import count_clusters
from kernelweave.weave.consensus_kernel import combine
from kernelweave.weave.graph_model import GraphModel
from kernelweave.weave.graph_partitions import read_graph, spectra, spectrum, unit_partitions
from kernelweave.weave.plan import Clusters, Plan, Reading
from kernelweave.weave.woven import SeveralGraphs

__all__ = ["clarity", "cluster_graphs"]

_SAMPLED = 300  # rows: enough to tell clusters from one cloud, and quick
_ENOUGH = 0.2  # agreement above chance that shows structure
_BEYOND_DOUBT = 1.5  # times as much ends the draws of samples without structure
_DRAWS = 3  # at most: by chance, graphs of few columns may agree in one of them and not in another
_FEWEST_MEMBERS = 8
_STARTS = 5  # of k-means
_KINDS: tuple[Kind, ...] = ("ridge", "tuned")


def cluster_graphs(several: SeveralGraphs, reading: Reading, plan: Plan, rng: np.random.RandomState) -> Clusters:
    """Return the clusters that the graphs agree on."""
    evidence, c = None, reading.n_clusters
    if c == "auto":
        evidence = count_clusters(several, plan.say, deepcopy(rng))  # so that a number given has the same clusters
        c = evidence.chosen
    n_distinct = len(np.unique(several.copies))
    if c > n_distinct:
        _warn_of_copies(c, n_distinct)
        c = n_distinct
    q = reading.n_components or c
    parts, weights, block, best, most = [], several.priors.copy(), None, None, 0.0
    for i, S in enumerate(several.graphs):
        z, agreement, block = read_graph(S, reading.embedding, q, c, reading.n_init, rng, block, plan.say)
        weights[i] *= trusted(agreement, few_columns=several.few_columns)
        if weights[i] > most:
            most, best = weights[i], block
        many = f"{len(z)} partition{'s' * (len(z) != 1)}"
        plan.say(f"graph {i + 1} of {len(several.graphs)}: agreement of {many} {agreement:.2f}")
        parts.append(z)
    weights /= weights.sum()
    labels, M = merge(np.concatenate(parts), np.repeat(weights, len(parts[0])), c)
    views = several.samples
    clear = 1.0 if views is None or c == 1 else clarity(views, several.versions, plan, c, rng)
    plan.say(f"clarity: {clear:.2f} (0 for samples without structure, 1 for clusters that stand out)")
    M = clear * M + (1 - clear) / M.shape[1]
    woven = several.weave(weights)
    values, V, _ = spectrum(woven.graph, q + 1, firm=q, start=best, say=plan.say)
    P = embedded(values, V, "raw" if reading.embedding in ("auto", "merged") else reading.embedding, q)
    coordinates = P / shrinkage(woven.graph, P)
    votes = clear * np.eye(M.shape[1], dtype=M.dtype)[labels] + (1 - clear) / M.shape[1]
    every = several.copies
    labels, M, P = labels[every], M[every], P[every]
    confidence, margin = margins(M, labels)
    model = GraphModel(
        woven.joiner,
        coordinates,
        votes,
        seen=woven.seen,
        distributions=M,
        undecided=np.zeros(len(M), dtype=bool),
        embedding=P,
    )
    attributes = {**woven.attributes, "clarity_": clear}
    return Clusters(model, labels, M, confidence, margin, P, values, evidence, attributes)


def _warn_of_copies(c: int, n_distinct: int) -> None:
    msg = (
        f"There are only {counted(n_distinct, 'distinct sample')} for n_clusters={c}, so there will be as many "
        "clusters: remove copies from X, or lower n_clusters."
    )
    warnings.warn(msg, ConvergenceWarning, stacklevel=5)


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
