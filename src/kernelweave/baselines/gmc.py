"""GMC: graph-based multi-view clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._plural import counted
from kernelweave._types import Labels, Mask, Matrix, RandomStateLike, Vector
from kernelweave.baselines._kernel_clusterer import KernelClusterer
from kernelweave.baselines.adaptive_neighbours import neighbour_gaps, neighbour_start, shares_of
from kernelweave.baselines.view_distances import distance_bank, distances_by_view, need_every_sample
from kernelweave.core.algebra.simplex import project_simplex
from kernelweave.core.paper.closed_forms import embedding, label_distances
from kernelweave.estimators._estimator import KernelLike
from kernelweave.kernels.view_bank import Bank
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views
from kernelweave.weave.graph_partitions import kmeans

__all__ = ["GMC", "UnifiedGraph", "graph_start", "graph_weight", "unified_graph", "unified_step", "view_step"]

_LAMBDA = 1.0  # where the search for the weight of the rank term starts


class GMC(KernelClusterer):
    r"""Clusters as the connected components of one graph, learned with the graphs of all views and their weights.

    .. math:: \min_{S_v, U, F}\ \sum_v \left( \sum_{ij} d^v_{ij} s^v_{ij} + \sum_i \alpha^v_i \|s^v_i\|^2
              + w_v \|U - S_v\|_F^2 \right) + 2 \lambda\, \mathrm{Tr}(F^\top L_U F)

    with d the squared distances in view v; the rows of every :math:`S_v` and of U are at least 0 and sum to one,
    :math:`s^v_{ii} = 0`, U has edges only where a view has one, and :math:`F^\top F = I`. Every
    :math:`\alpha^v_i \ge 0` is the value with which a sample has `n_neighbors` neighbours in the view. The weights are
    :math:`w_v = 1 / (2 \|U - S_v\|_F)`; one view weighs 1. :math:`\lambda` starts at 1 and is doubled while U has
    fewer than `n_clusters` components, and halved while it has more, so that nothing is tuned.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : kernel, str or callable, default=None
        Whose distances count: None, those of the features as they are; a kernel, those of its space. "precomputed":
        `fit` takes Gram matrices. "distances": `fit` takes squared distances.
    n_neighbors : int, default=15
        How many neighbours a sample has in the graph of a view; at most n_samples - 2 are used.
    max_iter : int, default=30
        The most iterations.
    n_init : int, default=10
        How often k-means starts, where it is needed: see the notes.
    random_state : int, RandomState or None, default=None
        Seed of k-means, where it is needed.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    graph_ : array of shape (n_samples, n_samples)
        The unified graph U; rows sum to one.
    n_components_ : int
        The number of connected components of U; `n_clusters`, if the iterations were enough.
    embedding_ : array of shape (n_samples, n_clusters)
        F, the eigenvectors of the smallest eigenvalues of the Laplacian of U.
    view_weights_ : array of shape (n_views,)
        The weights w.
    view_names_, view_shares_
        The views' names, "X" for one table, and the weights scaled to sum to one.
    lam_ : float
        The weight :math:`\lambda` of the last iteration.
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        The number of features seen in `fit`, of all views together; of samples, if there are no features.

    Notes
    -----
    *Good for* views that each have clear neighbours, above all text, and for users without labels to tune on. The
    clusters may be very uneven: a few samples that are close to each other only become a cluster. Views that lack
    samples are refused. *Costs* an (n, n) matrix for each view and about nine more; each iteration sorts the rows
    of each view once, and computes `n_clusters` eigenvectors. It suits up to some thousand samples.

    The distances are added to the terms of the graph, so the unit of the features matters. The published figures are
    of features standardised for each sample (mean 0, deviation 1 over the columns of a view); ``kernel=Cosine()`` has
    much the same effect on text.

    If U does not fall into `n_clusters` components within `max_iter` iterations, a warning says so, and k-means on the
    rows of F finds the clusters. Every step is the exact minimum of the problem above. In the paper's algorithm the
    step of U drops the weights w from its quadratic term, the step of S orders the neighbours by distance alone, and
    :math:`\alpha` may become negative where samples coincide. The published accuracies on 3sources, BBCSport and WebKB
    are reached within .03 with the exact steps.

    References
    ----------
    Wang, Yang, Liu: GMC: Graph-Based Multi-View Clustering. IEEE Transactions on Knowledge and Data Engineering 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import GMC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GMC(2).fit({"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> model.n_components_, model.view_weights_.shape
    (2, (2,))
    """

    _of_matrices = ("precomputed", "distances")
    _matrices: ClassVar[float] = 9.0

    n_components_: int
    graph_: Matrix
    embedding_: Matrix
    view_weights_: Vector
    lam_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelLike = None,
        n_neighbors: int = 15,
        max_iter: int = 30,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    @classmethod
    def estimate_memory(cls, n_samples: int, *, n_kernels: int = 12, itemsize: int = 8) -> int:
        """Return about how many bytes a fit needs beyond its samples: distances, and what is made of them.

        Parameters
        ----------
        n_samples : int
            The number of samples.
        n_kernels : int, default=12
            The number of views, whose distances are all kept.
        itemsize : int, default=8
            The bytes of a distance, 4 in single precision; the graphs are in double precision in any case.

        Returns
        -------
        int
            Bytes, a rough figure.
        """
        return int((n_kernels * itemsize + cls._matrices * np.dtype(np.float64).itemsize) * int(n_samples) ** 2)

    def _build_kernels(self, samples: Views | KernelStack) -> tuple[Bank, Matrix]:
        """Return the bank, and the squared distances (v, n, n) of the samples in every view."""
        bank = distance_bank(self.kernel, samples)
        self._check_memory(samples, len(bank))
        need_every_sample("GMC", samples)
        return bank, np.stack(distances_by_view("GMC", self.kernel, samples))

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        D, c = H, self.n_clusters
        found = unified_graph(D, c, k=min(int(self.n_neighbors), D.shape[1] - 2), max_iter=self.max_iter)
        labels = found.components
        if found.n_components != c:
            parts = counted(found.n_components, "component")
            self._warn_cut_short(f"with a graph of {parts} instead of {c}, so that k-means found the clusters")
            labels = kmeans(found.F, c, n_init=self.n_init, rng=rng)
        return {
            "labels_": labels,
            "graph_": found.U.astype(D.dtype, copy=False),
            "n_components_": found.n_components,
            "embedding_": found.F.astype(D.dtype, copy=False),
            "view_weights_": found.w,
            "kernel_shares_": found.w / found.w.sum(),
            "lam_": found.lam,
            "n_iter_": found.n_iter,
        }


@dataclass(frozen=True, slots=True)
class UnifiedGraph:
    """U (n, n), its eigenvectors F (n, c), the weights w (v,) and λ that led to it, and its components."""

    U: Matrix
    F: Matrix
    w: Vector
    lam: float
    components: Labels
    n_components: int
    n_iter: int


def unified_graph(D: Matrix, c: int, *, k: int, max_iter: int) -> UnifiedGraph:
    """Update S, w, U and F in turn, from squared distances D (v, n, n), until U has c connected components.

    In double precision. If U has too many components, λ is reduced and F is not changed. Edges with weights of the
    size of rounding errors, as equal distances give, are removed.
    """
    w = np.full(len(D), 1 / len(D))
    U = graph_start(D, k)
    F = embedding(U, c)
    lam = _LAMBDA
    for n_iter in range(1, max_iter + 1):
        w, target, support = _fused_views(D, U, w, k)
        U = unified_step(target, support, F, lam / w.sum())
        U[_rounding(D) > U] = 0
        n_components, components = connected_components(sparse.csr_array(U), directed=False)
        if n_components == c or n_iter == max_iter:
            break
        if n_components < c:
            lam, F = 2 * lam, embedding(U, c)
        else:
            lam /= 2
    return UnifiedGraph(U, embedding(U, c), w, lam, components, int(n_components), n_iter)


def graph_start(D: Matrix, k: int) -> Matrix:
    """Return the mean over the views of s_ij = (d_{i,k+1} - d_ij) / (k d_{i,k+1} - Σ_{h<=k} d_ih), the k nearest of i.

    A view in which the nearest samples of i are equally near has no information about i and is left out for it. If this
    holds for every view, the first one is used.
    """
    U = np.zeros(D.shape[1:])
    told = np.zeros(len(U))
    for Dv in D:
        gaps, nearest, reach = neighbour_gaps(Dv.astype(np.float64), k)
        clear = gaps > k * 8 * np.finfo(D.dtype).eps * Dv.max()  # else the distances differ by rounding at most
        U[clear] += shares_of(Dv.astype(np.float64), gaps, nearest, reach)[clear]
        told += clear
    nothing = told == 0
    if nothing.any():
        U[nothing] = neighbour_start(D[0].astype(np.float64), k)[nothing]
    return U / np.maximum(told, 1)[:, None]


def _fused_views(D: Matrix, U: Matrix, w: Vector, k: int) -> tuple[Vector, Matrix, Mask]:
    """Return new weights, Σ_v w_v S_v / Σ_v w_v, and where a view has an edge; one S_v is held at a time."""
    weights = np.ones(len(D))
    target, support = np.zeros_like(U), np.zeros(U.shape, dtype=bool)
    for v, Dv in enumerate(D):
        S = view_step(Dv, U, w[v], k)
        if len(D) > 1:
            weights[v] = graph_weight(U, S)
        target += weights[v] * S
        support |= _rounding(D) < S
    target /= weights.sum()
    return weights, target, support


def _rounding(D: Matrix) -> float:
    """Return what is not told from 0 in a row that sums to one."""
    return float(np.finfo(D.dtype).eps ** (2 / 3))


def view_step(D: Matrix, U: Matrix, w: float, k: int) -> Matrix:
    """Return argmin <D, S> + Σ_i α_i ||s_i||² + w ||U - S||², S >= 0, S1 = 1, diag S = 0.

    That is <E, S> + Σ_i (α_i + w) ||s_i||² with E = D - 2wU. α_i is the value with which row i has k neighbours, or 0,
    where more than k neighbours are so near that it would have to be negative.
    """
    E = D - 2 * w * U
    gaps, nearest, reach = neighbour_gaps(E, k)
    S = shares_of(E, gaps, nearest, reach)
    rounding = 8 * k * np.finfo(E.dtype).eps * np.abs(reach[:, 0])  # of a sum of k distances
    near = gaps < np.maximum(2 * w, rounding)
    if near.any():
        others = ~np.eye(len(E), dtype=bool)
        S[near] = project_simplex(E[near].T / (-2 * w), free=others[near].T).T
    return S


def graph_weight(U: Matrix, S: Matrix) -> float:
    """Return w = 1 / (2 ||U - S||), finite where the two are equal."""
    floor = np.sqrt(np.finfo(np.float64).eps) * np.linalg.norm(S)
    return float(1 / (2 * max(np.linalg.norm(U - S), floor)))


def unified_step(target: Matrix, support: Mask, F: Matrix, lam: float) -> Matrix:
    """Return argmin ||U - T||² + 2λ Tr(F'L_U F), U >= 0, U1 = 1, on a support: u_i = Π(t_i - λ/2 ||f_i - f_j||²)."""
    Q = target - lam / 2 * label_distances(F, squared=True)
    return np.ascontiguousarray(project_simplex(Q.T, free=support.T).T)
