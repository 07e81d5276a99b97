"""Kernel k-means of one kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._types import Matrix, RandomStateLike, Vector
from kernelweave.baselines._kernel_clusterer import KernelClusterer, generator, objective_attributes
from kernelweave.core.partitions.kernel_centres import centred_kernel, kernel_kmeans, seeded_centres, squared_loss
from kernelweave.estimators._estimator import KernelLike

__all__ = ["KernelKMeans"]


class KernelKMeans(KernelClusterer):
    r"""Clusters by k-means in the feature space of one kernel.

    .. math:: \min_{z}\ \sum_i \| \phi(x_i) - m_{z_i} \|^2, \qquad
              m_c = \text{mean of } \phi(x_i) \text{ over } z_i = c.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernel : kernel, str or callable, default=None
        The kernel: a `Kernel`, the name of a scikit-learn metric, a function of two samples, or "precomputed":
        then `fit` takes an (n, n) matrix. None is ``Gaussian(t=1)``.
    max_iter : int, default=300
        The most iterations of one start.
    n_init : int, default=10
        How often k-means starts, from as many random samples as there are clusters; the partition with the least
        objective is kept.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample; no cluster is empty.
    objective_ : float
        The sum of squared distances to the clusters' means; `objective_history_` has it after every iteration.
    n_iter_ : int
        The number of iterations of the start that was kept.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if the kernel is "precomputed".

    Notes
    -----
    The objective never rises for a positive semidefinite kernel. A cluster that loses all its samples gets the one
    that is farthest from its mean, as in the program released with RMKKM.

    References
    ----------
    Schölkopf, Smola, Müller: Nonlinear Component Analysis as a Kernel Eigenvalue Problem. Neural Computation 10, 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import KernelKMeans
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelKMeans(3, kernel="linear", random_state=0).fit(X)
    >>> round(model.objective_, 2)  # the inertia of plain k-means
    78.85
    """

    _only_kernels = True

    objective_: float
    objective_history_: Vector
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: KernelLike = None,
        max_iter: int = 300,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        K = centred_kernel(H[0])
        A = seeded_centres(K, self.n_clusters, self.n_init, generator(rng))
        found = kernel_kmeans(K, A, squared_loss(), max_iter=self.max_iter)
        if not found.converged:
            self._warn_cut_short("with labels still changing")
        return {"labels_": found.z, **objective_attributes(found.history)}
