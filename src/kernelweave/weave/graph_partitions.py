"""From one graph to partitions: its spectrum, several embeddings, and k-means in each.

The partitions do not depend on the order of the samples: before k-means they are sorted by their coordinates. Letters:
V eigenvectors of the Laplacian, P the embedding made of q of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.cluster.vq import vq
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning

from kernelweave._plural import counted
from kernelweave._types import Matrix, Vector
from kernelweave.core.graphs.coordinates import (
    TOL,
    EmbeddingKind,
    bottom_spectrum,
    embedded,
    row_order,
)
from kernelweave.core.partitions.agreement import Partitions, mean_agreement
from kernelweave.core.partitions.kmeans import cluster_means, partitions
from kernelweave.runtime import StageProgress

__all__ = ["Read", "Spectra", "kmeans", "read_graph", "spectra", "spectrum", "unit_partitions"]

_STARTS_ON = 20_000  # rows on which starts of k-means are compared
_COUNTED_ON = 5000  # rows on which k-means is run for each of many numbers of clusters
_TOGETHER = 2**16  # rows that are assigned to centres at once, so that memory does not grow
_QUICK_TOL = 1e-3  # of eigenvectors from which partitions are read


class Read(NamedTuple):
    """Partitions of one graph, their agreement, and eigenvectors from which those of a similar graph can start."""

    partitions: Partitions
    agreement: float
    block: Matrix


def read_graph(
    S: sparse.csr_array,
    kind: EmbeddingKind,
    q: int,
    n_clusters: int,
    n_init: int,
    rng: np.random.RandomState,
    start: Matrix | None = None,
    say: Callable[[str], None] | None = None,
) -> Read:
    """Return partitions of one graph, one per embedding of q eigenvectors, and how well they agree."""
    wide = ceil(1.5 * q)
    values, V, block = spectrum(S, wide + 1, firm=q, start=start, tol=_QUICK_TOL, say=say)
    rows: list[tuple[EmbeddingKind, int]] = [(kind, q)]
    if kind in ("auto", "merged"):
        rows = [("raw", q), ("soft", q), ("unit", q), ("commute", q), ("commute", wide)]
    tables = [embedded(values, V, one, columns) for one, columns in rows]
    starts = n_init if len(rows) == 1 else ceil(n_init / 4)
    find = partitions if len(V) <= _STARTS_ON else _many_partitions
    z = find(tables, [row_order(V)] * len(tables), n_clusters, n_init=starts, rng=rng)
    return Read(z, mean_agreement(z), block)


def spectrum(
    S: sparse.csr_array,
    q: int,
    *,
    firm: int | None = None,
    start: Matrix | None = None,
    tol: float = TOL,
    say: Callable[[str], None] | None = None,
) -> tuple[Vector, Matrix, Matrix]:
    """Return the q smallest eigenvalues of the Laplacian, in units of the mean degree, and their eigenvectors.

    The third result is where to `start` for a similar graph, which is faster. In large graphs eigenvectors after the
    first `firm` may be less accurate.
    """
    progress = None if say is None else StageProgress(say)
    found = bottom_spectrum(S, q, firm=firm, start=start, tol=tol, progress=progress)
    if not found.converged:
        msg = (
            f"The eigenvectors of the graph did not converge in {counted(found.n_iter, 'filter')} (residual "
            f"{found.residual:.1e} of the largest eigenvalue), so the clusters may be inaccurate: raise n_neighbors, "
            "or lower n_components."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=5)
    return found.values / (float(S.sum(dtype=np.float64)) / S.shape[0] or 1.0), found.vectors, found.block


class Spectra(NamedTuple):
    """Of several graphs the smallest eigenvalues and eigenvectors, and an order of the samples by each of them."""

    values: list[Vector]
    vectors: list[Matrix]
    order: list[NDArray[np.intp]]


def spectra(graphs: Sequence[sparse.csr_array], most: int, say: Callable[[str], None] | None = None) -> Spectra:
    """Return the `most` + 1 smallest eigenpairs of every graph, each started from those of the one before."""
    found = Spectra([], [], [])
    block: Matrix | None = None
    for S in graphs:
        small, V, block = spectrum(S, most + 1, start=block, tol=_QUICK_TOL)
        found.values.append(small)
        found.vectors.append(V)
        found.order.append(row_order(V))
        if say is not None:
            say(f"number of clusters: graph {len(found.values)} of {len(graphs)}")
    return found


def unit_partitions(
    of: Spectra, numbers: Sequence[int], rng: np.random.RandomState, *, n_init: int
) -> dict[int, Partitions]:
    """Return for each number of clusters one partition of every graph, by unit rows.

    If there are more than 5000 rows, k-means is run on a random 5000 of them, and the others are assigned to its
    centres: accurate enough to compare numbers.
    """
    found = {}
    for k in numbers:
        tables = [embedded(small, V, "unit", k) for small, V in zip(of.values, of.vectors, strict=True)]
        find = partitions if len(of.order[0]) <= _COUNTED_ON else _quick_partitions
        found[k] = find(tables, of.order, k, n_init=n_init, rng=rng)
    return found


def _quick_partitions(
    tables: Sequence[Matrix],
    order: Sequence[NDArray[np.intp]],
    n_clusters: int,
    *,
    n_init: int,
    rng: np.random.RandomState,
) -> Partitions:
    """Return the partitions of tables of many rows by centres of k-means on some of them."""
    n = len(order[0])
    drawn = [rows[np.sort(rng.choice(n, _COUNTED_ON, replace=False))] for rows in order]
    parts = [P[rows] for P, rows in zip(tables, drawn, strict=True)]
    known = partitions(parts, [np.arange(_COUNTED_ON)] * len(parts), n_clusters, n_init=n_init, rng=rng)
    found = np.empty((len(tables), n), dtype=np.int32)
    for P, part, z, labels in zip(tables, parts, known, found, strict=True):
        (centres,), _ = cluster_means(part, z[None], n_clusters)
        for i in range(0, n, _TOGETHER):
            labels[i : i + _TOGETHER] = vq(P[i : i + _TOGETHER], centres, check_finite=False)[0]
    return found


def _many_partitions(
    tables: Sequence[Matrix],
    order: Sequence[NDArray[np.intp]],
    n_clusters: int,
    *,
    n_init: int,
    rng: np.random.RandomState,
) -> Partitions:
    """Return the partitions of tables of many rows, as `partitions`."""
    found = np.empty((len(tables), len(order[0])), dtype=np.int32)
    for i, P in enumerate(tables):
        found[i, order[i]] = kmeans(P[order[i]], n_clusters, n_init=n_init, rng=rng)
    return found


def kmeans(P: Matrix, n_clusters: int, *, n_init: int, rng: np.random.RandomState) -> NDArray[np.int32]:
    """Return the best of `n_init` k-means partitions of the rows of P, compared in double precision.

    If there are more than 20,000 rows, the starts are compared on a random 20,000 of them. In single precision,
    rounding would often decide between partitions that are nearly as good.
    """
    from sklearn.cluster import KMeans

    P = P.astype(np.float64, copy=False)
    with config_context(assume_finite=True, skip_parameter_validation=True):  # a quarter of the time of k-means
        if len(P) <= _STARTS_ON:
            return np.asarray(KMeans(n_clusters, n_init=n_init, random_state=rng).fit_predict(P))
        part = P[rng.choice(len(P), _STARTS_ON, replace=False)]
        start = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(part).cluster_centers_
        return np.asarray(KMeans(n_clusters, init=start, n_init=1, random_state=rng).fit_predict(P))
