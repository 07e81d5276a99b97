"""The graph problem with S >= 0 solved to optimality, all columns at once.

Every column is a nonnegative least squares problem with the same matrix. Block principal pivoting (Kim & Park, 2011)
guesses which entries are positive, solves the linear system on these, and exchanges the entries that are of the wrong
sign: a few small factorisations per column, where first-order methods take thousands of products of n x n matrices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from kernelweave._types import Mask, Matrix
from kernelweave.core.paper.closed_forms import label_distances

__all__ = ["NotOptimalError", "exact_graph_step", "optimality_gap"]

_MAX_SWEEPS = 500
_PATIENCE = 3  # full exchanges of a column without progress, before its entries are exchanged one at a time


class NotOptimalError(ArithmeticError):
    """The KKT conditions were not reached: too many sweeps, or a problem that is not strictly convex."""


def exact_graph_step(K: Matrix, P: Matrix, S: Matrix, *, alpha: float, gamma: float, tol: float) -> Matrix:
    """Eq. 12: min Tr(-2KS + S'KS) + γ||S||² + (α/2)<G, S> over S >= 0, from a start S, to KKT residual `tol`.

    The columns share the Hessian Q = K + γI, which must be positive definite. A start with the right entries above 0
    is solved in one sweep over the columns.
    """
    B = label_distances(P, squared=True)
    B *= -alpha / 4
    B += K
    Q = K.copy()
    Q.flat[:: len(K) + 1] += gamma
    slack = tol * float(np.abs(B).max())
    X = _pivot(Q, B, S > 0, slack)
    if X is None or not optimality_gap(X, Q, B) <= slack:
        msg = f"The KKT conditions do not hold to {tol:g} after {_MAX_SWEEPS} sweeps: raise gamma."
        raise NotOptimalError(msg)
    return X


def optimality_gap(S: Matrix, Q: Matrix, B: Matrix) -> float:
    """Largest violation of the KKT conditions min(S, QS - B) = 0."""
    return float(np.abs(np.minimum(S, Q @ S - B)).max())


def _pivot(Q: Matrix, B: Matrix, F: Mask, slack: float) -> Matrix | None:
    """Return X >= 0 with QX >= B and X = 0 where QX > B, from a guess F of where X > 0; None if sweeps run out."""
    n = len(Q)
    F, X = F.copy(), np.zeros_like(B)
    left = np.arange(n)
    fewest, patience = np.full(n, n + 1), np.full(n, _PATIENCE)
    for _ in range(_MAX_SWEEPS):
        now = F[:, left]
        found = _on_supports(Q, B[:, left], now)
        X[:, left] = np.maximum(found, 0)
        # the second threshold is larger, so that rounding errors do not remove and add an entry again and again
        wrong = np.where(now, found < -slack / 1000, Q @ found - B[:, left] < -slack / 2)
        count = wrong.sum(axis=0)
        better = count < fewest[left]
        patience[left] = np.where(better, _PATIENCE, patience[left] - 1)
        fewest[left] = np.minimum(count, fewest[left])
        F[:, left] ^= np.where(patience[left] >= 0, wrong, _last(wrong))
        left = left[count > 0]
        if not len(left):
            return X
    return None


def _on_supports(Q: Matrix, B: Matrix, F: Mask) -> Matrix:
    """Return x_F = Q_FF^-1 b_F, 0 elsewhere, for every column of B and F."""
    (posv,) = get_lapack_funcs(("posv",), (Q,))
    X = np.zeros_like(B)
    for j in range(B.shape[1]):
        own = np.flatnonzero(F[:, j])
        if len(own):
            _, x, info = posv(Q[np.ix_(own, own)], B[own, j], overwrite_a=True)
            if info != 0:
                msg = "K + gamma I is not positive definite, so the graph problem has no unique minimum: raise gamma."
                raise NotOptimalError(msg)
            X[own, j] = x
    return X


def _last(wrong: Mask) -> Mask:
    """Return the last True of every column alone: exchanges by this rule cannot cycle (Murty, 1974)."""
    rows: NDArray[np.intp] = len(wrong) - 1 - np.argmax(wrong[::-1], axis=0)
    return np.asarray(wrong & (np.arange(len(wrong))[:, None] == rows))
