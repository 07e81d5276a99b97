"""From several graphs to clusters: the partitions of each, and the clusters of all partitions merged.

Every graph is clustered in several ways. Its weight is a power of the mean adjusted Rand index of these partitions, so
it is small if they differ. Letters: P the embedding, M memberships.
"""

from __future__ import annotations

import warnings
from copy import deepcopy

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kernelweave._plural import counted
from kernelweave.core.graphs.affinity import weighted_sum
from kernelweave.core.graphs.coordinates import embedded, shrinkage
from kernelweave.core.partitions.agreement import merge, trusted
from kernelweave.weave.clarity import SAMPLED, Clarity
from kernelweave.weave.cluster_number import count_clusters
from kernelweave.weave.graph_model import GraphModel
from kernelweave.weave.graph_partitions import read_graph, spectrum
from kernelweave.weave.plan import Clusters, ClusterTask, Plan
from kernelweave.weave.woven import SeveralGraphs

__all__ = ["cluster_graphs"]


def cluster_graphs(several: SeveralGraphs, task: ClusterTask, plan: Plan, rng: np.random.RandomState) -> Clusters:
    """Return the clusters that the graphs agree on."""
    evidence, c = None, task.n_clusters
    if c == "auto":
        evidence = count_clusters(several, plan.say, deepcopy(rng))  # so that a number given has the same clusters
        c = evidence.chosen
    n_distinct = len(np.unique(several.copies))
    if c > n_distinct:
        _warn_of_copies(c, n_distinct)
        c = n_distinct
    q = task.n_components or c
    parts, weights, block, best, most = [], several.priors.copy(), None, None, 0.0
    for i, S in enumerate(several.graphs):
        z, agreement, block = read_graph(S, task.embedding, q, c, task.n_init, rng, block, plan.say)
        weights[i] *= trusted(agreement, few_columns=several.few_columns)
        if weights[i] > most:
            most, best = weights[i], block
        many = f"{len(z)} partition{'s' * (len(z) != 1)}"
        plan.say(f"graph {i + 1} of {len(several.graphs)}: agreement of {many} {agreement:.2f}")
        parts.append(z)
    weights /= weights.sum()
    labels, M = merge(np.concatenate(parts), np.repeat(weights, len(parts[0])), c, several.copies)
    S = weighted_sum(several.graphs, weights)
    values, V, _ = spectrum(S, q + 1, firm=q, start=best, say=plan.say)
    P = embedded(values, V, "raw" if task.embedding in ("auto", "merged") else task.embedding, q)
    coordinates, votes = P / shrinkage(S, P), np.eye(M.shape[1], dtype=M.dtype)[labels]
    woven = several.weave(weights, S)
    labels, M, P = labels[several.copies], M[several.copies], P[several.copies]
    model = GraphModel(
        woven.joiner,
        coordinates,
        votes,
        seen=woven.seen,
        distributions=M,
        undecided=np.zeros(len(M), dtype=bool),
        embedding=P,
        nodes=several.copies,
    )
    sample = None
    if several.samples is not None and c > 1:
        n = several.samples.n_samples
        sample = several.samples.select(np.sort(rng.choice(n, min(n, SAMPLED), replace=False)))
    clarity = Clarity(sample, several.versions, plan, c, deepcopy(rng))
    return Clusters(model, labels, M, P, values, evidence, clarity, woven.kernels, woven.attributes)


def _warn_of_copies(c: int, n_distinct: int) -> None:
    msg = (
        f"There are only {counted(n_distinct, 'distinct sample')} for n_clusters={c}, so there will be as many "
        "clusters: remove copies from X, or lower n_clusters."
    )
    warnings.warn(msg, ConvergenceWarning, stacklevel=5)
