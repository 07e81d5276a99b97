"""LGC: learning with local and global consistency."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from kernelweave._types import Mask, Matrix
from kernelweave.core.graphs.propagation import consistent
from kernelweave.estimators._classifier import TransductiveClassifier
from kernelweave.estimators._estimator import KernelLike, Number
from kernelweave.kernels import Gaussian

__all__ = ["LGC"]


class LGC(TransductiveClassifier):
    r"""Classes from a few labels by local and global consistency: scores near the labels, and smooth on the graph.

    .. math:: \min_F\ \tfrac{1}{2} \sum_{ij} W_{ij} \Bigl\| \frac{f_i}{\sqrt{d_i}} - \frac{f_j}{\sqrt{d_j}} \Bigr\|^2
              + \frac{1 - \alpha}{\alpha} \|F - Y\|_F^2,

    solved, up to a factor, by :math:`F = (I - \alpha D^{-1/2} W D^{-1/2})^{-1} Y`, with W the kernel matrix, negative
    similarities set to 0. Given labels are not fixed: a labelled sample among others of another class may change.

    Parameters
    ----------
    kernel : kernel, str or callable, default=None
        The similarity of samples: a `Kernel`, the name of a scikit-learn metric, a function of two samples, or
        "precomputed": then `fit` takes a kernel matrix. None is ``Gaussian(t=0.1)``.
    alpha : float, default=0.99
        How far labels spread, above 0 and below 1. Smaller values keep them nearer.
    zero_diagonal : bool, default=True
        Whether samples are not similar to themselves, as in the paper and in scikit-learn. The figures published with
        SMKL fit keeping the diagonal.
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
        The scores of every sample of `fit`, scaled to sum to one.
    undecided_ : array of bool of shape (n_samples,)
        Which samples no label reaches on the graph; their distribution is uniform.
    graph_ : array of shape (n_samples, n_samples)
        The similarities W.
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if the kernel is "precomputed".

    See Also
    --------
    sklearn.semi_supervised.LabelSpreading : An iteration that has the same limit, with the diagonal at zero.

    References
    ----------
    Zhou, Bousquet, Lal, Weston, Schölkopf: Learning with local and global consistency. NIPS 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import LGC
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5::10] = y[7::10] = -1  # unlabelled
    >>> LGC().fit(X, y).predict(X[5:8])
    array([0, 0, 0])
    """

    _default_kernel = Gaussian(t=0.1)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TransductiveClassifier._parameter_constraints,
        "alpha": [Number(Real, 0, 1, closed="neither")],
        "zero_diagonal": ["boolean"],
    }

    def __init__(
        self, kernel: KernelLike = None, *, alpha: float = 0.99, zero_diagonal: bool = True, n_jobs: int | None = None
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.zero_diagonal = zero_diagonal
        self.n_jobs = n_jobs

    def _classify(self, H: Matrix, Y: Matrix, labelled: Mask) -> tuple[Matrix, dict[str, Any]]:
        W = np.maximum(H[0], 0)
        if self.zero_diagonal:
            np.fill_diagonal(W, 0)
        return consistent(W, Y, self.alpha).scores, {"graph_": W}
