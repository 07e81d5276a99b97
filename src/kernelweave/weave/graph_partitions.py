"""From one graph to partitions: its spectrum, several embeddings, and k-means in each.

The partitions do not depend on the order of the samples: before k-means they are sorted by their coordinates. Letters:
V eigenvectors of the Laplacian, P the embedding made of q of them.
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
from kernelweave.core.graphs.coordinates import bottom_spectrum, commute_rows, soft_rows, unit_rows
from kernelweave.core.partitions.agreement import Partitions, mean_agreement
from kernelweave.weave.plan import EmbeddingKind
from kernelweave.weave.progress import StageProgress

__all__ = ["agreeing_partitions", "embedded", "kmeans", "partitions", "spectrum", "trusted", "wide"]

_STARTS_ON = 20_000  # rows on which starts of k-means are compared
_LEAST_AGREEMENT = 1e-3
_POWER, _POWER_OF_FEW = 8.0, 16.0  # of the agreement; with few columns there are more graphs to choose from


def agreeing_partitions(
    S: sparse.csr_array,
    kind: EmbeddingKind,
    q: int,
    n_clusters: int,
    n_init: int,
    rng: np.random.RandomState,
    say: Callable[[str], None] | None = None,
) -> tuple[Partitions, float, Matrix]:
    """Return partitions of one graph, one per embedding of q eigenvectors, their agreement, and the eigenvectors."""
    rows = _rows(kind, q)
    values, V = spectrum(S, wide(q) + 1, say, firm=q)
    starts = n_init if len(rows) == 1 else ceil(n_init / 4)
    z = partitions(values, V, rows, n_clusters, n_init=starts, rng=rng)
    return z, mean_agreement(z), V


def trusted(agreement: float, *, few_columns: bool = False) -> float:
    """Return how much a graph counts whose partitions agree this well: a power of the mean adjusted Rand index."""
    return float(max(agreement, _LEAST_AGREEMENT) ** (_POWER_OF_FEW if few_columns else _POWER))


def _rows(kind: EmbeddingKind, q: int) -> list[tuple[EmbeddingKind, int]]:
    """Return the embeddings to cluster, each with its number of columns."""
    if kind in ("auto", "merged"):
        return [("raw", q), ("soft", q), ("unit", q), ("commute", q), ("commute", wide(q))]
    return [(kind, q)]


def spectrum(
    S: sparse.csr_array,
    q: int,
    say: Callable[[str], None] | None = None,
    start: Matrix | None = None,
    firm: int | None = None,
) -> tuple[Vector, Matrix]:
    """Return the q smallest eigenvalues of the Laplacian, in units of the mean degree, and their eigenvectors.

    More than q eigenvectors of a similar graph are where to `start`, which is faster. In large graphs those after the
    first `firm` may be less accurate.
    """
    found = bottom_spectrum(S, q, firm=firm, start=start, progress=None if say is None else StageProgress(say))
    if not found.converged:
        msg = (
            f"The eigenvectors of the graph did not converge in {counted(found.n_iter, 'filter')} (residual "
            f"{found.residual:.1e} of the largest eigenvalue), so the clusters may be inaccurate: raise n_neighbors, "
            "or lower n_components."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=5)
    return found.values / (float(S.sum(dtype=np.float64)) / S.shape[0] or 1.0), found.vectors


def wide(q: int) -> int:
    """Return the number of columns of the widest embedding that is merged: 1.5 times the number requested."""
    return ceil(1.5 * q)


def embedded(values: Vector, V: Matrix, kind: EmbeddingKind, q: int) -> Matrix:
    """Return P (n, q): eigenvectors as they are, with normalised rows, or scaled to commute times."""
    if kind == "commute":  # without the constant eigenvector, whose eigenvalue is 0
        return commute_rows(values[: q + 1], V[:, : q + 1])
    rescale: Callable[[Matrix], Matrix] = {"unit": unit_rows, "soft": soft_rows}.get(kind, np.asarray)
    return rescale(V[:, :q] if q > 1 else V[:, 1:2])  # the first eigenvector is constant


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
