"""Clustering with the SMKL family: SMKL, KGL (one kernel) and PMKL (parametrised weights)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from kernelweave._types import Dtype, RandomStateLike
from kernelweave.estimators._docs import documented
from kernelweave.estimators._estimator import KernelLike, KernelsLike
from kernelweave.estimators._learned import PMKL_CONSTRAINTS, LearnedClusterer, SchemeName
from kernelweave.samples.scaling import Scale
from kernelweave.samples.view_columns import ColumnsLike
from kernelweave.solve import GammaLike, NeighborsLike, Scheme, kgl, pmkl, smkl

__all__ = ["KGLClustering", "PMKLClustering", "SMKLClustering"]


@documented
class SMKLClustering(LearnedClusterer):
    r"""Clusters from a graph learned together with a consensus of several self-weighted kernels.

    .. math:: \min_{S, P, K}\ \mathrm{Tr}(K - 2KS + S^\top K S) + \gamma \|S\|_F^2 + \alpha\,\mathrm{Tr}(P^\top L P)
              + \beta \sum_i w_i \|H_i - K\|_F^2

    .. math:: \text{s.t. } P^\top P = I,\ S \ge 0,

    with :math:`w_i = 1 / (2 \|H_i - K\|_F)`: a kernel near the consensus K gets a large weight by itself.

    Parameters
    ----------
    %(n_clusters)
    %(kernels: default=released-12)
    %(scale)
    %(alpha: P=embedding)
    %(betas)
    %(gamma: gamma=1)
    %(n_neighbors)
    %(scheme)
    %(partition)
    %(run)

    Attributes
    ----------
    %(memberships: how=by the clusters of its neighbours and by its place in the embedding.)
    %(weights_of_the_model: weights=w of the paper; `kernel_shares_` is the same scaled to sum to one.)
    %(solution: width=n_clusters | embedding=The eigenvectors P that k-means clustered.)

    References
    ----------
    Kang, Lu, Yi, Xu: Self-weighted Multiple Kernel Learning for Graph-based Clustering and Semi-supervised
    Classification. IJCAI 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import SMKLClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SMKLClustering(n_clusters=3, random_state=0).fit(X)
    >>> model.labels_.shape, model.outcome_.value
    ((150,), 'The graph stopped changing.')
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: KernelsLike = "released-12",
        views: Mapping[str, ColumnsLike] | None = None,
        scale: Scale | Mapping[str, Scale] = "auto",
        alpha: float = 1e-5,
        beta: float | None = None,
        relative_beta: float | None = None,
        gamma: float = 1,
        n_neighbors: NeighborsLike = "auto",
        scheme: SchemeName = "safeguarded",
        max_iter: int = 100,
        tol: float = 1e-5,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Dtype = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.views = views
        self.scale = scale
        self.alpha = alpha
        self.beta = beta
        self.relative_beta = relative_beta
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.scheme = scheme
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def _scheme(self) -> Scheme:
        return smkl(
            self.scheme,
            alpha=self.alpha,
            gamma=self.gamma,
            classify=False,
            beta=self.beta,
            relative_beta=self.relative_beta,
            n_neighbors=self.n_neighbors,
        )


@documented
class KGLClustering(LearnedClusterer):
    r"""Clusters from a graph learned on one kernel.

    .. math:: \min_{S, P}\ \mathrm{Tr}(K - 2KS + S^\top K S) + \gamma \|S\|_F^2 + \alpha\,\mathrm{Tr}(P^\top L P)
              \quad \text{s.t. } P^\top P = I,\ S \ge 0.

    Parameters
    ----------
    %(n_clusters)
    %(kernel)
    %(scale)
    %(alpha: P=embedding)
    %(gamma: gamma=1)
    %(n_neighbors)
    %(scheme)
    %(partition)
    %(run)

    Attributes
    ----------
    %(memberships: how=by the clusters of its neighbours and by its place in the embedding.)
    %(weights_of_the_model: weights=(of one kernel: 1); `kernel_shares_` is the same.)
    %(solution: width=n_clusters | embedding=The eigenvectors P that k-means clustered.)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import KGLClustering
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> KGLClustering(n_clusters=3, kernel=Gaussian(t=0.1), random_state=0).fit(X).graph_.shape
    (150, 150)
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelLike = None,
        scale: Scale | Mapping[str, Scale] = "auto",
        alpha: float = 1e-5,
        gamma: float = 1,
        n_neighbors: NeighborsLike = "auto",
        scheme: SchemeName = "safeguarded",
        max_iter: int = 100,
        tol: float = 1e-5,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Dtype = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.scale = scale
        self.alpha = alpha
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.scheme = scheme
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def _scheme(self) -> Scheme:
        return kgl(self.scheme, alpha=self.alpha, gamma=self.gamma, classify=False, n_neighbors=self.n_neighbors)


@documented
class PMKLClustering(LearnedClusterer):
    r"""Clusters from a graph learned together with a parametrised combination of kernels.

    .. math:: \min_{S, P, \theta}\ \mathrm{Tr}(K - 2KS + S^\top K S) + \gamma \|S\|_F^2
              + \alpha\,\mathrm{Tr}(P^\top L P)

    .. math:: \text{s.t. } K = \sum_i \theta_i H_i,\ \sum_i \sqrt{\theta_i} = 1,\ \theta \ge 0,\ P^\top P = I,\ S \ge 0.

    K is about r times smaller than the mean of the r kernels, so a gamma of SMKL is r times as strong here.
    A kernel that the graph reproduces gets a large weight: mostly the widest Gaussian, which is nearly constant.

    Parameters
    ----------
    %(n_clusters)
    %(kernels: default=released-12)
    %(scale)
    %(alpha: P=embedding)
    %(gamma_of_pmkl)
    %(n_neighbors)
    %(scheme)
    %(partition)
    %(run)

    Attributes
    ----------
    %(memberships: how=by the clusters of its neighbours and by its place in the embedding.)
    %(weights_of_the_model: weights=θ of the paper, whose roots sum to one; `kernel_shares_` is θ scaled to sum to one.)
    %(solution: width=n_clusters | embedding=The eigenvectors P that k-means clustered.)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import PMKLClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PMKLClustering(n_clusters=3, kernels="released-7", random_state=0).fit(X)
    >>> float((model.kernel_weights_**0.5).sum().round(6))
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = PMKL_CONSTRAINTS
    _weights_sum_to_one = False  # K = Σ θ_i H_i

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: KernelsLike = "released-12",
        views: Mapping[str, ColumnsLike] | None = None,
        scale: Scale | Mapping[str, Scale] = "auto",
        alpha: float = 1e-5,
        gamma: GammaLike = "auto",
        n_neighbors: NeighborsLike = "auto",
        scheme: SchemeName = "safeguarded",
        max_iter: int = 100,
        tol: float = 1e-5,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Dtype = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.views = views
        self.scale = scale
        self.alpha = alpha
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.scheme = scheme
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def _scheme(self) -> Scheme:
        return pmkl(self.scheme, alpha=self.alpha, gamma=self.gamma, classify=False, n_neighbors=self.n_neighbors)
