"""LGC: learning with local and global consistency."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.utils import check_scalar

from kernelweave._types import Matrix
from kernelweave.core.graphs.propagation import reached
from kernelweave.estimators._base import OneKernel
from kernelweave.estimators._run import threads
from kernelweave.estimators._transductive import TransductiveClassifier
from kernelweave.kernels import Gaussian
from kernelweave.kernels.products import inverse_roots

__all__ = ["LGC", "consistent_scores"]


class LGC(OneKernel, TransductiveClassifier):
    r"""Classes from a few labels by local and global consistency: scores near the labels, and smooth on the graph.

    .. math:: \min_F\ \tfrac12 \sum_{ij} W_{ij} \Big\| \frac{f_i}{\sqrt{d_i}} - \frac{f_j}{\sqrt{d_j}} \Big\|^2
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
        Threads of BLAS and OpenMP during `fit`: None leaves them as they are, -1 takes every core.

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

    def __init__(
        self, kernel: Any = None, *, alpha: float = 0.99, zero_diagonal: bool = True, n_jobs: int | None = None
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.zero_diagonal = zero_diagonal
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Find the classes of the unlabelled samples.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Labelled and unlabelled samples in any order; or their kernel matrix (n_samples, n_samples), if the kernel
            is "precomputed".
        y : array of shape (n_samples,)
            The class of every labelled sample, and -1 for the unlabelled ones.

        Returns
        -------
        self
        """
        self._check_parameters()
        check_scalar(self.alpha, "alpha", Real, min_val=0, max_val=1, include_boundaries="neither")
        with threads(self.n_jobs):
            H = self._build_kernels(X)
            Y, labelled = self._read_labels(y, H)
            self.graph_ = np.maximum(H[0], 0)
            if self.zero_diagonal:
                np.fill_diagonal(self.graph_, 0)
            F = consistent_scores(self.graph_, Y, self.alpha)
        self._keep_labels(F, ~reached(self.graph_, labelled), advice="use a wider kernel")
        self._remember(X, H)
        return self


def consistent_scores(W: Matrix, Y: Matrix, alpha: float) -> Matrix:
    """F = (I - α D^-1/2 W D^-1/2)^-1 Y for W >= 0; a sample without similarities keeps its label."""
    s = inverse_roots(W.sum(axis=1))
    A = W * (-alpha * s) * s[:, None]
    A.flat[:: len(A) + 1] += 1
    return np.asarray(linalg.solve(A, Y, assume_a="pos", check_finite=False))
