"""S3R: sparse self-expression in turns with semi-supervised labels."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix
from kernelweave.baselines.self_expression import Codes, SelfExpressiveClassifier
from kernelweave.baselines.sparse_codes import code_objective, sparse_codes
from kernelweave.estimators._estimator import KernelLike

__all__ = ["S3R"]


class S3R(SelfExpressiveClassifier):
    r"""Classes from a few labels and a graph of sparse codes, which are learned together with the labels.

    .. math:: \min_{C, F}\ \|C\|_1 + \alpha \sum_{ij} |C_{ij}| \tfrac{1}{2} \|f_i - f_j\|^2
              + \tfrac{\lambda}{2} \|X - XC\|_F^2 \quad \text{s.t. } \mathrm{diag}\, C = 0,\ F_l = Y_l,

    in turns: C is a weighted lasso per sample; F is harmonic on the graph :math:`(|C| + |C|^\top)/2`. Neither turn
    ever raises the objective. X enters by its Gram matrix only.

    The problem is a reconstruction: the paper's equations were not available, so it follows related methods
    (structured sparse subspace clustering, Li & Vidal, CVPR 2015) with the Frobenius loss. The lassos are solved to
    their conditions of optimality, by ADMM and an active-set search on working sets, instead of a fixed number of dense
    ADMM iterations.

    Parameters
    ----------
    kernel : kernel, str or callable, default=None
        The inner product of samples; None is the linear kernel. "precomputed": `fit` takes a Gram matrix.
        :math:`\lambda` is in units of :math:`1/\|x\|^2`: scale samples to unit length first, or use
        ``kernels.Cosine()``.
    alpha : float, default=0.1
        How much more an entry of C costs between samples of different classes; at least 0.
    lam : float, default=20
        Weight :math:`\lambda` of the error of expression. If :math:`\lambda |x_i^\top x_j| \le 1` for all pairs, C is
        0 and every unlabelled sample is undecided.
    max_iter : int, default=20
        The most rounds of codes and labels.
    tol : float, default=1e-3
        Stop when the labels' relative change falls to it.
    code_max_iter : int, default=1000
        The most iterations on a working set.
    code_tol : float, default=1e-4
        The most by which codes may violate the conditions of optimality, in units of the l1 norm's weight.
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
    codes_ : array of shape (n_samples, n_samples)
        The codes C, one sample per column.
    graph_ : array of shape (n_samples, n_samples)
        The graph of the codes.
    n_iter_ : int
        The number of rounds.
    history_ : dict of arrays with an entry for every iteration
        Of every round: "objective" after its codes (in the first, without labels), relative "change" of the labels,
        "residual" (the codes' largest violation of optimality), "code_iterations" and "seconds".
    n_features_in_ : int
        The number of features seen in `fit`; of samples, if the kernel is "precomputed".

    Notes
    -----
    A sample that occurs twice is expressed mostly by its copy, so that the graph may fall apart: drop copies first.

    References
    ----------
    Li, Lin, Zhang, Guo: Learning semi-supervised representation towards a unified optimization framework for
    semi-supervised learning. ICCV 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kernelweave.baselines import S3R
    >>> from kernelweave.kernels import Cosine
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5::10] = y[7::10] = -1  # unlabelled
    >>> S3R(Cosine(), lam=1000).fit(X, y).predict(X[5:8])
    array([0, 0, 0])
    """

    def __init__(
        self,
        kernel: KernelLike = None,
        *,
        alpha: float = 0.1,
        lam: float = 20,
        max_iter: int = 20,
        tol: float = 1e-3,
        code_max_iter: int = 1000,
        code_tol: float = 1e-4,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.lam = lam
        self.max_iter = max_iter
        self.tol = tol
        self.code_max_iter = code_max_iter
        self.code_tol = code_tol
        self.n_jobs = n_jobs

    def _codes(self, G: Matrix, theta: Matrix, before: Codes | None) -> Codes:
        start = np.zeros_like(G) if before is None else before.C
        T = (1 + self.alpha * theta).astype(G.dtype, copy=False)
        tol, max_iter = float(self.code_tol), int(self.code_max_iter)
        found = sparse_codes(G, T, self.lam, start=start, tol=tol, max_iter=max_iter)
        objective = code_objective(G, found.C, T, self.lam)
        return Codes(found.C, objective, found.residual, found.n_iter, found.converged, end=None)

    def _affinity(self, C: Matrix) -> Matrix:
        return np.abs(C)
