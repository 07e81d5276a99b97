"""Clustering with the SMKL family: SMKL, KGL (one kernel) and PMKL (parametrised weights)."""

from __future__ import annotations

from typing import Any

from kernelweave._types import Vector
from kernelweave.estimators._base import OneKernel, SeveralKernels, smkl_scheme
from kernelweave.estimators._clusterer import GraphClusterer
from kernelweave.solve import Scheme, kgl, pmkl

__all__ = ["KGLClustering", "PMKLClustering", "SMKLClustering"]


class SMKLClustering(SeveralKernels, GraphClusterer):
    r"""Clusters from a graph learned together with a consensus of several self-weighted kernels.

    .. math:: \min_{S, P, K}\ \mathrm{Tr}(K - 2KS + S^\top K S) + \gamma \|S\|_F^2 + \alpha\,\mathrm{Tr}(P^\top L P)
              + \beta \sum_i w_i \|H_i - K\|_F^2 \quad \text{s.t. } P^\top P = I,\ S \ge 0,

    with :math:`w_i = 1 / (2 \|H_i - K\|_F)`: a kernel near the consensus K gets a large weight by itself.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        A recipe ("released-12", "released-7", "printed-12", "printed-7"), kernels of your own, or "precomputed":
        then `fit` takes kernel matrices. With several views a dict may give each its own, by the names of the
        views: ``{"words": Cosine(), "links": "released-7"}``; anything else goes for every view.
    views : dict of columns, default=None
        The columns of each view in one X, by name: slices, positions, names of columns or masks, such as
        ``{"words": slice(0, 500), "links": slice(500, None)}``; every view gets its own kernels. Not with several
        tables, which are views by themselves.
    alpha : float, default=1e-5
        Weight of the smoothness of the embedding P on the graph; at least 0.
    beta : float, default=None
        Weight of the distance between the kernels and their consensus, as the paper defines it. What a value means
        depends on n_samples: prefer `relative_beta`.
    relative_beta : float, default=None
        The same weight free of scale: `beta` times the sum of the weights w at the mean of the kernels. K then moves
        from the weighted mean of the kernels by about 1 / (2 relative_beta) times the residual of the graph. Give
        `beta` or `relative_beta`, not both; with neither it is 30.
    gamma : float, default=1
        Weight of the ridge on the graph; raise it if the solver meets a singular system.
    scheme : {"safeguarded", "released", "printed", "exact"}, default="safeguarded"
        Which version of the algorithm runs. "safeguarded": closed forms that keep K + gamma*I positive definite and
        never raise the objective, with K and w solved at once; S >= 0 is imposed on the graph at the end, not in every
        iteration. "released": the public program that made the paper's figures. "printed": Algorithm 1 as printed,
        from a random start. "exact": every step solved to optimality, S >= 0 included.
    max_iter : int, default=100
        The most iterations.
    tol : float, default=1e-5
        Stop when the relative change of the graph falls below it (3e-5 at the least in single precision).
    n_init : int, default=10
        How many partitions of the embedding k-means compares; the best is kept. For each the best of several starts
        (8 on small data, 3 on large) is carried on until no sample by itself would lower the sum of squares; where
        that is cheap, they are crossed for better ones. The schemes "released" and "printed" keep plain k-means, and
        this is its number of starts.
    random_state : int, RandomState or None, default=None
        Seed of k-means and of the "printed" start.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None leaves them as they are, -1 takes every core.
    verbose : int, default=0
        1 writes a line per iteration to the standard error stream.
    dtype : {None, "float32", "float64"}, default=None
        The precision to work in: None is that of X. Single precision takes half the memory and about half the time.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    membership_ : array of shape (n_samples, n_clusters)
        How far every sample belongs to every cluster: by the votes of its neighbours and by its place in the embedding.
    confidence_ : array of shape (n_samples,)
        The membership of every sample in its own cluster.
    margin_ : array of shape (n_samples,)
        The same less the largest membership in another cluster.
    kernel_weights_ : array of shape (n_kernels,)
        The weights w of the paper; `kernel_shares_` is the same scaled to sum to one.
    kernel_names_ : tuple of str
        The kernels' names in the order of the weights.
    view_names_, view_shares_, kernel_views_
        If there are views: their names, the share of each in the consensus, and the view of every kernel.
    graph_ : array of shape (n_samples, n_samples)
        The learned graph S.
    consensus_kernel_ : array of shape (n_samples, n_samples)
        The learned kernel K.
    embedding_ : array of shape (n_samples, n_clusters)
        The eigenvectors P that k-means clustered.
    n_iter_ : int
        The number of iterations.
    history_ : History
        Terms of the objective, change of the graph, weights and seconds of every iteration.
    outcome_ : Outcome
        Why the solver stopped, with a sentence as its value: `outcome_.converged` says whether it converged. If not,
        ON_BOUND means that beta is too small, OVERRULED that alpha is too large for gamma.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if kernels are "precomputed".

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
        kernels: Any = "released-12",
        views: Any = None,
        alpha: float = 1e-5,
        beta: float | None = None,
        relative_beta: float | None = None,
        gamma: float = 1,
        scheme: str = "safeguarded",
        max_iter: int = 100,
        tol: float = 1e-5,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.views = views
        self.alpha = alpha
        self.beta = beta
        self.relative_beta = relative_beta
        self.gamma = gamma
        self.scheme = scheme
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def _scheme(self) -> Scheme:
        return smkl_scheme(self, classify=False)


class KGLClustering(OneKernel, GraphClusterer):
    r"""Clusters from a graph learned on one kernel.

    .. math:: \min_{S, P}\ \mathrm{Tr}(K - 2KS + S^\top K S) + \gamma \|S\|_F^2 + \alpha\,\mathrm{Tr}(P^\top L P)
              \quad \text{s.t. } P^\top P = I,\ S \ge 0.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : kernel, str or callable, default=None
        The kernel: a `Kernel`, the name of a scikit-learn metric, a function of two samples, or "precomputed":
        then `fit` takes an (n, n) matrix. None is `Gaussian(t=1)`.
    alpha : float, default=1e-5
        Weight of the smoothness of the embedding P on the graph; at least 0.
    gamma : float, default=1
        Weight of the ridge on the graph; raise it if the solver meets a singular system.
    scheme : {"safeguarded", "released", "printed", "exact"}, default="safeguarded"
        Which version of the algorithm runs, see `SMKLClustering`.
    max_iter : int, default=100
        The most iterations.
    tol : float, default=1e-5
        Stop when the relative change of the graph falls below it (3e-5 at the least in single precision).
    n_init : int, default=10
        How many partitions of the embedding k-means compares; the best is kept. For each the best of several starts
        (8 on small data, 3 on large) is carried on until no sample by itself would lower the sum of squares; where
        that is cheap, they are crossed for better ones. The schemes "released" and "printed" keep plain k-means, and
        this is its number of starts.
    random_state : int, RandomState or None, default=None
        Seed of k-means and of the "printed" start.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None leaves them as they are, -1 takes every core.
    verbose : int, default=0
        1 writes a line per iteration to the standard error stream.
    dtype : {None, "float32", "float64"}, default=None
        The precision to work in: None is that of X. Single precision takes half the memory and about half the time.

    Attributes
    ----------
    labels_, graph_, consensus_kernel_, embedding_, n_iter_, history_, outcome_
        As in `SMKLClustering`; the consensus is the kernel itself, and `kernel_weights_` is one.

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
        kernel: Any = None,
        alpha: float = 1e-5,
        gamma: float = 1,
        scheme: str = "safeguarded",
        max_iter: int = 100,
        tol: float = 1e-5,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.alpha = alpha
        self.gamma = gamma
        self.scheme = scheme
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def _scheme(self) -> Scheme:
        return kgl(self.scheme, alpha=self.alpha, gamma=self.gamma, classify=False)


class PMKLClustering(SeveralKernels, GraphClusterer):
    r"""Clusters from a graph learned together with a parametrised combination of kernels.

    .. math:: \min_{S, P, \theta}\ \mathrm{Tr}(K - 2KS + S^\top K S) + \gamma \|S\|_F^2
              + \alpha\,\mathrm{Tr}(P^\top L P) \quad \text{s.t. } K = \sum_i \theta_i H_i,\
              \sum_i \sqrt{\theta_i} = 1,\ \theta \ge 0,\ P^\top P = I,\ S \ge 0.

    K is about r times smaller than the mean of the r kernels, so a gamma of SMKL is r times as strong here.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        As in `SMKLClustering`.
    views : dict of columns, default=None
        The columns of each view in one X, by name, see `SMKLClustering`.
    alpha : float, default=1e-5
        Weight of the smoothness of the embedding P on the graph; at least 0.
    gamma : float, default=0.1
        Weight of the ridge on the graph; raise it if the solver meets a singular system.
    scheme : {"safeguarded", "released", "printed", "exact"}, default="safeguarded"
        Which version of the algorithm runs, see `SMKLClustering`.
    max_iter : int, default=100
        The most iterations.
    tol : float, default=1e-5
        Stop when the relative change of the graph falls below it (3e-5 at the least in single precision).
    n_init : int, default=10
        How many partitions of the embedding k-means compares; the best is kept. For each the best of several starts
        (8 on small data, 3 on large) is carried on until no sample by itself would lower the sum of squares; where
        that is cheap, they are crossed for better ones. The schemes "released" and "printed" keep plain k-means, and
        this is its number of starts.
    random_state : int, RandomState or None, default=None
        Seed of k-means and of the "printed" start.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None leaves them as they are, -1 takes every core.
    verbose : int, default=0
        1 writes a line per iteration to the standard error stream.
    dtype : {None, "float32", "float64"}, default=None
        The precision to work in: None is that of X. Single precision takes half the memory and about half the time.

    Attributes
    ----------
    labels_, graph_, consensus_kernel_, embedding_, n_iter_, history_, outcome_
        As in `SMKLClustering`.
    kernel_weights_ : array of shape (n_kernels,)
        The weights θ of the paper, whose roots sum to one; `kernel_shares_` is θ scaled to sum to one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave import PMKLClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PMKLClustering(n_clusters=3, kernels="released-7", random_state=0).fit(X)
    >>> float((model.kernel_weights_**0.5).sum().round(6))
    1.0
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: Any = "released-12",
        views: Any = None,
        alpha: float = 1e-5,
        gamma: float = 0.1,
        scheme: str = "safeguarded",
        max_iter: int = 100,
        tol: float = 1e-5,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        dtype: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.views = views
        self.alpha = alpha
        self.gamma = gamma
        self.scheme = scheme
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.dtype = dtype

    def _scheme(self) -> Scheme:
        return pmkl(self.scheme, alpha=self.alpha, gamma=self.gamma, classify=False)

    def _row_weights(self) -> Vector:
        return self.kernel_weights_  # K = Σ θ_i H_i: they need not sum to one
