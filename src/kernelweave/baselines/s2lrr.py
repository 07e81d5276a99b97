"""S2LRR: low-rank self-expression in turns with semi-supervised labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelweave._types import Matrix
from kernelweave.baselines.low_rank_codes import low_rank_codes, low_rank_objective, low_rank_start
from kernelweave.baselines.self_expression import Codes, SelfExpressiveClassifier
from kernelweave.core.algebra.matrices import largest_columns
from kernelweave.estimators._estimator import KernelLike

__all__ = ["S2LRR", "strongest_per_column"]

_SINGLE_FROM = 500  # samples: below, a fit in double precision takes seconds
_SINGLE_TOL = 1e-4  # residuals in single precision reach 1e-5 or so
_RANGE = 1e15  # of the weights of a problem, up and down, so that their products do not overflow in float32
_ROUNDING = 0.01  # of λG in float32: the nuclear norm of the codes has weight 1


class S2LRR(SelfExpressiveClassifier):
    r"""Classes from a few labels and a graph of low-rank codes, which are learned together with the labels.

    .. math:: \min_{C, F}\ \|C\|_* + \alpha \sum_{ij} |C_{ij}| \tfrac{1}{2} \|f_i - f_j\|^2
              + \tfrac{\lambda}{2} \|X - XC\|_F^2 \quad \text{s.t. } \mathrm{diag}\, C = 0,\ F_l = Y_l,

    in turns: C by ADMM; F harmonic on a graph of the strongest entries of C. X enters by its Gram matrix only.

    The problem is a reconstruction: the paper's equations were not available, so it follows related methods
    (low-rank representation, Liu et al., 2013) with the Frobenius loss. C is dense, and labels spread over all of it
    would meet everywhere: the graph keeps the `n_neighbors` strongest entries per column, so the objective may rise
    when F is updated.

    Parameters
    ----------
    kernel : kernel, str or callable, default=None
        The inner product of samples; None is the linear kernel. "precomputed": `fit` takes a Gram matrix.
        :math:`\lambda` is in units of :math:`1/\|x\|^2`: scale samples to unit length first, or use
        ``kernels.Cosine()``.
    alpha : float, default=0.5
        How much an entry of C costs between samples of different classes; at least 0.
    lam : float, default=5
        Weight :math:`\lambda` of the error of expression. If :math:`\lambda` times the largest eigenvalue of the Gram
        matrix is at most 1, C is 0 and every unlabelled sample is undecided.
    n_neighbors : int, default=10
        How many entries of every column of C become edges.
    max_iter : int, default=20
        The most rounds of codes and labels.
    tol : float, default=1e-2
        Stop when the labels' relative change falls to it.
    code_max_iter : int, default=1000
        The most iterations of ADMM in a round.
    code_tol : float, default=1e-3
        ADMM stops when its relative residuals, primal and dual, fall to it. From 500 samples on, ADMM runs in single
        precision unless this is below 1e-4, or :math:`\lambda` times the Gram matrix is large.
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
        The graph of the strongest codes.
    n_iter_ : int
        The number of rounds.
    history_ : dict of arrays with an entry for every iteration
        Of every round: "objective" after its codes (in the first, without labels), relative "change" of the labels,
        "residual" of ADMM (the larger of its two), "code_iterations" and "seconds".
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
    >>> from kernelweave.baselines import S2LRR
    >>> from kernelweave.kernels import Cosine
    >>> X, y = load_iris(return_X_y=True)
    >>> y[5::10] = y[7::10] = -1  # unlabelled
    >>> S2LRR(Cosine(), lam=1000).fit(X, y).predict(X[5:8])
    array([0, 0, 0])
    """

    def __init__(
        self,
        kernel: KernelLike = None,
        *,
        alpha: float = 0.5,
        lam: float = 5,
        n_neighbors: int = 10,
        max_iter: int = 20,
        tol: float = 1e-2,
        code_max_iter: int = 1000,
        code_tol: float = 1e-3,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.lam = lam
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.code_max_iter = code_max_iter
        self.code_tol = code_tol
        self.n_jobs = n_jobs

    def _codes(self, G: Matrix, theta: Matrix, before: Codes | None) -> Codes:
        g = G.astype(self._coded_in(G), copy=False)
        start = low_rank_start(len(g), g.dtype) if before is None else before.end
        T = (self.alpha * theta).astype(g.dtype)
        found = low_rank_codes(g, T, self.lam, start=start, tol=self.code_tol, max_iter=self.code_max_iter)
        C, objective = found.C.astype(G.dtype, copy=False), low_rank_objective(g, found, T, self.lam)
        return Codes(C, objective, found.residual, found.n_iter, found.converged, end=found)

    def _coded_in(self, G: Matrix) -> np.dtype[Any]:
        single = len(G) >= _SINGLE_FROM and self.code_tol >= _SINGLE_TOL and _fits_single(G, self.lam, self.alpha)
        return np.dtype(np.float32) if single else G.dtype

    def _affinity(self, C: Matrix) -> Matrix:
        return strongest_per_column(np.abs(C), int(self.n_neighbors))


def _fits_single(G: Matrix, lam: float, alpha: float) -> bool:
    """Return whether λG, the weights of the codes and what they are divided by do not overflow in float32.

    The rounding of λG makes eigenvalues of G negative, by up to Tr(G) times the precision. If ρ, which is about 1/λ, is
    not much larger, ADMM overflows.
    """
    largest = lam * float(G.diagonal().max())
    if not 1 / _RANGE <= lam <= _RANGE or lam * float(np.trace(G)) * np.finfo(np.float32).eps > _ROUNDING:
        return False
    return largest == 0 or (largest >= 1 / _RANGE and alpha <= largest * _RANGE)


def strongest_per_column(W: Matrix, k: int) -> Matrix:
    """W with all but the k largest entries of every column at 0."""
    if k >= len(W):
        return W
    kept = largest_columns(W.T, k).T
    strongest = np.zeros_like(W)
    np.put_along_axis(strongest, kept, np.take_along_axis(W, kept, axis=0), axis=0)
    return strongest
