"""One-pass late fusion: labels from the partitions of all kernels, rotated onto each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from kernelweave._types import Labels, Matrix, RandomStateLike, Vector
from kernelweave.baselines._kernel_clusterer import objective_attributes, weight_attributes
from kernelweave.baselines.unit_kernels import UnitKernelClusterer, partition_matrix
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.estimators._estimator import KernelsLike
from kernelweave.weave.graph_partitions import kmeans

__all__ = ["Fused", "LateFusion", "fuse_partitions", "fused_rows", "fusion_weights", "nearest_rotation"]


class LateFusion(UnitKernelClusterer):
    r"""Clusters from the partitions of single kernels, which are rotated, weighted and turned into labels jointly.

    .. math:: \max_{Y, C, W, \beta}\ \mathrm{Tr}\left( C^\top Y^\top \sum_m \beta_m H_m W_m \right)

    .. math:: \text{s.t. } Y \in \{0, 1\}^{n \times c},\ Y 1 = 1,\ C^\top C = W_m^\top W_m = I,\
              \|\beta\| = 1,\ \beta \ge 0,

    with :math:`H_m` the eigenvectors of the `n_clusters` largest eigenvalues of kernel m. The labels Y, the centres C,
    the rotations W and the weights :math:`\beta` are updated in turn, each to its optimum, so that the objective
    never falls.

    It is good for many kernels or views of moderate size: after one partial eigendecomposition per kernel,
    :math:`O(n^3)` in dense algebra, an iteration costs :math:`O(n c^2)` per kernel only, and there is nothing to tune.
    It uses only the leading eigenvectors of every kernel, so it cannot find clusters that no single kernel shows.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        A recipe ("released-12", "released-7", "printed-12", "printed-7", "gaussian-4"), kernels of your own, or
        "precomputed": then `fit` takes kernel matrices. Every kernel is first centred and scaled to a unit diagonal.
    max_iter : int, default=100
        The most iterations of one start.
    tol : float, default=1e-6
        A start ends when no label changes and the objective rises by less than this part of it.
    n_init : int, default=10
        How often the method starts, from k-means clusters of the eigenvectors of the mean kernel; the start with the
        largest objective is kept.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample. A cluster may be empty: the problem does not exclude it.
    kernel_weights_ : array of shape (n_kernels,)
        The weights β, whose squares sum to one; `kernel_shares_` is β scaled to sum to one.
    kernel_names_ : tuple of str
        The kernels' names in the order of the weights.
    view_names_, view_shares_
        The views' names, "X" for one table, and the share of each: that of its kernels together.
    embedding_ : array of shape (n_samples, n_clusters)
        The fused partition, the sum of all β_m H_m W_m in the coordinates of the clusters: the label of a sample is
        its largest entry.
    objective_ : float
        The objective; `objective_history_` has it after every iteration, and it never falls.
    n_iter_ : int
        The number of iterations of the start that was kept.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if kernels are "precomputed".

    Notes
    -----
    The released program starts from W = I, which depends on the arbitrary signs of eigenvectors. Here a start is a
    partition: C is the identity, and the first rotations and weights are the best ones for its labels. The figures of
    the paper are not reproduced here: its kernel matrices are not distributed with this package.

    References
    ----------
    Liu, Liu, Liao, Wang, Zhang, Tu, Tang, Liu, Zhu: One Pass Late Fusion Multi-view Clustering. ICML 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import LateFusion
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LateFusion(3, random_state=0).fit(X)
    >>> float((model.kernel_weights_**2).sum().round(6)), model.labels_.shape
    (1.0, (150,))
    """

    kernel_weights_: Vector
    embedding_: Matrix
    objective_: float
    objective_history_: Vector
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: KernelsLike = "released-12",
        max_iter: int = 100,
        tol: float = 1e-6,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        c = int(self.n_clusters)
        base = np.stack([partition_matrix(K, c) for K in H])
        mean = unit_rows(partition_matrix(H.mean(axis=0), c))
        starts = [kmeans(mean, c, n_init=1, rng=rng) for _ in range(self.n_init)]
        runs = [fuse_partitions(base, z, max_iter=self.max_iter, tol=self.tol) for z in starts]
        best = runs[int(np.argmax([run.history[-1] for run in runs]))]
        if not best.converged:
            self._warn_cut_short("with labels still changing")
        return {
            "labels_": best.z,
            "embedding_": best.E,
            **weight_attributes(best.w, best.w),
            **objective_attributes(best.history),
        }


@dataclass(frozen=True, slots=True)
class Fused:
    """Labels z (n,), weights w (r,), the fused partition E (n, c), the objective of every iteration, how it ended."""

    z: Labels
    w: Vector
    E: Matrix
    history: Vector
    converged: bool


def nearest_rotation(M: Matrix) -> Matrix:
    """Return argmax Tr(W'M), W'W = I: W = UV' of the singular value decomposition M = U diag(s) V'."""
    U, _, Vt = linalg.svd(M, full_matrices=False, check_finite=False)
    return np.asarray(U @ Vt)


def fusion_weights(nu: Vector) -> Vector:
    """Return argmax Σ β_m ν_m, ‖β‖ = 1, for ν >= 0: β = ν / ‖ν‖; equal weights if every ν is 0."""
    size = float(np.linalg.norm(nu))
    return nu / size if size > 0 else np.full(len(nu), len(nu) ** -0.5)


def fused_rows(base: Matrix, W: Matrix, w: Vector) -> Matrix:
    """Return Σ_m β_m H_m W_m (n, c), with β = w."""
    return np.asarray(np.einsum("m,mik,mkl->il", w.astype(base.dtype), base, W, optimize=True))


def fuse_partitions(base: Matrix, z: Labels, *, max_iter: int, tol: float) -> Fused:
    """Maximise Tr(C'Y' Σ_m β_m H_m W_m) over W, β, C and Y in turn, from labels z; `base` is H (r, n, c)."""
    c = base.shape[2]
    eye = np.eye(c, dtype=base.dtype)
    C = eye
    history: list[float] = []
    for _ in range(max_iter):
        target = eye[z] @ C
        W = np.stack([nearest_rotation(H.T @ target) for H in base])
        w = fusion_weights(np.einsum("mik,mkl,il->m", base, W, target, optimize=True).clip(0).astype(np.float64))
        E = fused_rows(base, W, w)
        C = nearest_rotation(eye[z].T @ E)
        scores = E @ C.T
        new = scores.argmax(axis=1)
        history.append(float(scores.max(axis=1).sum(dtype=np.float64)))
        settled = len(history) > 1 and history[-1] - history[-2] <= tol * abs(history[-1])
        if settled and (new == z).all():
            return Fused(new, w, scores, np.array(history), converged=True)
        z = new
    return Fused(z, w, scores, np.array(history), converged=False)
