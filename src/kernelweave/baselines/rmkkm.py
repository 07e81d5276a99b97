"""RMKKM: robust multiple kernel k-means."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from kernelweave._plural import counted
from kernelweave._types import Matrix, RandomStateLike, Vector
from kernelweave.baselines._kernel_clusterer import KernelClusterer, generator, objective_attributes, weight_attributes
from kernelweave.baselines.mkkm import WeightedPartition
from kernelweave.core.paper.closed_forms import combine
from kernelweave.core.partitions.kernel_centres import (
    centre_distances,
    centred_kernel,
    kernel_kmeans,
    root_loss,
    seeded_centres,
)
from kernelweave.core.partitions.kmeans import best_start, own_distances, rounding
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._estimator import KernelsLike, Number

__all__ = ["RMKKM", "power_weights", "robust_multiple_kernel_kmeans"]

_SWEEPS = 30  # of k-means between two updates of the weights, as released


class RMKKM(KernelClusterer):
    r"""Clusters by k-means on several kernels at once, robust to outliers, with learned weights.

    .. math:: \min_{z, m, w}\ \sum_i \sqrt{ \sum_m w_m \| \phi_m(x_i) - m_{z_i}^{(m)} \|^2 }
              \quad \text{s.t. } \sum_m w_m^\gamma = 1,\ w \ge 0.

    Distances are not squared, so that a sample far from every centre has no more influence than others (the l2,1 norm).
    Centres are weighted means of their samples; weights and centres both minimise a majoriser of the objective.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        A recipe ("released-12", "released-7", "printed-12", "printed-7", "gaussian-4"), kernels of your own, or
        "precomputed": then `fit` takes kernel matrices.
    gamma : float, default=0.4
        The exponent of the weights, above 0 and below 1: small values leave the weight with one kernel.
    max_iter : int, default=50
        The most updates of the weights in one start.
    tol : float, default=1e-6
        A start ends when the objective falls by less than this part of it.
    n_init : int, default=10
        How often the method starts, from as many random samples as there are clusters; the partition with the
        least objective is kept.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample; no cluster is empty.
    kernel_weights_ : array of shape (n_kernels,)
        The weights w, whose powers w^γ sum to one; `kernel_shares_` is w scaled to sum to one.
    kernel_names_ : tuple of str
        The kernels' names in the order of the weights.
    view_names_, view_shares_
        The views' names, "X" for one table, and the share of each: that of its kernels together.
    objective_ : float
        The objective; `objective_history_` has it after every update of the weights, and it never rises for kernels
        that are positive semidefinite.
    n_iter_ : int
        The number of updates of the weights in the start that was kept.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if kernels are "precomputed".

    Notes
    -----
    The released program starts k-means ten times anew after every update of the weights and keeps the best of these
    ten, so that its objective may rise from one update to the next; and its stopping test never holds. Here a start
    keeps its clusters while its weights change, and the best of `n_init` such starts is taken: as many starts, an
    objective that never rises, and an end. Like MKKM's, the weights go to the flattest kernels.

    References
    ----------
    Du, Zhou, Shi, Wang, Fan, Wang, Shen: Robust Multiple Kernel K-means Using l2,1-Norm. IJCAI 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import RMKKM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RMKKM(3, random_state=0).fit(X)
    >>> float((model.kernel_weights_**0.4).sum().round(6)), model.labels_.shape
    (1.0, (150,))
    """

    _only_kernels = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KernelClusterer._parameter_constraints,
        "gamma": [Number(Real, 0, 1, closed="neither")],  # at 1 all weight is one kernel's
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
        gamma: float = 0.4,
        max_iter: int = 50,
        tol: float = 1e-6,
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.gamma = gamma
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        if len(H) ** (-1 / self.gamma) < np.finfo(np.float64).tiny:
            few = f"gamma={self.gamma:g} is too small for {counted(len(H), 'kernel')}"
            msg = f"{few}: their weights are below 1e-300. Raise it."
            raise InvalidInputError(msg)
        for K in H:
            centred_kernel(K)
        draws = generator(rng)
        runs = [
            robust_multiple_kernel_kmeans(
                H, self.n_clusters, gamma=self.gamma, max_iter=self.max_iter, tol=self.tol, rng=draws
            )
            for _ in range(self.n_init)
        ]
        costs = np.array([run.history[-1] for run in runs])
        best = runs[best_start(costs, rounding(float(costs.min()), H.dtype))]
        if not best.converged:
            self._warn_cut_short("with the objective still falling")
        return {"labels_": best.z, **weight_attributes(best.w, best.w), **objective_attributes(best.history)}


def robust_multiple_kernel_kmeans(
    H: Matrix, c: int, *, gamma: float, max_iter: int, tol: float, rng: np.random.Generator
) -> WeightedPartition:
    """Minimise Σ_i sqrt(Σ_m w_m ||φ_m(x_i) - centre of z_i||²), Σ w^γ = 1, w >= 0, from c random samples."""
    w = np.full(len(H), len(H) ** (-1 / gamma))  # feasible, so that the objective can be compared from the start
    # squared distances this small are rounding
    sizes = np.abs(np.einsum("mii->mi", H)).mean(axis=1)  # of kernels that are not definite too
    limits = np.finfo(H.dtype)
    floor = max(float(limits.eps * (w @ sizes)), float(limits.tiny))  # samples may all coincide
    loss = root_loss(floor)
    A: Matrix | None = None
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        total = float(w.sum())
        K = combine(H, w / total)  # neither labels nor centres depend on its scale, and w may be tiny
        A = seeded_centres(K, c, 1, rng) if A is None else A
        found = kernel_kmeans(K, A, root_loss(min(floor / total, float(limits.max))), max_iter=_SWEEPS)
        A = found.A[None]
        d = np.stack([own_distances(centre_distances(Hm, A), found.z[None])[0] for Hm in H])
        d = np.maximum(d.astype(np.float64), 0)
        w = power_weights(d @ loss.slope(w @ d), gamma)
        history.append(float(loss.cost(w @ d).sum()))
        converged = len(history) > 1 and history[-2] - history[-1] <= tol * history[-1]
    return WeightedPartition(found.z, w, np.array(history), converged)


def power_weights(h: Vector, gamma: float) -> Vector:
    """Minimise Σ w_m h_m over w >= 0, Σ w^γ = 1, 0 < γ < 1: w_m = h_m^{1/(γ-1)} (Σ_l h_l^{γ/(γ-1)})^{-1/γ}.

    A kernel without scatter (h_m = 0 up to rounding) is floored, so that it takes the weight without NaN.
    """
    h = h / (float(h.max()) or 1.0)  # w does not depend on the scale of h, and powers of it overflow
    u = np.maximum(h, np.finfo(h.dtype).eps) ** (1 / (gamma - 1))
    return np.asarray(u / (u**gamma).sum() ** (1 / gamma))
