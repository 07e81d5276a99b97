"""From the bottom of a graph's spectrum to clusters that do not depend on the order of the samples."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context

from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.coordinates import bottom_eigenpairs, commute_rows, soft_rows, unit_rows
from kernelweave.core.partitions.agreement import Partitions, co_association, merge
from kernelweave.estimators._partition import partition

__all__ = ["EMBEDDINGS", "cluster", "embedded", "partitions", "sample_order", "spectrum", "wide"]

EMBEDDINGS = ("auto", "merged", "raw", "soft", "unit", "commute")


def wide(m: int) -> int:
    """Return the size of the widest embedding that is merged, half as wide again as asked for."""
    return ceil(1.5 * m)


def spectrum(S: sparse.csr_array, m: int) -> tuple[Vector, Matrix]:
    """Return the m smallest eigenvalues of the Laplacian, in units of the mean degree, and their eigenvectors."""
    values, P = bottom_eigenpairs(S, min(m, S.shape[0]))
    return values / (float(S.sum()) / S.shape[0] or 1.0), P


def embedded(values: Vector, P: Matrix, embedding: str, m: int) -> Matrix:
    """Return m coordinates per sample: eigenvectors, their rows scaled to some length, or to commute times."""
    if embedding == "commute":  # the constant eigenvector says nothing about commuting
        return commute_rows(values[: m + 1], P[:, : m + 1])
    rescale = {"unit": unit_rows, "soft": soft_rows}.get(embedding, np.asarray)
    return rescale(P[:, :m] if m > 1 else P[:, 1:2])  # one alone: not the constant one


def cluster(
    values: Vector,
    P: Matrix,
    embedding: str,
    m: int,
    n_clusters: int,
    *,
    n_init: int,
    random_state: np.random.RandomState,
) -> NDArray[np.int32]:
    """Return k-means clusters of one embedding, or what those of all embeddings agree on."""
    if embedding != "merged":
        rows = [(embedding, m)]
        return partitions(values, P, rows, n_clusters, n_init=n_init, random_state=random_state)[0]
    rows = [("raw", m), ("soft", m), ("unit", m), ("commute", m), ("commute", wide(m))]
    found = partitions(values, P, rows, n_clusters, n_init=ceil(n_init / 3), random_state=random_state)
    order = sample_order(P)  # linkage breaks ties by position
    labels = np.empty_like(found[0])
    labels[order] = merge(co_association(found[:, order]), n_clusters)
    return labels


def partitions(
    values: Vector,
    P: Matrix,
    rows: list[tuple[str, int]],
    n_clusters: int,
    *,
    n_init: int,
    random_state: np.random.RandomState,
) -> Partitions:
    """Return k-means partitions, one for each embedding and its size in `rows`."""
    order = sample_order(P)  # k-means draws by position
    found = np.empty((len(rows), len(P)), dtype=np.int32)
    for i, (embedding, m) in enumerate(rows):
        X = embedded(values, P, embedding, m)[order]
        with config_context(assume_finite=True, skip_parameter_validation=True):  # a quarter of the time of k-means
            found[i, order] = partition(X, n_clusters, n_init=n_init, random_state=random_state)
    return found


def sample_order(P: Matrix) -> NDArray[np.intp]:
    """Return an order of the samples that their coordinates set, whatever order they came in."""
    return np.lexsort(P.T)
