"""SCAN: semi-supervised classification with adaptive neighbours, from one or several views."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import StrOptions

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.baselines.adaptive_neighbours import (
    neighbour_objective,
    neighbour_ridge,
    neighbour_start,
    neighbour_step,
    view_weights,
)
from kernelweave.baselines.label_change import label_change, warn_if_changing
from kernelweave.baselines.view_distances import distance_bank, distances_by_view, gap_distances
from kernelweave.core.graphs.propagation import harmonic_scores
from kernelweave.core.paper.closed_forms import label_distances
from kernelweave.estimators._classifier import TransductiveClassifier
from kernelweave.estimators._estimator import KernelLike
from kernelweave.kernels.view_bank import Bank
from kernelweave.samples.precomputed import KernelStack
from kernelweave.samples.views import Views

__all__ = ["SCAN"]


class SCAN(TransductiveClassifier):
    r"""Classes from a few labels and a graph of adaptive neighbours, learned with the labels from one or several views.

    .. math:: \min_{S, F}\ \sum_{ij} d_{ij} s_{ij} + \gamma \|S\|_F^2 + \lambda \sum_{ij} s_{ij} \|f_i - f_j\|^2
              \quad \text{s.t. } S \ge 0,\ S 1 = 1,\ \mathrm{diag}\, S = 0,\ F_l = Y_l,

    with d the squared distances. Of several views, :math:`\sum_v \sqrt{\sum_{ij} d^v_{ij} s_{ij}}` takes the place of
    the first term, which weighs view v by :math:`w_v = 1 / (2 \sqrt{\sum_{ij} d^v_{ij} s_{ij}})`. F (harmonic on S), S
    (a projection on the simplex per sample) and w in turns never raise the objective.
    :math:`\gamma` is set so that samples have about `n_neighbors` neighbours at the start.

    The problem is a reconstruction: the paper's equations were not available, so start, ridge and weights follow
    a related method (clustering with adaptive neighbours, Nie et al., KDD 2014). With several views the
    ridge is computed from the distances under the first weights. Where samples are missing from views, two samples
    are compared by the views that have both, which count for more in proportion.

    Parameters
    ----------
    kernel : kernel, str or callable, default=None
        Whose distances count: None, those of the features as they are; a kernel, those of its space. "precomputed":
        `fit` takes Gram matrices. "distances": `fit` takes squared distances.
    n_neighbors : int, default=9
        About how many neighbours a sample has at the start; at most n_samples - 2 are used.
    lam : float or "auto", default="auto"
        Weight :math:`\lambda` of the labels' smoothness; "auto" is :math:`\gamma`. Large values cut groups of
        unlabelled samples off, which are undecided then.
    max_iter : int, default=30
        The most iterations.
    tol : float, default=1e-5
        Stop when the labels' relative change falls to it.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels.
    transduction_ : array of shape (n_samples,)
        The class of every sample of `fit`, given or inferred.
    label_distributions_ : array of shape (n_samples, n_classes)
        The probability of every class for every sample of `fit`.
    undecided_ : array of bool of shape (n_samples,)
        Which samples no label reaches on the graph; their distribution is uniform.
    graph_ : array of shape (n_samples, n_samples)
        The graph S; rows sum to one.
    view_weights_ : array of shape (n_views,)
        The weights w; one view weighs 1.
    view_names_ : tuple of str
        The views' names in the order of the weights.
    gamma_, lam_ : float
        The ridge, and the weight of the labels' smoothness, that were used.
    n_iter_ : int
        The number of iterations.
    history_ : dict of arrays with an entry for every iteration
        The "objective" after every iteration, and the labels' relative "change" in it.
    n_features_in_ : int
        The number of features seen in `fit`, of all views together; of samples, if there are no features.

    References
    ----------
    Nie, Cai, Li: Multi-view clustering and semi-supervised classification with adaptive neighbours. AAAI 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import SCAN
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5::10] = y[7::10] = -1  # unlabelled
    >>> SCAN().fit(X, y).predict(X[5:8])
    array([0, 0, 0])
    >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
    >>> SCAN().fit(views, y).view_weights_.shape
    (2,)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransductiveClassifier._parameter_constraints,
        "lam": [*TransductiveClassifier._parameter_constraints["lam"], StrOptions({"auto"})],
    }
    _of_matrices = ("precomputed", "distances")
    _advice = "lower lam or raise n_neighbors"

    view_weights_: Vector
    gamma_: float
    lam_: float
    n_iter_: int
    history_: dict[str, Vector]

    def __init__(
        self,
        kernel: KernelLike = None,
        *,
        n_neighbors: int = 9,
        lam: float | Literal["auto"] = "auto",
        max_iter: int = 30,
        tol: float = 1e-5,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.lam = lam
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs

    def _build_kernels(self, samples: Views | KernelStack) -> tuple[Bank, Matrix]:
        """Return the bank, and the squared distances (v, n, n) of the samples in every view."""
        bank = distance_bank(self.kernel, samples)
        self._check_memory(samples, len(bank))
        parts = distances_by_view("SCAN", self.kernel, samples)
        if not samples.complete:
            return bank, gap_distances(parts, samples.present)
        return bank, np.stack(parts)

    def _classify(self, H: Matrix, Y: Matrix, labelled: Mask) -> tuple[Matrix, dict[str, Any]]:
        """Update graph, labels and weights in turn, until the labels converge; H holds squared distances D."""
        D = H
        k = min(int(self.n_neighbors), len(Y) - 2)
        S = neighbour_start(D.mean(axis=0), k)
        w = view_weights(D, S)
        gamma = neighbour_ridge(_weighted(w, D), k)
        lam = gamma if self.lam == "auto" else float(self.lam)
        F = harmonic_scores(S, Y, labelled).scores
        history: list[tuple[float, float]] = []
        while True:
            S = neighbour_step(_weighted(w, D) + lam * label_distances(F, squared=True), gamma)
            F_before, F = F, harmonic_scores(S, Y, labelled).scores
            w = view_weights(D, S)
            change = label_change(F, F_before)
            history.append((neighbour_objective(D, S, F, gamma=gamma, lam=lam), change))
            if change <= self.tol or len(history) == self.max_iter:
                break
        warn_if_changing("SCAN", change, tol=self.tol, max_iter=self.max_iter, stacklevel=3)
        return F, {
            "graph_": S,
            "view_weights_": w,
            "kernel_shares_": w / w.sum(),
            "gamma_": gamma,
            "lam_": lam,
            "n_iter_": len(history),
            "history_": dict(zip(("objective", "change"), np.array(history).T, strict=True)),
        }


def _weighted(w: Matrix, D: Matrix) -> Matrix:
    """Σ_v w_v D_v."""
    return np.tensordot(w, D, axes=1)
