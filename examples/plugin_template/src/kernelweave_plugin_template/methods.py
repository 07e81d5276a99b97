"""A clustering method on kernels: average linkage on the distances of the mean kernel.

The base class reads the samples, builds the kernel matrices H of shape (r, n, n), and keeps the attributes. It also
gives the model `save`, a report, and the command line. Attributes beside those of the base class are declared with
their types, since files are checked against them.
"""

import numpy as np
from sklearn.cluster import AgglomerativeClustering

from kernelweave._types import Vector
from kernelweave.baselines.extending import KernelClusterer, weight_attributes

__all__ = ["KernelLinkage"]


class KernelLinkage(KernelClusterer):
    """Clusters by average linkage in the feature space of the mean kernel.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : str, KernelBank, kernel, list or dict, default="released-12"
        The kernels, as in `kernelweave.WeaveClustering`.
    views : dict, default=None
        The columns of every view, as in `kernelweave.WeaveClustering`.
    random_state : int, RandomState or None, default=None
        Not used: the method has no random part. The base class reads it.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    kernel_shares_ : array of shape (n_kernels,)
        The share of every kernel in the mean, all equal.
    """

    kernel_weights_: Vector

    def __init__(self, n_clusters=8, *, kernels="released-12", views=None, random_state=None, n_jobs=None):
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.views = views
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, H, names, rng):
        K = H.mean(axis=0)
        lengths = K.diagonal()
        distances = np.sqrt(np.maximum(lengths[:, None] + lengths - 2 * K, 0))
        np.fill_diagonal(distances, 0)
        linkage = AgglomerativeClustering(self.n_clusters, metric="precomputed", linkage="average")
        ones = np.ones(len(H))
        return {"labels_": linkage.fit_predict(distances), **weight_attributes(ones, ones)}
