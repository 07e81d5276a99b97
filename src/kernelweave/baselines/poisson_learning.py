"""Poisson learning: labels as sources and sinks on a sparse graph of nearest neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelweave._types import Graph, HasShape, Labels, Mask, Matrix, Vector
from kernelweave.baselines.neighbour_graph import NeighbourClassifier, warn_if_unsolved
from kernelweave.core.graphs.propagation import LabelScores, normalised_solve, without_loops
from kernelweave.errors import InvalidInputError
from kernelweave.estimators._classifier import TransductiveClassifier
from kernelweave.estimators._estimator import KernelLike

__all__ = ["PoissonLearning", "label_sources", "poisson_scores"]


class PoissonLearning(NeighbourClassifier):
    r"""Classes from very few labels by the Poisson equation on the graph of nearest neighbours.

    .. math:: \min_F\ \tfrac{1}{4} \sum_{ij} W_{ij} \|f_i - f_j\|^2 - \sum_{i \in l} (y_i - \bar y)^\top f_i
              \quad \text{s.t. } \sum_i d_i f_i = 0,

    solved by :math:`L f_i = y_i - \bar y` on the labelled samples and :math:`L f_i = 0` on all others, with
    :math:`\bar y` the mean of the labels. W is the graph of `LaplaceLearning`. A label is a source of its class and a
    sink of the others instead of a fixed value, so that it is felt far away even where there is one per class. A sample
    gets the class with the largest score. Given labels are not fixed.

    It is good for one to five labels per class, where harmonic functions (`LaplaceLearning`, `GFHF`) are nearly
    constant; with many labels per class it gains nothing over them. It costs the exact neighbours, up to
    :math:`O(n^2 d)` operations, and one sparse linear system for all classes; its memory is linear in n.

    Parameters
    ----------
    kernel : kernel, str or callable, default=None
        Whose distances count: None, those of the features as they are; a kernel, those of its space. "precomputed":
        `fit` takes Gram matrices. With a kernel, n x n matrices are needed.
    n_neighbors : int, default=10
        How many neighbours a sample is joined to, before the graph is made symmetric.
    priors : array of shape (n_classes,), default=None
        The expected share of every class in the order of `classes_`, if known: scores are multiplied by it and divided
        by the share of the class among the labels. None leaves the scores as they are.
    n_jobs : int or None, default=None
        Threads of BLAS and OpenMP during `fit`: None takes one below 2000 samples and else leaves them as they are,
        -1 takes every core.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The class labels.
    transduction_ : array of shape (n_samples,)
        The class of every sample of `fit`, inferred for labelled samples too.
    label_distributions_ : array of shape (n_samples, n_classes)
        The positive scores of every sample of `fit`, scaled to sum to one.
    scores_ : array of shape (n_samples, n_classes)
        The solution F; every row sums to 0 without priors.
    undecided_ : array of bool of shape (n_samples,)
        Which samples no label reaches on the graph; their distribution is uniform.
    graph_ : sparse array of shape (n_samples, n_samples)
        The graph W. With several views, which the paper does not have, the mean of their graphs; for two samples, that
        of the views with both.
    n_features_in_ : int
        The number of features seen in `fit`, of all views together; of samples, if the kernel is "precomputed".

    See Also
    --------
    LaplaceLearning : Harmonic functions on the same graph.

    Notes
    -----
    The equation has a solution on every connected component of the graph only if the sources in it sum to 0. Where the
    graph is not connected, each component is therefore a problem of its own, with the mean of its own labels; where
    these are all of one class, every sample of the component gets it. The paper's figures (MNIST, FashionMNIST,
    CIFAR-10) use features of autoencoders, which are not distributed with this package, and are not reproduced here.
    Poisson MBO, the paper's variant with given class sizes, is not part of this class.

    References
    ----------
    Calder, Cook, Thorpe, Slepčev: Poisson learning: Graph based semi-supervised learning at very low label rates. ICML
    2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import PoissonLearning
    >>> X, y = load_iris(return_X_y=True)
    >>> one_each = np.full(150, -1)
    >>> one_each[[0, 50, 100]] = y[[0, 50, 100]]
    >>> PoissonLearning().fit(X, one_each).predict(X[5:8])
    array([0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransductiveClassifier._parameter_constraints,
        "priors": ["array-like", None],
    }

    scores_: Matrix

    def __init__(
        self,
        kernel: KernelLike = None,
        *,
        n_neighbors: int = 10,
        priors: Sequence[float] | HasShape | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.priors = priors
        self.n_jobs = n_jobs

    def _classify(self, H: Graph, Y: Matrix, labelled: Mask) -> tuple[Matrix, dict[str, Any]]:
        """Return the scores of the Poisson equation; H is the graph."""
        found = poisson_scores(H, Y, labelled)
        warn_if_unsolved(type(self).__name__, found, stacklevel=3)
        F = found.scores
        if self.priors is not None:
            F = F * (_read_priors(self.priors, Y.shape[1]) / Y[labelled].mean(axis=0)).astype(F.dtype)
        return _with_lone_classes(F, Y, _components(H)), {"graph_": H, "scores_": F}


def label_sources(Y: Matrix, labelled: Mask, part: Labels) -> Matrix:
    """B_i = y_i - mean label of the component of i if i is labelled, else 0; it sums to 0 in every component."""
    counts = np.bincount(part[labelled], minlength=int(part.max()) + 1)
    sums = np.zeros((len(counts), Y.shape[1]))
    np.add.at(sums, part[labelled], Y[labelled])
    B = np.zeros(Y.shape)
    B[labelled] = Y[labelled] - (sums / np.maximum(counts, 1)[:, None])[part[labelled]]
    return B


def poisson_scores(S: Graph, Y: Matrix, labelled: Mask) -> LabelScores:
    """LF = B with Σ_i d_i f_i = 0 in every component that has a label; rows of samples that no label reaches are 0.

    One sample per component is fixed at 0 while the others are solved for, which makes the system definite; a constant
    is then added to each component.
    """
    W = without_loops(S)
    part, d = _components(W), np.asarray(W.sum(axis=1), dtype=np.float64).ravel()
    B = label_sources(Y, labelled, part)
    F = np.zeros(Y.shape)
    unknown = np.isin(part, part[labelled])
    unknown[np.unique(part, return_index=True)[1]] = False
    if not unknown.any():
        return LabelScores(F.astype(S.dtype))
    root = 1 / np.sqrt(d[unknown])
    solved, converged, n_iter = normalised_solve(W[unknown][:, unknown], root, B[unknown] * root[:, None], 1.0)
    F[unknown] = solved * root[:, None]
    return LabelScores(_without_mean(F, d, part).astype(S.dtype), converged, n_iter)


def _components(S: Graph) -> Labels:
    """Return the number of the connected component of every sample."""
    return np.asarray(connected_components(sparse.csr_array(S), directed=False)[1])


def _without_mean(F: Matrix, d: Vector, part: Labels) -> Matrix:
    """F minus its mean in every component, samples weighted by their degrees."""
    total = np.zeros((int(part.max()) + 1, F.shape[1]))
    np.add.at(total, part, d[:, None] * F)
    mass = np.bincount(part, weights=d)
    return np.asarray(F - np.divide(total, mass[:, None], out=np.zeros_like(total), where=mass[:, None] > 0)[part])


def _with_lone_classes(F: Matrix, Y: Matrix, part: Labels) -> Matrix:
    """F with the class itself as the score of every component whose labels are all of one class."""
    has = np.zeros((int(part.max()) + 1, Y.shape[1]), dtype=bool)
    samples, classes = np.nonzero(Y)
    has[part[samples], classes] = True
    lone = (np.count_nonzero(has, axis=1) == 1)[part]
    return np.where(lone[:, None], has[part], F).astype(F.dtype)


def _read_priors(priors: Sequence[float] | HasShape, n_classes: int) -> Vector:
    """Return the expected shares of the classes, checked."""
    given = np.asarray(priors)
    shares = given.astype(np.float64) if given.dtype.kind in "fiu" else np.empty(0)
    if shares.shape != (n_classes,) or not (np.isfinite(shares).all() and (shares > 0).all()):
        msg = f"priors must be {n_classes} positive numbers, one for each class in y; got {priors!r}."
        raise InvalidInputError(msg)
    return shares
