"""AASC: affinity aggregation for spectral clustering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import optimize
from scipy.special import expit
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Matrix, RandomStateLike, Vector
from kernelweave.baselines._kernel_clusterer import objective_attributes, weight_attributes
from kernelweave.baselines._spectral_step import Init, SpectralClusterer
from kernelweave.core.graphs.coordinates import unit_rows
from kernelweave.core.graphs.normalised import normalised_embedding
from kernelweave.core.paper.closed_forms import combine, embedding
from kernelweave.errors import InvalidInputError, NotFiniteError
from kernelweave.estimators._estimator import KernelsLike
from kernelweave.kernels.base import inverse_roots

__all__ = ["AASC", "Aggregate", "aggregate", "degree_and_smoothness", "positive_weights", "released_weights"]


class AASC(SpectralClusterer):
    r"""Clusters from the eigenvectors of several affinities, aggregated with learned weights.

    .. math:: \min_{F, v}\ \sum_k v_k^2\, \mathrm{Tr}(F^\top L_k F) \quad \text{s.t. }
              F^\top \Bigl( \sum_k v_k^2 D_k \Bigr) F = I,\ \sum_k v_k = 1,\ v \ge 0,

    with :math:`L_k = D_k - W_k` the Laplacian of affinity k: in turn, generalised eigenvectors F, and weights v by a
    root of one equation. The rows of F are scaled to unit length and clustered by k-means.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    kernels : str, KernelBank, list or dict of kernels, default="released-12"
        The affinities: a recipe ("released-12", "released-7", "printed-12", "printed-7", "gaussian-4"), kernels of your
        own, or "precomputed": then `fit` takes matrices.
    scheme : {"positive", "released"}, default="positive"
        Which version runs: the problem above, with v >= 0 and negative similarities set to 0; or the released
        program, which takes eigenvectors of the unnormalised Laplacian, reads the weights from the second one alone,
        and from the root that a solver finds from -1, whatever its weights' signs.
    max_iter : int, default=50
        The most iterations.
    tol : float, default=1e-5
        Stop when no weight changes by more.
    init : {"k-means++", "released"}, default="k-means++"
        How k-means starts, as in `KernelSpectralClustering`.
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
    kernel_weights_ : array of shape (n_kernels,)
        The weights v, which sum to one; `kernel_shares_` is v² scaled to sum to one, the affinities' shares in
        their combination.
    kernel_names_ : tuple of str
        The kernels' names in the order of the weights.
    view_names_, view_shares_
        The views' names, "X" for one table, and the share of each: that of its kernels together.
    graph_ : array of shape (n_samples, n_samples)
        The aggregated affinity.
    embedding_ : array of shape (n_samples, n_clusters)
        The rows that k-means clustered.
    objective_ : float
        The objective; `objective_history_` has it after every iteration. The weights keep the trace of the first
        constraint only, so that it may rise.
    n_iter_ : int
        The number of iterations.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if kernels are "precomputed".

    Notes
    -----
    An affinity that is nearly the identity has the Laplacian 0, so it gets all the weight, and its eigenvectors are
    noise: on the twelve kernels of "released-12" the positive scheme ends there. Its clusters then change with
    rounding: with the order of the samples, their unit and their precision; a warning says so where the graph falls
    into more pieces than clusters. Leave out Gaussians with t <= 0.1, and nothing of this changes them. The published
    figures are those of the released program, and depend on the start of its root finder; they are not reached on every
    data set.

    References
    ----------
    Huang, Chuang, Chen: Affinity Aggregation for Spectral Clustering. CVPR 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import AASC
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AASC(3, kernels=[Gaussian(t=0.1), Gaussian(t=0.2), Linear()], random_state=0).fit(X)
    >>> float(model.kernel_weights_.sum().round(6)), bool((model.kernel_weights_ >= 0).all())
    (1.0, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SpectralClusterer._parameter_constraints,
        "scheme": [StrOptions({"positive", "released"})],
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
        scheme: Literal["positive", "released"] = "positive",
        max_iter: int = 50,
        tol: float = 1e-5,
        init: Init = "k-means++",
        n_init: int = 10,
        random_state: RandomStateLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernels = kernels
        self.scheme = scheme
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _cluster(self, H: Matrix, names: tuple[str, ...], rng: np.random.RandomState) -> dict[str, Any]:
        if self.scheme == "positive":
            np.maximum(H, 0, out=H)
        _need_affinities(H, names)
        found = aggregate(H, int(self.n_clusters), _RULES[self.scheme], max_iter=self.max_iter, tol=self.tol)
        if not found.converged:
            self._warn_cut_short("with weights still changing")
        P = unit_rows(found.F)
        return {
            "labels_": self._rows_clustered(P, rng),
            "graph_": combine(H, found.v**2),
            "embedding_": P,
            **weight_attributes(found.v, found.v**2),
            **objective_attributes(found.history),
        }


def _need_affinities(H: Matrix, names: tuple[str, ...]) -> None:
    for name, W in zip(names, H, strict=True):
        if W.sum(dtype=np.float64) <= 0:
            msg = f"{name!r} has no positive degree: AASC needs affinities, similarities that are not negative."
            raise InvalidInputError(msg)


@dataclass(frozen=True, slots=True)
class Rule:
    """How one scheme finds F, of at least so many columns, and v from α and γ of the columns that it reads."""

    embed: Callable[[Matrix, int], Matrix]
    least: int
    columns: slice
    weigh: Callable[[Vector, Vector], Vector]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Weights v (r,), eigenvectors F (n, c) of the affinity they make, the objective's course, and the end."""

    v: Vector
    F: Matrix
    history: Vector
    converged: bool


def aggregate(W: Matrix, c: int, rule: Rule, *, max_iter: int, tol: float) -> Aggregate:
    """Minimise Σ_k v_k² Tr(F'L_kF), F'(Σ v_k² D_k)F = I, Σv = 1: F and v in turn, from equal weights."""
    v = np.full(len(W), 1 / len(W))
    m = max(c, rule.least)
    F = rule.embed(combine(W, v**2), m)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        with np.errstate(all="ignore"):  # what is not finite is refused below
            alpha, beta = degree_and_smoothness(W, F[:, rule.columns])
            before, v = v, rule.weigh(alpha, beta / alpha)
        _need_finite(v)
        F = rule.embed(combine(W, v**2), m)
        with np.errstate(all="ignore"):
            history.append(float(v**2 @ degree_and_smoothness(W, F[:, :c])[1]) * c)
        _need_finite(history[-1])
        converged = bool(np.abs(v - before).max() <= tol)
    return Aggregate(v, F[:, :c], np.array(history), converged)


def _need_finite(found: Vector | float) -> None:
    if not np.isfinite(found).all():
        msg = (
            "AASC cannot weigh these kernels: most of their values are 0, or too small beside the others. "
            "Use kernels with similarities between samples, or scale them."
        )
        raise NotFiniteError(msg)


def degree_and_smoothness(W: Matrix, F: Matrix) -> tuple[Vector, Vector]:
    """α_k = Tr(F'D_kF)/c and β_k = Tr(F'L_kF)/c for every affinity; α is floored where F has no degree."""
    f = np.einsum("ij,ij->i", F, F)
    alpha = np.array([f @ Wk.sum(axis=1) for Wk in W], dtype=np.float64) / F.shape[1]
    inner = np.array([np.vdot(F, Wk @ F) for Wk in W], dtype=np.float64) / F.shape[1]
    floor = np.finfo(np.float64).eps * float(np.abs(alpha).max())
    return np.where(np.abs(alpha) > floor, alpha, floor), alpha - inner


def _generalised_embedding(W: Matrix, c: int) -> Matrix:
    """Minimise Tr(F'(D - W)F), F'DF = I: F = D^-1/2 P with P of the normalised affinity."""
    return np.asarray(inverse_roots(W.sum(axis=1))[:, None] * normalised_embedding(W, c))


def positive_weights(alpha: Vector, gamma: Vector) -> Vector:
    """Minimise Σ v² αγ over v >= 0, Σv = 1, Σ v²α = 1: v_k ∝ u_k/α_k, u_k = 1/(γ_k - x), (Σ u/α)² = Σ u²/α, x < min γ.

    The equation is solved in t = log(min γ - x): there the terms γ - x = (γ - min γ) + e^t lose no digits. Where it
    has no root below min γ, which is so if Σ 1/α >= 1 over the smallest γ alone, these share the weight.
    """
    delta = gamma - gamma.min()
    smallest = delta == 0
    logs = np.log(delta, out=np.full(len(delta), -np.inf), where=~smallest)

    def terms(t: float) -> Vector:
        # e^t / (δ + e^t) / α: the first factor is 1 for the smallest γ, and for all as t grows
        return np.asarray(expit(t - logs) / alpha)

    def excess(t: float) -> float:
        u = terms(t)
        return float(u.sum() ** 2 - (u**2 * alpha).sum())

    if smallest.all() or (1 / alpha[smallest]).sum() >= 1:
        v = np.where(smallest, 1 / alpha, 0)
        return np.asarray(v / v.sum())
    low, high = logs[~smallest].min() - 40, logs.max() + 40
    if excess(high) <= 0:  # Σ 1/α = 1 up to rounding: the root is at infinity, where all γ count as equal
        v = 1 / alpha
    else:
        v = terms(optimize.brentq(excess, low, high, xtol=1e-13)) if excess(low) < 0 else terms(low)
    return np.asarray(v / v.sum())


def released_weights(alpha: Vector, gamma: Vector) -> Vector:
    """v_k ∝ 1/(α_k(γ_k - x)) at the root x that Levenberg and Marquardt's method finds from -1; v may be negative."""

    def excess(x: Vector) -> Vector:
        u = 1 / (gamma - x)
        return np.array([abs((u / alpha).sum() ** 2 / (u**2 / alpha).sum()) - 1])

    with np.errstate(all="ignore"):  # the solver may evaluate a pole, and continues from there
        x = optimize.root(excess, np.array([-1.0]), method="lm").x
    v = float(np.abs(alpha).max()) / alpha / (gamma - x)  # up to a factor
    return np.asarray(v / v.sum())


_RULES = {
    "positive": Rule(_generalised_embedding, 1, slice(None), positive_weights),
    "released": Rule(embedding, 2, slice(1, 2), released_weights),
}
