"""FastMICE: fast multi-view clustering via ensembles."""

from __future__ import annotations

from math import ceil
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Matrix, RandomStateLike, Samples
from kernelweave.baselines._table_clusterer import TableClusterer
from kernelweave.baselines.anchor_graph import bipartite_embedding, kmeans_anchors, quick_kmeans
from kernelweave.core.graphs.bipartite import nearest_columns
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.estimators._estimator import AT_LEAST_ONE, KernelModel
from kernelweave.samples.views import Views
from kernelweave.weave.graph_partitions import kmeans

__all__ = ["FastMICE", "ViewGroup", "anchor_affinity", "draw_group", "label_graph"]

_FEATURES = (0.2, 0.8)  # the least and the largest share of the features of a view that a group uses
_CANDIDATES = 10  # samples per anchor that k-means chooses anchors from
_ANCHOR_ITERATIONS, _BASE_ITERATIONS = 5, 5  # of k-means: few, so that the groups differ
_BLOCK = 4096


class FastMICE(TableClusterer):
    r"""Clusters many samples by an ensemble over random groups of views, features and anchors.

    Each of `n_groups` groups draws some of the views, and some features of each. Samples are joined to their nearest
    anchors in every view of the group, and the spectral partition of this bipartite graph into c to 2c clusters, c =
    `n_clusters`, is one base clustering (early fusion). The spectral partition of the bipartite graph between samples
    and all clusters of all groups gives the labels (late fusion).

    It is good for up to millions of samples in any number of views, without tuning: no parameter was chosen per data
    set in the paper. Time and memory are nearly linear in the number of samples: per group :math:`O(n p d)` operations
    for p anchors and d features, and k + 1 numbers per sample. Below a few thousand samples it is slower than dense
    methods, and its labels vary with the seed.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    n_groups : int, default=20
        The number of groups, and of base clusterings.
    n_anchors : int, default=1000
        The number of anchors of a group, divided among its views; at most the number of samples in each view.
    n_neighbors : int, default=5
        To how many anchors a sample is joined in a group, divided among its views and rounded up.
    metric : {"euclidean", "cosine"}, default="euclidean"
        How samples are compared with anchors; the authors suggest "cosine" for text.
    n_init : int, default=5
        How often the last k-means starts; the best partition is kept.
    random_state : int, RandomState or None, default=None
        Seed of the groups, the anchors and k-means.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    base_labels_ : array of shape (n_groups, n_samples)
        The base clusterings.
    embedding_ : array of shape (n_samples, n_clusters)
        The rows that the last k-means clustered.
    view_names_, view_shares_
        The views' names, "X" for one table, and the share of each, which are equal on average.
    n_features_in_ : int
        The number of features seen in `fit`, of all views together.

    Notes
    -----
    The defaults are those of the released program. It searches the nearest anchors approximately, through clusters of
    anchors; here the search is exact, which is linear in the number of samples too. A published
    figure is compared in benchmarks/published_figures.py.

    References
    ----------
    Huang, Wang, Lai: Fast Multi-view Clustering via Ensembles: Towards Scalability, Superiority, and Simplicity. IEEE
    Transactions on Knowledge and Data Engineering 35, 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import FastMICE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FastMICE(3, n_anchors=30, random_state=0).fit({"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> model.base_labels_.shape, model.labels_.shape
    ((20, 150), (150,))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_groups": [AT_LEAST_ONE],
        "n_anchors": [AT_LEAST_ONE],
        "metric": [StrOptions({"euclidean", "cosine"})],
    }
    _usual_anchors, _columns = 1000, 100

    base_labels_: NDArray[np.int32]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_groups: int = 20,
        n_anchors: int = 1000,
        n_neighbors: int = 5,
        metric: Literal["euclidean", "cosine"] = "euclidean",
        n_init: int = 5,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_groups = n_groups
        self.n_anchors = n_anchors
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, views: Views, rng: np.random.RandomState) -> dict[str, Any]:
        base = np.stack([self._base_labels(views, rng) for _ in range(self.n_groups)])
        P = unit_rows(bipartite_embedding(label_graph(base, views.dtype), self.n_clusters)[1])
        return {
            "labels_": kmeans(P, self.n_clusters, n_init=self.n_init, rng=rng),
            "base_labels_": base,
            "embedding_": P,
        }

    def _n_anchors(self, n_samples: int) -> int:
        return min(self.n_anchors, n_samples)

    def _base_labels(self, views: Views, rng: np.random.RandomState) -> NDArray[np.int32]:
        """Return the clusters of the bipartite graph of one random group."""
        n, group = views.n_samples, draw_group(views.widths, rng)
        m = ceil(self._n_anchors(n) / len(group.views))
        k = min(ceil(self.n_neighbors / len(group.views)), m)
        parts = []
        for v, columns in zip(group.views, group.columns, strict=True):
            X = views.tables[v][:, columns]
            X = _unit(X) if self.metric == "cosine" else X
            A = kmeans_anchors(X, m, candidates=_CANDIDATES * m, n_init=1, max_iter=_ANCHOR_ITERATIONS, rng=rng)
            parts.append(anchor_affinity(X, _unit(A) if self.metric == "cosine" else A, k, self.metric))
        B = sparse.csr_array(sparse.hstack(parts, format="csr"))
        c = min(int(rng.randint(self.n_clusters, 2 * int(self.n_clusters) + 1)), n, B.shape[1])
        P = unit_rows(bipartite_embedding(B, c)[1]).astype(np.float64, copy=False)
        return np.asarray(quick_kmeans(P, c, n_init=1, max_iter=_BASE_ITERATIONS, rng=rng).labels_, dtype=np.int32)


class ViewGroup(NamedTuple):
    """The views of a group, and the columns of each."""

    views: NDArray[np.intp]
    columns: list[NDArray[np.intp]]


def draw_group(widths: tuple[int, ...], rng: np.random.RandomState) -> ViewGroup:
    """Draw 1 to V of the V views, every number as likely, and between 0.2 and 0.8 of the columns of each."""
    views = np.sort(rng.choice(len(widths), rng.randint(1, len(widths) + 1), replace=False))
    counts = [ceil(rng.uniform(*_FEATURES) * widths[v]) for v in views]
    return ViewGroup(
        views, [np.sort(rng.choice(widths[v], k, replace=False)) for v, k in zip(views, counts, strict=True)]
    )


def anchor_affinity(X: Samples, A: Matrix, k: int, metric: Literal["euclidean", "cosine"]) -> sparse.csr_array:
    """B (n, m), entries at the k nearest anchors of every sample, rows of unit length.

    B_ij = exp(-D_ij / (2σ²)), D squared distances, σ the mean distance of all samples to these anchors; with rows at
    unit length ("cosine") B_ij = max(x_i'a_j, 0). An entry that is 0 becomes a tiny number, so that every sample is
    joined to an anchor.
    """
    n, m = X.shape[0], len(A)
    J, D = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=X.dtype)
    squares = np.einsum("ij,ij->i", A, A)
    for start in range(0, n, _BLOCK):
        rows = slice(start, start + _BLOCK)
        x = X[rows]
        own = np.asarray(x.multiply(x).sum(axis=1)).ravel() if sparse.issparse(x) else np.einsum("ij,ij->i", x, x)
        distances = np.maximum(np.asarray(x @ A.T) * -2 + own[:, None] + squares, 0)
        J[rows], D[rows] = nearest_columns(distances, k)
    if metric == "cosine":
        values = np.maximum(1 - D / 2, 0)
    else:
        scale = float(np.sqrt(D).mean(dtype=np.float64)) ** 2
        values = np.exp(-D / X.dtype.type(2 * scale)) if scale > 0 else np.ones_like(D)
    values = unit_rows(np.maximum(values, np.finfo(X.dtype).tiny ** 0.5))
    return sparse.csr_array((values.ravel(), J.ravel(), np.arange(0, n * k + 1, k)), shape=(n, m))


def label_graph(base: NDArray[np.int32], dtype: np.dtype[Any]) -> sparse.csr_array:
    """B (n, clusters of all base clusterings): 1 where a sample belongs to a cluster; `base` is (M, n)."""
    M, n = base.shape
    widths = base.max(axis=1) + 1
    columns = base + np.r_[0, np.cumsum(widths)[:-1]][:, None]
    data = np.ones(M * n, dtype=dtype)
    return sparse.csr_array((data, columns.T.ravel(), np.arange(0, M * n + 1, M)), shape=(n, int(widths.sum())))


def _unit(X: Samples) -> Samples:
    """Return the rows of X at unit length; a row of zeros stays as it is."""
    if not sparse.issparse(X):
        return unit_rows(X)
    size = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    inverse = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    return sparse.csr_array(sparse.diags_array(inverse) @ X)
