"""SC: spectral clustering of one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._types import Matrix, RandomStateLike
from kernelweave.baselines._spectral_step import Init, LaplacianKind, SpectralClusterer, spectral_rows
from kernelweave.estimators._estimator import KernelLike

__all__ = ["KernelSpectralClustering"]


class KernelSpectralClustering(SpectralClusterer):
    r"""Clusters from the eigenvectors of one kernel's graph Laplacian (SC).

    With W the kernel matrix, negative similarities set to 0, and D the diagonal matrix of its row sums,

    .. math:: \min_P\ \mathrm{Tr}(P^\top (D - W) P) \quad\text{or}\quad
              \max_P\ \mathrm{Tr}(P^\top D^{-1/2} W D^{-1/2} P) \quad \text{s.t. } P^\top P = I,

    then the rows of P are scaled to unit length and clustered by k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : kernel, str or callable, default=None
        The similarity of samples: a `Kernel`, the name of a scikit-learn metric, a function of two samples, or
        "precomputed": then `fit` takes an (n, n) matrix. None is ``Gaussian(t=1)``.
    laplacian : {"unnormalized", "njw"}, default="unnormalized"
        The first problem, which is the SC of the paper's Table 2; or the second, of Ng, Jordan and Weiss, where
        samples are not similar to themselves. The second is much stronger on the same kernels: take it for data of
        your own. It is closer to scikit-learn's SpectralClustering, whose Laplacian is normalised too.
    init : {"k-means++", "released"}, default="k-means++"
        How k-means starts; "released" is the k-means behind the published figures: from random rows, keeping the
        start with the least sum of distances (not of squared ones).
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
        The affinity W.
    embedding_ : array of shape (n_samples, n_clusters)
        The rows that k-means clustered.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if the kernel is "precomputed".

    Notes
    -----
    A kernel that is nearly the identity, such as a very narrow Gaussian, has the Laplacian 0 up to rounding: the
    unnormalised eigenvectors are noise then, and so are the clusters. The released program does not set negative
    similarities to 0; the best figures over the kernels of YALE, JAFFE and TR11 are the same either way.

    References
    ----------
    Ng, Jordan, Weiss: On Spectral Clustering: Analysis and an Algorithm. NIPS 2001.
    von Luxburg: A Tutorial on Spectral Clustering. Statistics and Computing 17, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import KernelSpectralClustering
    >>> from kernelweave.kernels import Gaussian
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelSpectralClustering(3, kernel=Gaussian(t=0.1), laplacian="njw", random_state=0).fit(X)
    >>> model.labels_.shape, model.embedding_.shape
    ((150,), (150, 3))
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelLike = None,
        laplacian: LaplacianKind = "unnormalized",
        init: Init = "k-means++",
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.laplacian = laplacian
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        W = np.maximum(H[0], 0, out=H[0])
        if self.laplacian == "njw":
            np.fill_diagonal(W, 0)
        P = spectral_rows(W, self.n_clusters, self.laplacian)
        return {"labels_": self._rows_clustered(P, rng), "graph_": W, "embedding_": P}
