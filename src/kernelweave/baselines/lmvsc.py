"""LMVSC: large-scale multi-view subspace clustering with anchors."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Matrix, RandomStateLike, Samples, Vector
from kernelweave.baselines._kernel_clusterer import warn_cut_short
from kernelweave.baselines._table_clusterer import TableClusterer
from kernelweave.baselines.anchor_graph import bipartite_embedding, kmeans_anchors
from kernelweave.baselines.ssr import move_weight
from kernelweave.estimators._estimator import AT_LEAST_ONE, KernelModel
from kernelweave.samples.views import Views
from kernelweave.weave.graph_partitions import kmeans

__all__ = ["LMVSC", "AnchorCodes", "anchor_codes", "code_gaps"]

_ANCHORS = 100  # the largest number that the released program tries
_ANCHOR_STARTS, _ANCHOR_ITERATIONS = 10, 100  # of k-means, as in the released program
_BLOCK = 4096  # samples whose programs are solved at once
_CHECK_EVERY = 10


class LMVSC(TableClusterer):
    r"""Clusters many samples by representing each, in every view, as a convex combination of a few anchors.

    .. math:: \min_{Z_v}\ \|X_v - Z_v A_v\|_F^2 + \alpha s_v \|Z_v\|_F^2 \quad \text{s.t. } Z_v \ge 0,\ Z_v 1 = 1,

    with :math:`A_v` the k-means centres of view v: one small quadratic program per sample. The left singular vectors of
    :math:`[Z_1 \Sigma_1^{-1/2}, \ldots, Z_V \Sigma_V^{-1/2}] / \sqrt V`, where :math:`\Sigma_v` holds the column sums
    of :math:`Z_v`, are clustered by k-means.

    It is good for up to millions of samples in a few views of comparable quality. Time and memory are linear in the
    number of samples: :math:`O(n m (d + m))` operations for m anchors and d features, and an (n, m) matrix per view.
    All views count the same, so that a bad one does harm, and results depend on `alpha` and on the number of anchors,
    which the released program searches.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    n_anchors : int or "auto", default="auto"
        The number of anchors of every view, at most that of samples. "auto" is 100, or a fifth of the samples if that
        is less, but at least `n_clusters`; the released program tries the number of clusters, 50 and 100.
    alpha : float, default=1.0
        Weight of the ridge, in units of :math:`s_v`, the mean squared distance of the samples of a view to their mean:
        so the units of the features do not matter. The paper's α is this times :math:`s_v`; the released program tries
        0.01, 1 and 100.
    max_iter : int, default=10000
        The most steps of the solver of the quadratic programs.
    tol : float, default=1e-6
        A sample is done when its objective is proved to be within this part of :math:`s_v` of its minimum.
    n_init : int, default=10
        How often k-means starts; the best partition is kept.
    random_state : int, RandomState or None, default=None
        Seed of the anchors and of k-means.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    embedding_ : array of shape (n_samples, n_clusters)
        The left singular vectors, the rows that k-means clustered.
    anchors_ : list of arrays of shape (n_anchors, n_features)
        The anchors of every view.
    certificate_ : float
        How far the objective of one sample is from its minimum at most, in units of :math:`s_v`, for the worst sample.
    objective_ : float
        The objective, summed over all views.
    n_iter_ : int
        The number of steps until the last sample was done.
    view_names_, view_shares_
        The views' names, "X" for one table, and the share of each, which are equal.
    n_features_in_ : int
        The number of features seen in `fit`, of all views together.

    Notes
    -----
    The released program leaves out the scaling by column sums. Published figures differ by a factor of two
    between papers, depend on α and the number of anchors chosen with the labels, and on preprocessing that is mostly
    not stated. Two of them are compared in benchmarks/published_figures.py.

    References
    ----------
    Kang, Zhou, Zhao, Shao, Han, Xu: Large-scale Multi-view Subspace Clustering in Linear Time. AAAI 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import LMVSC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LMVSC(3, random_state=0).fit({"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> [A.shape for A in model.anchors_], model.certificate_ < 1e-6
    ([(30, 2), (30, 2)], True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelModel._parameter_constraints,
        "n_anchors": [AT_LEAST_ONE, StrOptions({"auto"})],
    }
    _usual_anchors, _columns = _ANCHORS, 2 * _ANCHORS

    anchors_: list[Matrix]
    certificate_: float
    objective_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_anchors: int | Literal["auto"] = "auto",
        alpha: float = 1.0,
        max_iter: int = 10_000,
        tol: float = 1e-6,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, views: Views, rng: np.random.RandomState) -> dict[str, Any]:
        n = views.n_samples
        m = self._n_anchors(n)
        anchors = [
            kmeans_anchors(X, m, candidates=n, n_init=_ANCHOR_STARTS, max_iter=_ANCHOR_ITERATIONS, rng=rng)
            for X in views.tables
        ]
        found = [
            anchor_codes(X, A, alpha=self.alpha, tol=self.tol, max_iter=self.max_iter)
            for X, A in zip(views.tables, anchors, strict=True)
        ]
        worst = max(codes.gap for codes in found)
        if not all(codes.converged for codes in found):
            warn_cut_short(self, f"with certificate {worst:.2g}")
        Z = np.hstack([codes.Z for codes in found]) / len(found)  # rows sum to one: P is the paper's, in P'P = I
        _, P = bipartite_embedding(Z.astype(views.dtype, copy=False), self.n_clusters)
        return {
            "labels_": kmeans(P, self.n_clusters, n_init=self.n_init, rng=rng),
            "embedding_": P,
            "anchors_": anchors,
            "certificate_": worst,
            "objective_": float(sum(codes.objective for codes in found)),
            "n_iter_": max(codes.n_iter for codes in found),
        }

    def _n_anchors(self, n_samples: int) -> int:
        if self.n_anchors == "auto":
            return max(self.n_clusters, min(_ANCHORS, n_samples // 5))
        return min(int(self.n_anchors), n_samples)


class AnchorCodes(NamedTuple):
    """Z (n, m), its objective, the largest bound of a row's distance to its minimum over s, the steps, and the end."""

    Z: Matrix
    objective: float
    gap: float
    n_iter: int
    converged: bool


def anchor_codes(X: Samples, A: Matrix, *, alpha: float, tol: float, max_iter: int) -> AnchorCodes:
    """Minimise ‖x - A'z‖² + α s ‖z‖², z >= 0, Σz = 1, for every row x; s is the mean ‖x - mean‖², or 1 if it is 0.

    In double precision, with the mean of the anchors at the origin, which changes nothing as Σz = 1.
    """
    centre = A.mean(axis=0, dtype=np.float64)
    A = A.astype(np.float64) - centre
    s = _spread(X) or 1.0
    G = A @ A.T
    G.flat[:: len(G) + 1] += alpha * s
    Z = np.empty((X.shape[0], len(A)))
    objective, gap, steps, converged = 0.0, 0.0, 0, True
    for start in range(0, len(Z), _BLOCK):
        x = X[start : start + _BLOCK]
        x = (x.toarray() if sparse.issparse(x) else x).astype(np.float64) - centre
        b = x @ A.T
        Z[start : start + _BLOCK], n_iter, done = _solved(G, b, enough=tol * s / 2, max_iter=max_iter)
        z = Z[start : start + _BLOCK]
        objective += float(np.einsum("ij,ij->", z @ G - 2 * b, z) + np.einsum("ij,ij->", x, x))
        gap = max(gap, 2 * float(code_gaps(G, b, z).max()) / s)
        steps, converged = max(steps, n_iter), converged and done
    return AnchorCodes(Z, objective, gap, steps, converged)


def code_gaps(G: Matrix, b: Matrix, z: Matrix) -> Vector:
    """Return g'z - min_j g_j, g = Gz - b, of every row: a bound of ½z'Gz - b'z minus its minimum on the simplex."""
    g = z @ G - b
    return np.asarray(np.einsum("ij,ij->i", g, z) - g.min(axis=1))


def _solved(G: Matrix, b: Matrix, *, enough: float, max_iter: int) -> tuple[Matrix, int, bool]:
    """Return the rows z that minimise ½z'Gz - b'z on the simplex, the number of steps, and whether all are done.

    Every row starts at one anchor, and weight moves between two anchors at a time, as in SSR.
    """
    k = G.diagonal()
    D = np.maximum(k[:, None] + k - 2 * G, np.finfo(np.float64).tiny)
    rounding = 64 * np.finfo(np.float64).eps * float(max(np.abs(G).max(), np.abs(b).max()))
    first = (k / 2 - b).argmin(axis=1)
    Z = np.zeros_like(b)
    Z[np.arange(len(b)), first] = 1
    running, z, g = np.arange(len(b)), Z.copy(), G[first] - b
    for step in range(max_iter + 1):
        if step % _CHECK_EVERY == 0 or step == max_iter:
            left = np.einsum("ij,ij->i", g, z) - g.min(axis=1) > max(enough, rounding)
            Z[running[~left]] = z[~left]
            running, z, g = running[left], z[left], g[left]
            if not len(running):
                return Z, step, True
        if step < max_iter:
            move_weight(z, g, G, D)
    Z[running] = z
    return Z, max_iter, False


def _spread(X: Samples) -> float:
    """Return the mean squared distance of the rows of X to their mean, in double precision; 0 if that is rounding."""
    if not sparse.issparse(X):
        spread, size = float(X.var(axis=0, dtype=np.float64).sum()), float(np.abs(X).max()) ** 2 * X.shape[1]
    else:
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        size = float((X.data.astype(np.float64) ** 2).sum()) / X.shape[0]
        spread = size - float(mean @ mean)
    return spread if spread > 64 * np.finfo(X.dtype).eps ** 2 * size else 0.0
