"""SimpleMKKM: simple multiple kernel k-means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelweave._types import Matrix, RandomStateLike, Vector
from kernelweave.baselines._kernel_clusterer import objective_attributes, weight_attributes
from kernelweave.baselines.unit_kernels import UnitKernelClusterer, partition_matrix
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.core.paper.closed_forms import combine
from kernelweave.core.partitions.kmeans import rounding
from kernelweave.estimators._estimator import KernelsLike
from kernelweave.weave.graph_partitions import kmeans

__all__ = ["MinMaxWeights", "SimpleMKKM", "min_max_weights", "partition_value", "reduced_gradient"]

_ENOUGH = 1e-4  # of the decrease that the gradient promises: Armijo's condition


class SimpleMKKM(UnitKernelClusterer):
    r"""Clusters by kernel k-means on the combination of kernels that is hardest to partition.

    .. math:: \min_{\gamma}\ \max_{H}\ \mathrm{Tr}(H^\top K_\gamma H), \quad K_\gamma = \sum_m \gamma_m^2 K_m,
              \quad \text{s.t. } H^\top H = I,\ \sum_m \gamma_m = 1,\ \gamma \ge 0.

    The maximum over H is the sum of the largest `n_clusters` eigenvalues of :math:`K_\gamma`. As a function of
    :math:`\gamma` it is convex for positive semidefinite kernels, so the weights do not depend on a start. They are
    found by reduced gradient descent with a line search; the clusters are k-means clusters of the rows of H, at unit
    length.

    It is good for a moderate number of kernels of similar quality, with nothing to tune. It costs one partial
    eigendecomposition, :math:`O(n^3)`, for every step that is tried, one or two per iteration, and memory for all
    kernel matrices.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        A recipe ("released-12", "released-7", "printed-12", "printed-7", "gaussian-4"), kernels of your own, or
        "precomputed": then `fit` takes kernel matrices. Every kernel is first centred and scaled to a unit diagonal.
    max_iter : int, default=100
        The most iterations of the weights.
    tol : float, default=1e-4
        Stop when the entries of the reduced gradient are at most this part of the largest entry of the gradient.
    n_init : int, default=10
        How often k-means starts; the best partition is kept.
    random_state : int, RandomState or None, default=None
        Seed of k-means; the weights are deterministic.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        The cluster of every sample.
    kernel_weights_ : array of shape (n_kernels,)
        The weights γ, which sum to one; `kernel_shares_` is γ² scaled to sum to one, the kernels' shares in the
        combination.
    kernel_names_ : tuple of str
        The kernels' names in the order of the weights.
    view_names_, view_shares_
        The views' names, "X" for one table, and the share of each: that of its kernels together.
    embedding_ : array of shape (n_samples, n_clusters)
        The rows that k-means clustered.
    objective_ : float
        The objective; `objective_history_` has it after every iteration, and it never rises.
    reduced_gradient_ : float
        The largest entry of the reduced gradient at the end, as part of the largest entry of the gradient. It is 0 at
        a minimum where the objective is differentiable; it need not be where two eigenvalues cross.
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if kernels are "precomputed".

    Notes
    -----
    At the minimum :math:`\gamma_m \mathrm{Tr}(H^\top K_m H)` is the same for all kernels: the better a kernel can be
    partitioned, the smaller its weight, and a kernel of noise gets more than its share. A kernel that is constant, and
    0 once centred, would get all the weight: it is left out, with a weight of 0. The figures of the paper are not
    reproduced here: its kernel matrices are not distributed with this package.

    References
    ----------
    Liu: SimpleMKKM: Simple Multiple Kernel K-Means. IEEE Transactions on Pattern Analysis and Machine Intelligence 45,
    2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import SimpleMKKM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SimpleMKKM(3, random_state=0).fit(X)
    >>> float(model.kernel_weights_.sum().round(6)), model.labels_.shape
    (1.0, (150,))
    """

    kernel_weights_: Vector
    embedding_: Matrix
    objective_: float
    objective_history_: Vector
    reduced_gradient_: float
    n_iter_: int

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernels: KernelsLike = "released-12",
        max_iter: int = 100,
        tol: float = 1e-4,
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
        varies = H.any(axis=(1, 2))
        known = varies if varies.any() else ~varies
        stack, c = H if known.all() else H[known], int(self.n_clusters)
        found = min_max_weights(stack, c, max_iter=self.max_iter, tol=self.tol)
        if not found.converged:
            self._warn_cut_short(f"with a reduced gradient of {found.residual:.2g}")
        P, w = unit_rows(found.P), np.zeros(len(H))
        w[known] = found.w
        return {
            "labels_": kmeans(P, c, n_init=self.n_init, rng=rng),
            "embedding_": P,
            "reduced_gradient_": found.residual,
            **weight_attributes(w, w**2),
            **objective_attributes(found.history),
        }


@dataclass(frozen=True, slots=True)
class MinMaxWeights:
    """Weights w (r,), eigenvectors P (n, c), the objective after every iteration, and how the descent ended."""

    w: Vector
    P: Matrix
    history: Vector
    residual: float
    converged: bool


def partition_value(H: Matrix, w: Vector, c: int) -> tuple[float, Vector, Matrix]:
    """Return J(w) = max_P Tr(P'K_w P), K_w = Σ w_m² H_m, P'P = I; its gradient 2 w_m Tr(P'H_m P), and P."""
    P = partition_matrix(combine(H, w**2), c)
    traces = np.array([np.einsum("ij,ij->", K @ P, P, dtype=np.float64) for K in H])
    return float(w**2 @ traces), 2 * w * traces, P


def reduced_gradient(w: Vector, g: Vector) -> Vector:
    """Return the gradient on Σw = 1, where the largest weight gives what others take; 0 for a weight at its bound."""
    u = int(w.argmax())
    d = np.asarray(g - g[u])
    d[(w <= 0) & (d > 0)] = 0
    d[u] = -d.sum()
    return d


def min_max_weights(H: Matrix, c: int, *, max_iter: int, tol: float) -> MinMaxWeights:
    """Minimise J(w) on the simplex by reduced gradient descent from equal weights.

    Steps have the length of Barzilai and Borwein at first, and are halved until J falls enough. If it should fall by
    rounding only, or no step is short enough, which happens at a kink of J, the descent ends.
    """
    w = np.full(len(H), 1 / len(H))
    value, g, P = partition_value(H, w, c)
    history, step = [value], np.inf
    for _ in range(max_iter):
        d = reduced_gradient(w, g)
        if np.abs(d).max() <= tol * np.abs(g).max():
            break
        found = _line_search(H, c, w, value, d, step)
        if found is None:
            break
        (new, value_new, g_new, P) = found
        change = reduced_gradient(new, g_new) - d
        curvature = float((new - w) @ change)
        step = float((new - w) @ (new - w)) / curvature if curvature > 0 else np.inf
        w, value, g = new, value_new, g_new
        history.append(value)
    else:
        return MinMaxWeights(w, P, np.array(history), _residual(w, g), _residual(w, g) <= tol)
    return MinMaxWeights(w, P, np.array(history), _residual(w, g), converged=True)


def _residual(w: Vector, g: Vector) -> float:
    """Return the largest entry of the reduced gradient relative to the gradient."""
    scale = float(np.abs(g).max())
    return float(np.abs(reduced_gradient(w, g)).max()) / scale if scale > 0 else 0.0


def _line_search(
    H: Matrix, c: int, w: Vector, value: float, d: Vector, step: float
) -> tuple[Vector, float, Vector, Matrix] | None:
    """Return weights w - t d with a lower J, and value, gradient and P there; None if J can fall by rounding only."""
    falling = d > 0
    t = min(step, float((w[falling] / d[falling]).min(initial=np.inf)))
    slack = rounding(max(abs(value), float(np.abs(d).max())), H.dtype)
    while t * float(d @ d) > slack:
        new = np.maximum(w - t * d, 0)
        new /= new.sum()
        found, g, P = partition_value(H, new, c)
        if found <= value - _ENOUGH * t * float(d @ d):
            return new, found, g, P
        t /= 2
    return None
