"""Laplace learning: harmonic functions on a sparse graph of nearest neighbours."""

from __future__ import annotations

from typing import Any

from kernelweave._types import Graph, Mask, Matrix
from kernelweave.baselines.neighbour_graph import NeighbourClassifier, warn_if_unsolved
from kernelweave.core.graphs.propagation import harmonic_scores
from kernelweave.estimators._estimator import KernelLike

__all__ = ["LaplaceLearning"]


class LaplaceLearning(NeighbourClassifier):
    r"""Classes from a few labels by harmonic functions on the graph of nearest neighbours.

    .. math:: \min_F\ \tfrac{1}{2} \sum_{ij} W_{ij} \|f_i - f_j\|^2 \quad \text{s.t. } F_l = Y_l,

    with :math:`W = (C + C^\top)/2`, :math:`C_{ij} = \exp(-4 \|x_i - x_j\|^2 / d_i^2)` for the `n_neighbors` nearest
    samples j of i, and 0 otherwise, where :math:`d_i` is the distance of the farthest of them. The problem is that of
    `GFHF`, which takes the whole kernel matrix as W; only the graph is different. It is the one that Laplace learning
    is usually compared on.

    It is good for data of many samples with some labels per class: the graph has no scale to choose, and the memory is
    linear in n. With very few labels, one or two per class, almost all samples get almost the same scores, and most of
    them the class of the best connected label; use `PoissonLearning` then. The neighbours are exact, up to
    :math:`O(n^2 d)` operations; the linear system is sparse.

    Parameters
    ----------
    kernel : kernel, str or callable, default=None
        Whose distances count: None, those of the features as they are; a kernel, those of its space. "precomputed":
        `fit` takes Gram matrices. With a kernel, n x n matrices are needed.
    n_neighbors : int, default=10
        How many neighbours a sample is joined to, before the graph is made symmetric.
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
    graph_ : sparse array of shape (n_samples, n_samples)
        The graph W. With several views, which the papers do not have, the mean of their graphs; for two samples, that
        of the views with both.
    n_features_in_ : int
        The number of features seen in `fit`, of all views together; of samples, if the kernel is "precomputed".

    See Also
    --------
    GFHF : The same on the whole kernel matrix.
    PoissonLearning : For very few labels.

    References
    ----------
    Zhu, Ghahramani, Lafferty: Semi-supervised learning using Gaussian fields and harmonic functions. ICML 2003.

    Calder, Cook, Thorpe, Slepčev: Poisson learning: Graph based semi-supervised learning at very low label rates. ICML
    2020 (the graph).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import LaplaceLearning
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5::10] = y[7::10] = -1  # unlabelled
    >>> LaplaceLearning().fit(X, y).predict(X[5:8])
    array([0, 0, 0])
    """

    def __init__(self, kernel: KernelLike = None, *, n_neighbors: int = 10, n_jobs: int | None = None) -> None:
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs

    def _classify(self, H: Graph, Y: Matrix, labelled: Mask) -> tuple[Matrix, dict[str, Any]]:
        """Return the harmonic scores; H is the graph."""
        found = harmonic_scores(H, Y, labelled)
        warn_if_unsolved(type(self).__name__, found, stacklevel=3)
        return found.scores, {"graph_": H}
