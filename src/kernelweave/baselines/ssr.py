"""SSR: simplex sparse representation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave._types import Matrix, RandomStateLike, Vector
from kernelweave.baselines._spectral_step import Init, LaplacianKind, SpectralClusterer, spectral_rows
from kernelweave.core.algebra.centring import centre
from kernelweave.core.algebra.matrices import symmetric_part
from kernelweave.estimators._estimator import KernelLike
from kernelweave.kernels import Linear

__all__ = ["SSR", "SimplexCodes", "move_weight", "simplex_codes"]

_CHECK_EVERY = 10  # steps: the certificate costs about as much as one
_FORBIDDEN = 1e300  # the gradient of a sample's own entry, which must stay 0


class SSR(SpectralClusterer):
    r"""Clusters from a graph in which every sample is a convex combination of the others.

    .. math:: \min_A\ \tfrac{1}{2} \sum_i \Bigl\| \phi(x_i) - \sum_j A_{ji} \phi(x_j) \Bigr\|^2
              \quad \text{s.t. } A \ge 0,\ \mathbf 1^\top A = \mathbf 1^\top,\ A_{ii} = 0,

    where :math:`\phi` is the identity for the default kernel; then spectral clustering of :math:`(A + A^\top)/2`.
    There is no parameter: the l1 norm is constant on the simplex, and codes are sparse without a penalty.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : kernel, str or callable, default=None
        The inner products of samples: a `Kernel`, the name of a scikit-learn metric, a function of two samples, or
        "precomputed": then `fit` takes their (n, n) Gram matrix. None is ``Linear()``, the samples as they are.
    laplacian : {"unnormalized", "njw"}, default="njw"
        The spectral step, as in `KernelSpectralClustering`.
    max_iter : int, default=10000
        The most steps of the solver.
    tol : float, default=1e-6
        A sample is done when its objective is proved to be within this part of the data's variance of its minimum.
    init : {"k-means++", "released"}, default="k-means++"
        How k-means starts, as in `KernelSpectralClustering`.
    n_init : int, default=10
        How often k-means starts; the best partition is kept.
    random_state : int, RandomState or None, default=None
        Seed of k-means.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    representation_ : array of shape (n_samples, n_samples)
        A; column i holds the weights that represent sample i.
    certificate_ : float
        How far the objective of one sample is from its minimum at most (a duality gap), for the worst sample.
    objective_ : float
        The objective, half the sum of squared errors of representation.
    graph_ : array of shape (n_samples, n_samples)
        The affinity.
    embedding_ : array of shape (n_samples, n_clusters)
        The rows that k-means clustered.
    n_iter_ : int
        The number of steps until the last sample was done.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if the kernel is "precomputed".

    Notes
    -----
    The problem is the published one, but solver and spectral step are not those of the original program, which was
    not available. The solver moves weight between two samples at a time, by the best step for the best pair,
    for all columns at once and in double precision; on the paper's data that takes a small part of the time of
    projected gradients. Published figures are single runs, and depend on the spectral step.

    A sample that occurs twice is expressed by its copy alone, so that the graph falls apart: drop copies first.

    References
    ----------
    Huang, Nie, Huang: A New Simplex Sparse Learning Model to Measure Data Similarity for Clustering. IJCAI 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import SSR
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SSR(3, random_state=0).fit(X)
    >>> bool(abs(model.representation_.sum(axis=0) - 1).max() < 1e-12), model.certificate_ < 1e-4
    (True, True)
    """

    _default_kernel = Linear()
    _only_kernels = True

    representation_: Matrix
    certificate_: float
    objective_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelLike = None,
        laplacian: LaplacianKind = "njw",
        max_iter: int = 10_000,
        tol: float = 1e-6,
        init: Init = "k-means++",
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.laplacian = laplacian
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        codes = simplex_codes(H[0].astype(np.float64), tol=self.tol, max_iter=self.max_iter)
        A, certificate = codes.A.astype(H.dtype), float(codes.gaps.max())
        if not codes.converged:
            self._warn_cut_short(f"with certificate {certificate:.2g}")
        S = symmetric_part(A)
        P = spectral_rows(S, self.n_clusters, self.laplacian)
        return {
            "labels_": self._rows_clustered(P, rng),
            "representation_": A,
            "certificate_": certificate,
            "objective_": float(codes.objectives.sum()),
            "n_iter_": codes.n_iter,
            "graph_": S,
            "embedding_": P,
        }


@dataclass(frozen=True, slots=True)
class SimplexCodes:
    """A (n, n), and for every column its objective and the bound of its distance to the minimum."""

    A: Matrix
    objectives: Vector
    gaps: Vector
    n_iter: int
    converged: bool


def simplex_codes(G: Matrix, *, tol: float, max_iter: int) -> SimplexCodes:
    """Minimise ½a'Ga - g_i'a, a >= 0, Σa = 1, a_i = 0, for every column i of G (float64), which is centred in place.

    Every sample starts at its nearest neighbour and moves weight between two others at a time. It is done when its
    duality gap, a bound of its distance to the minimum, is at most `tol` times the mean of G_ii, or rounding.
    """
    n = len(G)
    rounding = float(16 * np.finfo(G.dtype).eps * np.abs(G).max(initial=0))
    centre(G)  # the minimum does not change, as Σa = 1, and fewer digits are lost
    k = G.diagonal().copy()
    enough = max(tol * float(k.mean()), rounding)
    D = np.maximum(k[:, None] + k - 2 * G, np.finfo(G.dtype).tiny)
    near = np.where(np.eye(n, dtype=bool), np.inf, D).argmin(axis=1)
    codes = np.zeros_like(G)  # a row per sample, as steps go through memory by rows
    codes[np.arange(n), near] = 1
    running, a, g = np.arange(n), codes.copy(), G[near] - G
    np.fill_diagonal(g, _FORBIDDEN)
    iteration = 0
    while True:
        if iteration % _CHECK_EVERY == 0 or iteration == max_iter:
            left = _objectives_and_gaps(a, g, G[running], k[running])[1] > enough
            codes[running[~left]] = a[~left]
            running, a, g = running[left], a[left], g[left]
        if not len(running) or iteration == max_iter:
            break
        move_weight(a, g, G, D)
        iteration += 1
    codes[running] = a
    gradient = codes @ G - G
    np.fill_diagonal(gradient, _FORBIDDEN)
    return SimplexCodes(codes.T, *_objectives_and_gaps(codes, gradient, G, k), iteration, not len(running))


def move_weight(a: Matrix, g: Matrix, G: Matrix, D: Matrix) -> None:
    """Move weight in every row a, in place, from q to p, where the gradient g is least: as much as is best, or all.

    Among the samples with weight, q is the one that gains most, (g_q - g_p)² / ||x_p - x_q||².
    """
    rows = np.arange(len(a))
    p = g.argmin(axis=1)
    slope = np.where(a > 0, g - g[rows, p][:, None], 0)
    with np.errstate(over="ignore"):  # copies up to rounding: all weight moves
        q = (slope**2 / D[p]).argmax(axis=1)
        step = np.minimum(a[rows, q], slope[rows, q] / D[p, q])
    a[rows, q] -= step
    a[rows, p] += step
    g += step[:, None] * (G[p] - G[q])


def _objectives_and_gaps(a: Matrix, g: Matrix, B: Matrix, k: Vector) -> tuple[Vector, Vector]:
    """Return f = ½||e||² and f - max(0, m)²/(4f), m = min_j e'(x_i - x_j), of every row, with e = x_i - Xa its error.

    s·e is dual feasible for every s >= 0, with the value s·m - s²f. At s = 1 the gap is g'a - min_j g_j; at the best
    s it is never larger, and falls like f, not √f, for a sample that others represent without error.
    """
    inner = np.einsum("ij,ij->i", a, g)
    f = np.maximum((inner + k - np.einsum("ij,ij->i", a, B)) / 2, np.finfo(k.dtype).tiny)
    m = 2 * f - np.maximum(inner - g.min(axis=1), 0)  # the mean of g by a is not below its minimum but for rounding
    return f, f - np.maximum(m, 0) ** 2 / (4 * f)
