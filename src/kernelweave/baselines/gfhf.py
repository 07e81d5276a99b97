"""GFHF: Gaussian fields and harmonic functions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from kernelweave._types import Mask, Matrix
from kernelweave.core.graphs.propagation import class_mass_normalised, harmonic_scores
from kernelweave.estimators._classifier import TransductiveClassifier
from kernelweave.estimators._estimator import KernelLike
from kernelweave.kernels import Gaussian

__all__ = ["GFHF"]


class GFHF(TransductiveClassifier):
    r"""Classes from a few labels by harmonic functions: every unlabelled score is the mean of its neighbours'.

    .. math:: \min_F\ \tfrac{1}{2} \sum_{ij} W_{ij} \|f_i - f_j\|^2 \quad \text{s.t. } F_l = Y_l,

    solved by :math:`(D_{uu} - W_{uu}) F_u = W_{ul} Y_l`, with W the kernel matrix, negative similarities set to 0. The
    diagonal of W plays no part. This is also called Laplace learning, mostly on a sparse graph of nearest neighbours
    in place of a kernel matrix: `LaplaceLearning`.

    Parameters
    ----------
    kernel : kernel, str or callable, default=None
        The similarity of samples: a `Kernel`, the name of a scikit-learn metric, a function of two samples, or
        "precomputed": then `fit` takes a kernel matrix. None is ``Gaussian(t=0.1)``.
    class_mass : bool, default=False
        Whether to scale the scores of every class so that their sum over the unlabelled samples fits the class's share
        among the labelled ones. It helps where labels are few, if these shares are right.
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
        The similarities W.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if the kernel is "precomputed".

    See Also
    --------
    sklearn.semi_supervised.LabelPropagation : An iteration that has the same limit.
    LaplaceLearning : The same on a sparse graph of nearest neighbours.

    References
    ----------
    Zhu, Ghahramani, Lafferty: Semi-supervised learning using Gaussian fields and harmonic functions. ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import GFHF
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5::10] = y[7::10] = -1  # unlabelled
    >>> GFHF().fit(X, y).predict(X[5:8])
    array([0, 0, 0])
    """

    _default_kernel = Gaussian(t=0.1)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransductiveClassifier._parameter_constraints,
        "class_mass": ["boolean"],
    }

    def __init__(self, kernel: KernelLike = None, *, class_mass: bool = False, n_jobs: int | None = None) -> None:
        self.kernel = kernel
        self.class_mass = class_mass
        self.n_jobs = n_jobs

    def _classify(self, H: Matrix, Y: Matrix, labelled: Mask) -> tuple[Matrix, dict[str, Any]]:
        W = np.maximum(H[0], 0)
        F = harmonic_scores(W, Y, labelled).scores
        return class_mass_normalised(F, labelled) if self.class_mass else F, {"graph_": W}
