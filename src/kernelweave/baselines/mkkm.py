"""MKKM: multiple kernel k-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Labels, Matrix, RandomStateLike, Vector
from kernelweave.baselines._kernel_clusterer import KernelClusterer, generator, objective_attributes, weight_attributes
from kernelweave.core.paper.closed_forms import parametrised_weights
from kernelweave.core.partitions.kernel_centres import centred_kernel, distance_rounding, plain_centres
from kernelweave.core.partitions.kmeans import best_start, own_distances, random_labels, reassigned
from kernelweave.estimators._estimator import KernelsLike

__all__ = ["MKKM", "WeightedPartition", "multiple_kernel_kmeans"]

Assign: TypeAlias = Callable[[Matrix, Labels, Vector], Labels]  # new labels from D, the present ones and rounding

_FEW = 0.25  # share of the samples: if fewer change their cluster, sums are updated and not computed again
_ASSIGN: dict[str, Assign] = {"refill": reassigned, "released": lambda D, _z, _slack: D.argmin(axis=1)}


class MKKM(KernelClusterer):
    r"""Clusters by k-means on several kernels at once, whose weights are learned.

    .. math:: \min_{z, w}\ \sum_m w_m^2 \sum_i \| \phi_m(x_i) - m_{z_i}^{(m)} \|^2
              \quad \text{s.t. } \sum_m w_m = 1,\ w \ge 0,

    with :math:`m_c^{(m)}` the mean of cluster c in the feature space of kernel m: in turn, weights
    :math:`w_m \propto 1 / b_m`, where :math:`b_m` is the scatter within the clusters under kernel m, and the nearest
    mean for every sample.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        A recipe ("released-12", "released-7", "printed-12", "printed-7", "gaussian-4"), kernels of your own, or
        "precomputed": then `fit` takes kernel matrices.
    empty : {"refill", "released"}, default="refill"
        What becomes of a cluster that loses all its samples: it gets the one farthest from its mean; or, as in the
        released program, nothing, so that there may be fewer clusters in the end.
    max_iter : int, default=100
        The most iterations of one start.
    tol : float, default=0
        A start ends when the objective falls by no more than this, or no label changes. The released program has
        1e-5, which ends most starts a little early.
    n_init : int, default=10
        How often the method starts, from random labels; the partition with the least objective is kept. Published
        figures are means over starts (``n_init=1`` and as many values of `random_state`).
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample; with "refill" no cluster is empty.
    kernel_weights_ : array of shape (n_kernels,)
        The weights w, which sum to one; `kernel_shares_` is w² scaled to sum to one, the kernels' shares in the
        combination that the labels are nearest in.
    kernel_names_ : tuple of str
        The kernels' names in the order of the weights.
    view_names_, view_shares_
        The views' names, "X" for one table, and the share of each: that of its kernels together.
    objective_ : float
        The objective; `objective_history_` has it after every iteration, and it never rises for kernels that are
        positive semidefinite.
    n_iter_ : int
        The number of iterations of the start that was kept.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if kernels are "precomputed".

    Notes
    -----
    The weights go to the flattest kernels, those with values near a constant, because their scatter is small
    whatever the labels: normalise kernels to a common scatter if that is not wanted.

    References
    ----------
    Huang, Chuang, Chen: Multiple Kernel Fuzzy Clustering. IEEE Transactions on Fuzzy Systems 20, 2012 (with hard
    memberships).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import MKKM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MKKM(3, random_state=0).fit(X)
    >>> float(model.kernel_weights_.sum().round(6)), model.labels_.shape
    (1.0, (150,))
    """

    _only_kernels = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClusterer._parameter_constraints,
        "empty": [StrOptions({"refill", "released"})],
    }

    kernel_weights_: Vector
    objective_: float
    objective_history_: Vector
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: KernelsLike = "released-12",
        empty: Literal["refill", "released"] = "refill",
        max_iter: int = 100,
        tol: float = 0.0,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.empty = empty
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        if self.empty == "refill":  # else the centre of an empty cluster is the origin, which must stay where it is
            for K in H:
                centred_kernel(K)
        z = random_labels(H.shape[1], self.n_clusters, self.n_init, generator(rng))
        found = multiple_kernel_kmeans(
            H, z, self.n_clusters, assign=_ASSIGN[self.empty], max_iter=self.max_iter, tol=self.tol
        )
        if not found.converged:
            self._warn_cut_short("with labels still changing")
        return {
            "labels_": found.z,
            **weight_attributes(found.w, found.w**2),
            **objective_attributes(found.history),
        }


@dataclass(frozen=True, slots=True)
class WeightedPartition:
    """Labels z (n,), weights w (r,), the objective after every iteration, and whether the end was reached."""

    z: Labels
    w: Vector
    history: Vector
    converged: bool


def multiple_kernel_kmeans(
    H: Matrix, z: Labels, c: int, *, assign: Assign = reassigned, max_iter: int, tol: float = 0.0
) -> WeightedPartition:
    """Minimise Σ_m w_m² Σ_i ||φ_m(x_i) - mean of z_i||², Σw = 1, from labels z (R, n); the best start is returned."""
    R, n = z.shape
    z, new = np.empty_like(z), z.copy()
    theta = np.empty((R, len(H)))  # w²
    errors = np.array([distance_rounding(K) for K in H])
    sums = _ClusterSums(H, R, c)
    histories: list[list[float]] = [[] for _ in range(R)]
    running = np.arange(R)
    for _ in range(max_iter):
        z[running] = new[running]
        D, b = sums.scatters(running, z[running])
        theta[running] = np.apply_along_axis(parametrised_weights, 1, b)
        for r, value in zip(running, (theta[running] * b).sum(axis=1), strict=True):
            histories[r].append(float(value))
        weighted = np.einsum("rm,mrki->rki", theta[running].astype(H.dtype), D)
        new[running] = assign(weighted, z[running], theta[running] @ errors)
        falling = np.array([len(histories[r]) < 2 or histories[r][-2] - histories[r][-1] > tol for r in running])
        running = running[(new != z)[running].any(axis=1) & falling]
        if not len(running):
            break
    costs = np.array([history[-1] for history in histories])
    best = best_start(costs, n * float((theta @ errors).max()))
    return WeightedPartition(z[best].copy(), np.sqrt(theta[best]), np.array(histories[best]), best not in running)


class _ClusterSums:
    """Σ_j [z_rj = k] H_mji of every kernel m, start r and cluster k, updated by the samples that change their cluster.

    Most labels of k-means change in its first iterations: afterwards an update costs a small part of the products.
    """

    def __init__(self, H: Matrix, R: int, c: int) -> None:
        self._H = H
        self._z = np.full((R, H.shape[1]), -1)
        self._sums = np.zeros((len(H), R, c, H.shape[1]), dtype=H.dtype)

    def scatters(self, starts: Labels, z: Labels) -> tuple[Matrix, Matrix]:
        """D_mrki, squared distances to the means under every kernel, and b_rm = Σ_i D_mrki with k = z_ri."""
        self._move(starts, z)
        A = plain_centres(z, self._sums.shape[2], self._H.dtype)
        share = A.max(axis=2)  # 1 / size, 0 for an empty cluster
        D = np.stack([self._distances(m, starts, A, share) for m in range(len(self._H))])
        b = np.stack([own_distances(Dm, z).sum(axis=1, dtype=np.float64) for Dm in D], axis=1)
        return D, b

    def _distances(self, m: int, starts: Labels, A: Matrix, share: Matrix) -> Matrix:
        """D_rki = K_ii - 2(A_r K)_ki + (A_r K A_r')_kk of one kernel, from its sums."""
        D = self._sums[m, starts] * share[..., None]
        square = np.einsum("rki,rki->rk", A, D)
        D *= -2
        D += square[..., None]
        D += self._H[m].diagonal()
        return np.asarray(D)

    def _move(self, starts: Labels, z: Labels) -> None:
        changed = self._z[starts] != z
        many = changed.mean(axis=1) > _FEW
        if many.any():
            A = self._indicators(z[many])
            for m, K in enumerate(self._H):
                self._sums[m, starts[many]] = (A.reshape(-1, len(K)) @ K).reshape(A.shape)
        for r, new, moved in zip(starts[~many], z[~many], changed[~many], strict=True):
            own, old = self._indicators(np.stack([new[moved], self._z[r, moved]]))
            for m, K in enumerate(self._H):
                self._sums[m, r] += (own - old) @ K[moved]
        self._z[starts] = z

    def _indicators(self, z: Labels) -> Matrix:
        """Z_rki = [z_ri = k]."""
        clusters = np.arange(self._sums.shape[2])[:, None]
        return np.asarray(z[:, None] == clusters, dtype=self._H.dtype)
