"""SNF: similarity network fusion."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Matrix, RandomStateLike
from kernelweave.baselines._spectral_step import Init, SpectralClusterer, spectral_rows
from kernelweave.baselines.neighbour_similarity import SimilarityScheme, normal_density, pair_scales, strongest_shares
from kernelweave.baselines.view_distances import distance_bank, distances_by_view, need_every_sample
from kernelweave.core.algebra.matrices import symmetric_part
from kernelweave.estimators._estimator import KernelLike, Number
from kernelweave.kernels.view_bank import Bank
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = ["SNF", "fused_network", "similarity_network", "status_matrix"]


class SNF(SpectralClusterer):
    r"""Clusters of one similarity network, to which the networks of all views were fused by diffusion.

    With :math:`\rho` the distance of two samples in a view, :math:`\varepsilon_{ij}` the mean of :math:`\rho_{ij}` and
    of the mean distances of i and j to their nearest neighbours, and :math:`\sigma = \mu \varepsilon`,

    .. math:: W_{ij} = \frac{1}{\sqrt{2 \pi} \sigma_{ij}} \exp\left( -\frac{\rho_{ij}^2}{2 \sigma_{ij}^2} \right), \quad
              P_{ij} = \frac{W_{ij}}{2 \sum_{k \ne i} W_{ik}},\ P_{ii} = \tfrac{1}{2}, \quad
              S_{ij} = \frac{P_{ij}}{\sum_{k \in N_i} P_{ik}},\ j \in N_i,

    where :math:`N_i` holds the `n_neighbors` largest entries of row i, that of i among them. Then all views at once,
    `n_iter` times, followed by the normalisation of P and the mean with its transpose:

    .. math:: P^{(v)} \leftarrow S^{(v)} \left( \frac{1}{V - 1} \sum_{u \ne v} P^{(u)} \right) S^{(v)\top}.

    The mean over the views, normalised once more, is clustered by spectral clustering.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : kernel, str or callable, default=None
        Whose distances count: None, those of the features as they are; a kernel, those of its space. "precomputed":
        `fit` takes Gram matrices. "distances": `fit` takes squared distances.
    n_neighbors : int, default=20
        The number K of neighbours; at most n_samples - 1 are used.
    mu : float, default=0.5
        The width of the similarities; the paper recommends 0.3 to 0.8.
    n_iter : int, default=20
        How often the networks exchange their similarities.
    scheme : {"released", "printed"}, default="released"
        The similarities: the density above, that of the released program SNFtool; or
        :math:`\exp(-\rho^2 / (\mu \varepsilon))` as printed in the paper, which depends on the unit of the features.
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
    graph_ : array of shape (n_samples, n_samples)
        The fused network.
    embedding_ : array of shape (n_samples, n_clusters)
        The rows that k-means clustered.
    view_names_, view_shares_
        The views' names, "X" for one table, and their shares, which are equal: SNF learns no weights.
    n_iter_ : int
        The number of exchanges: `n_iter`, or 0 for one view, which has no other to exchange with.
    n_features_in_ : int
        The number of features seen in `fit`, of all views together; of samples, if there are no features.

    Notes
    -----
    *Good for* a few views of comparable quality in which different samples are clear, such as omics of the same
    patients; similarities that only one view has fade away. All views count alike, so a view of noise does harm.
    Views that lack samples are refused: use `NEMO`. *Costs* an (n, n) matrix for each view and a few more; each
    exchange takes about 2 n² K multiplications for each view.

    The features are taken as they are; published examples standardise every column first. SNFtool reads the clusters
    by rotating the eigenvectors of the normalised Laplacian to indicators, here k-means clusters their rows.

    References
    ----------
    Wang, Mezlini, Demir, Fiume, Tu, Brudno, Haibe-Kains, Goldenberg: Similarity network fusion for aggregating data
    types on a genomic scale. Nature Methods 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import SNF
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SNF(3, random_state=0).fit({"sepal": X[:, :2], "petal": X[:, 2:]})
    >>> model.graph_.shape, bool((model.graph_ == model.graph_.T).all())
    ((150, 150), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SpectralClusterer._parameter_constraints,
        "mu": [Number(Real, 1e-6, 1e6, closed="both")],  # of the distances; exp(-1/mu²) must not be all 0
        "n_iter": SpectralClusterer._parameter_constraints["max_iter"],
        "scheme": [StrOptions({"released", "printed"})],
    }
    _of_matrices = ("precomputed", "distances")
    _matrices: ClassVar[float] = 8.0

    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelLike = None,
        n_neighbors: int = 20,
        mu: float = 0.5,
        n_iter: int = 20,
        scheme: SimilarityScheme = "released",
        init: Init = "k-means++",
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.n_iter = n_iter
        self.scheme = scheme
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _build_kernels(self, samples: Views | KernelStack) -> tuple[Bank, Matrix]:
        """Return the bank, and the squared distances (v, n, n) of the samples in every view."""
        bank = distance_bank(self.kernel, samples)
        self._check_memory(samples, len(bank))
        need_every_sample("SNF", samples)
        return bank, np.stack(distances_by_view("SNF", self.kernel, samples))

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        k = min(int(self.n_neighbors), H.shape[1] - 1)
        for D in H:
            D[:] = similarity_network(np.sqrt(D), k, mu=self.mu, scheme=self.scheme)
        W = fused_network(H, k, n_iter=self.n_iter)
        P = spectral_rows(W, self.n_clusters, "njw")
        return {
            "labels_": self._rows_clustered(P, rng),
            "graph_": W,
            "embedding_": P,
            "n_iter_": self.n_iter if len(H) > 1 else 0,
        }


def similarity_network(R: Matrix, k: int, *, mu: float, scheme: SimilarityScheme) -> Matrix:
    """Return W from distances R: the density of σ = μ ε, or as printed exp(-R²/(μ ε))."""
    E = pair_scales(R, k)
    return normal_density(R, mu * E) if scheme == "released" else np.exp(-(R**2) / (mu * E))


def status_matrix(W: Matrix) -> Matrix:
    """P_ij = W_ij / (2 Σ_{k≠i} W_ik), P_ii = ½, and the mean with its transpose."""
    d = W.sum(axis=1) - W.diagonal()
    P = W / np.where(d > 0, 2 * d, 1)[:, None]
    np.fill_diagonal(P, 0.5)
    return symmetric_part(P)


def fused_network(W: Matrix, k: int, *, n_iter: int) -> Matrix:
    """Return the fused network of similarities W (v, n, n), which are overwritten; one view has nothing to fuse."""
    P = W
    for v, Wv in enumerate(W):
        P[v] = status_matrix(Wv)
    S = [sparse.csr_array(strongest_shares(Pv, k)) for Pv in P]
    for _ in range(n_iter if len(P) > 1 else 0):
        total = P.sum(axis=0)
        for v, Sv in enumerate(S):
            others = (total - P[v]) / (len(P) - 1)
            P[v] = status_matrix(Sv @ (Sv @ others).T)  # S M S', as M is symmetric
    return status_matrix(P.mean(axis=0))
