"""Anchors of one table, and the spectral embedding of the graph between samples and anchors.

Letters: A (m, d) anchors, B (n, m) affinities of samples to anchors, dense or sparse, e = B'1, d = B1.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from kernelweave._types import Graph, Matrix, Samples, Vector
from kernelweave.core.graphs.bipartite import landmark_embedding

__all__ = ["as_matrix", "bipartite_embedding", "kmeans_anchors", "quick_kmeans"]


def as_matrix(X: Samples) -> Samples:
    """Return X, with a sparse array as a sparse matrix, since scikit-learn's k-means takes no sparse arrays."""
    return sparse.csr_matrix(X) if sparse.issparse(X) else X


def kmeans_anchors(
    X: Samples, m: int, *, candidates: int, n_init: int, max_iter: int, rng: np.random.RandomState
) -> Matrix:
    """Return m anchors: k-means centres of a random `candidates` of the rows of X, from random rows."""
    n = X.shape[0]
    part = X if candidates >= n else X[rng.choice(n, candidates, replace=False)]
    model = quick_kmeans(as_matrix(part), m, n_init=n_init, max_iter=max_iter, rng=rng)
    return np.asarray(model.cluster_centers_, dtype=X.dtype)


def quick_kmeans(X: Samples, c: int, *, n_init: int, max_iter: int, rng: np.random.RandomState) -> KMeans:
    """Return k-means fitted from random rows; fewer distinct rows than clusters do no harm to what it is used for."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Number of distinct clusters", category=ConvergenceWarning)
        return KMeans(c, init="random", n_init=n_init, max_iter=max_iter, random_state=rng).fit(X)


def bipartite_embedding(B: Graph, q: int) -> tuple[Vector, Matrix]:
    """Return the q smallest μ of Lu = μDu on the bipartite graph of B, and the samples' part of their eigenvectors.

    "Transfer cut" (Li, Wu, Chang; CVPR 2012): with B' diag(d)^-1 B = W of the m anchors, the q largest eigenvalues λ of
    diag(e)^-½ W diag(e)^-½ give μ = 1 - √λ, and their eigenvectors, taken through diag(d)^-1 B, those of the samples.
    No matrix is larger than (n, m) or (m, m). The columns P have P'diag(d)P = I.
    """
    d = np.asarray(B.sum(axis=1), dtype=np.float64).ravel()
    inverse = np.divide(1, d, out=np.zeros_like(d), where=d > 0)
    scaled = sparse.diags_array(inverse) @ B if sparse.issparse(B) else inverse[:, None] * B
    W = B.T @ scaled
    W = np.asarray(W.toarray() if sparse.issparse(W) else W, dtype=np.float64)
    values, Q = landmark_embedding(W, min(q, len(W)))
    return 1 - np.sqrt(values), np.asarray(scaled @ Q, dtype=B.dtype)
