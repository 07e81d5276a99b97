"""From a graph to clusters: its spectrum, partitions of several embeddings, and their consensus.

The clusters do not depend on the order of the samples: before k-means and linkage they are sorted by their coordinates.
Letters: V eigenvectors of the Laplacian, P the embedding made of q of them, M memberships.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from kernelweave._plural import counted
from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.coordinates import (
    bottom_spectrum,
    commute_rows,
    margins,
    memberships,
    shrinkage,
    soft_rows,
    unit_rows,
)
from kernelweave.core.partitions.agreement import Partitions, co_association, merge
from kernelweave.memory import check_memory
from kernelweave.select import ClusterEvidence, candidate_numbers, cluster_evidence
from kernelweave.weave.graph_model import GraphModel
from kernelweave.weave.plan import Clusters, EmbeddingKind, Plan, Reading
from kernelweave.weave.progress import StageProgress
from kernelweave.weave.woven import WovenGraph

__all__ = [
    "cluster_graph",
    "count_clusters",
    "embedded",
    "found_clusters",
    "kmeans",
    "partitions",
    "sample_order",
    "spectrum",
    "wide",
]

_MERGED_UP_TO = 5000  # samples; a matrix of all pairs of more is too large
_STARTS_ON = 20_000  # rows on which starts of k-means are compared
_CANDIDATE_STARTS = 2  # of k-means, for each number of clusters that is tried


def cluster_graph(woven: WovenGraph, reading: Reading, plan: Plan, rng: np.random.RandomState) -> Clusters:
    """Return the clusters of a graph."""
    n_clusters, evidence = reading.n_clusters, None
    if n_clusters == "auto":
        n_clusters, evidence = count_clusters(woven, plan.say, rng)
    q, n = reading.n_components or n_clusters, woven.graph.shape[0]
    kind = _embedding(reading.embedding, n)
    values, V = spectrum(woven.graph, wide(q) + 1 if kind == "merged" or n <= _MERGED_UP_TO else q + 1, plan.say)
    labels = _labels(values, V, kind, q, n_clusters, n_init=reading.n_init, rng=rng)
    P = embedded(values, V, kind, q)
    M = memberships(woven.graph, P, labels, n_clusters)
    return found_clusters(woven, labels, M, P / shrinkage(woven.graph, P), P, values, evidence)


def found_clusters(
    woven: WovenGraph,
    labels: NDArray[np.int32],
    M: Matrix,
    coordinates: Matrix,
    P: Matrix,
    values: Vector,
    evidence: ClusterEvidence | None,
) -> Clusters:
    """Return clusters and their GraphModel, which assigns new samples by the votes of their neighbours."""
    votes = np.eye(M.shape[1], dtype=M.dtype)[labels]
    undecided = np.zeros(len(labels), dtype=bool)
    model = GraphModel(
        woven.joiner, coordinates, votes, seen=woven.seen, distributions=M, undecided=undecided, embedding=P
    )
    return Clusters(model, labels, M, *margins(M, labels), P, values, evidence, woven.attributes)


def count_clusters(
    woven: WovenGraph, say: Callable[[str], None], rng: np.random.RandomState
) -> tuple[int, ClusterEvidence]:
    """Return the number of clusters that the graph and two perturbed ones suggest, and the evidence."""
    numbers = candidate_numbers(woven.graph.shape[0])
    spectra = [spectrum(S, numbers[-1], say) for S in (woven.graph, *woven.perturbed())]
    found = {
        c: np.concatenate(
            [partitions(values, V, [("unit", c)], c, n_init=_CANDIDATE_STARTS, rng=rng) for values, V in spectra]
        )
        for c in numbers
    }
    evidence = cluster_evidence(woven.graph, found)
    say(f"number of clusters: {evidence.chosen}, of {numbers[0]} to {numbers[-1]}")
    return evidence.chosen, evidence


def spectrum(S: sparse.csr_array, q: int, say: Callable[[str], None]) -> tuple[Vector, Matrix]:
    """Return the q smallest eigenvalues of the Laplacian, in units of the mean degree, and their eigenvectors."""
    found = bottom_spectrum(S, q, progress=StageProgress(say))
    if not found.converged:
        msg = (
            f"The eigenvectors of the graph did not converge in {counted(found.n_iter, 'filter')} (residual "
            f"{found.residual:.1e} of the largest eigenvalue), so the clusters may be inaccurate: raise n_neighbors, "
            "or lower n_components."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=5)
    return found.values / (float(S.sum(dtype=np.float64)) / S.shape[0] or 1.0), found.vectors


def _embedding(kind: EmbeddingKind, n: int) -> EmbeddingKind:
    """Return the kind of embedding to cluster; merging several needs a matrix of all pairs of samples."""
    if kind == "merged":
        check_memory(16 * n**2, what=f"Merging embeddings of {n} samples", advice='use embedding="unit"')
    if kind == "auto":
        return "merged" if n <= _MERGED_UP_TO else "unit"
    return kind


def wide(q: int) -> int:
    """Return the number of columns of the widest embedding that is merged: 1.5 times the number requested."""
    return ceil(1.5 * q)


def embedded(values: Vector, V: Matrix, kind: EmbeddingKind, q: int) -> Matrix:
    """Return P (n, q): eigenvectors as they are, with normalised rows, or scaled to commute times."""
    if kind == "commute":  # without the constant eigenvector, whose eigenvalue is 0
        return commute_rows(values[: q + 1], V[:, : q + 1])
    rescale: Callable[[Matrix], Matrix] = {"unit": unit_rows, "soft": soft_rows}.get(kind, np.asarray)
    return rescale(V[:, :q] if q > 1 else V[:, 1:2])  # the first eigenvector is constant


def _labels(
    values: Vector, V: Matrix, kind: EmbeddingKind, q: int, n_clusters: int, *, n_init: int, rng: np.random.RandomState
) -> NDArray[np.int32]:
    """Return k-means clusters of one embedding, or the consensus of those of all embeddings."""
    labels: NDArray[np.int32]
    if kind != "merged":
        (labels,) = partitions(values, V, [(kind, q)], n_clusters, n_init=n_init, rng=rng)
        return labels
    rows: list[tuple[EmbeddingKind, int]] = [("raw", q), ("soft", q), ("unit", q), ("commute", q), ("commute", wide(q))]
    found = partitions(values, V, rows, n_clusters, n_init=ceil(n_init / 3), rng=rng)
    order = sample_order(V)  # linkage breaks ties by position
    labels = np.empty_like(found[0])
    labels[order] = merge(co_association(found[:, order]), n_clusters)
    return labels


def partitions(
    values: Vector,
    V: Matrix,
    rows: Sequence[tuple[EmbeddingKind, int]],
    n_clusters: int,
    *,
    n_init: int,
    rng: np.random.RandomState,
) -> Partitions:
    """Return k-means partitions, one for each pair of an embedding and its number of columns in `rows`."""
    order = sample_order(V)  # k-means draws by position
    found = np.empty((len(rows), len(V)), dtype=np.int32)
    for i, (kind, q) in enumerate(rows):
        found[i, order] = kmeans(embedded(values, V, kind, q)[order], n_clusters, n_init=n_init, rng=rng)
    return found


def sample_order(V: Matrix) -> NDArray[np.intp]:
    """Return the order that sorts the samples by their coordinates, which does not depend on their input order."""
    return np.lexsort(V.T)


def kmeans(P: Matrix, n_clusters: int, *, n_init: int, rng: np.random.RandomState) -> NDArray[np.int32]:
    """Return the best of `n_init` k-means partitions of the rows of P, compared in double precision.

    If there are more than 20,000 rows, the starts are compared on a random 20,000 of them. In single precision,
    rounding would often decide between partitions that are nearly as good.
    """
    P = P.astype(np.float64, copy=False)
    with config_context(assume_finite=True, skip_parameter_validation=True):  # a quarter of the time of k-means
        if len(P) <= _STARTS_ON:
            return np.asarray(KMeans(n_clusters, n_init=n_init, random_state=rng).fit_predict(P))
        part = P[rng.choice(len(P), _STARTS_ON, replace=False)]
        start = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(part).cluster_centers_
        return np.asarray(KMeans(n_clusters, init=start, n_init=1, random_state=rng).fit_predict(P))
