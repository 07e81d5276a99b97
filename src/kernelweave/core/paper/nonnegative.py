"""The graph problem with S >= 0 solved to optimality, all columns at once."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Matrix
from kernelweave.core.algebra.matrices import symmetric_inverse
from kernelweave.core.paper.graph_step import label_distances

__all__ = ["NotOptimalError", "exact_graph_step", "optimality_gap"]

_RELAXATION = 1.6
_MAX_SWEEPS = 5000


class NotOptimalError(ArithmeticError):
    """The largest number of sweeps was reached before the KKT conditions held."""


def exact_graph_step(K: Matrix, P: Matrix, S: Matrix, *, alpha: float, gamma: float, tol: float) -> Matrix:
    """Eq. 12: min Tr(-2KS + S'KS) + γ||S||² + (α/2)<G, S> over S >= 0, from a start S, to KKT residual `tol`.

    ADMM with one inverse: the columns share the Hessian Q = K + γI, which must be positive definite.
    """
    n = len(K)
    B = label_distances(P, squared=True)
    B *= -alpha / 4
    B += K
    Q = K.copy()
    Q.flat[:: n + 1] += gamma
    scale = float(np.abs(B).max())
    rho = _penalty(Q, gamma)
    R = Q.copy()
    R.flat[:: n + 1] += rho
    R = symmetric_inverse(R)
    Z = S
    U = np.minimum(B - Q @ Z, 0) / rho
    for sweep in range(1, _MAX_SWEEPS + 1):
        X = R @ (B + rho * (Z - U))
        X = _RELAXATION * X + (1 - _RELAXATION) * Z
        U += X
        Z_new = np.maximum(U, 0)
        U -= Z_new
        primal = np.abs(X - Z_new).max()
        dual = rho * np.abs(Z_new - Z).max()
        Z = Z_new
        if max(primal, dual / scale) < tol and (sweep % 5 == 0) and optimality_gap(Z, Q, B) < tol * scale:
            return np.asarray(Z)
    msg = f"The KKT conditions do not hold to {tol:g} after {_MAX_SWEEPS} sweeps: raise gamma."
    raise NotOptimalError(msg)


def optimality_gap(S: Matrix, Q: Matrix, B: Matrix) -> float:
    """Largest violation of the KKT conditions min(S, QS - B) = 0."""
    return float(np.abs(np.minimum(S, Q @ S - B)).max())


def _penalty(Q: Matrix, gamma: float) -> float:
    """Return the penalty that balances the fastest and the slowest direction, √(λmin λmax) roughly."""
    return float(np.sqrt(gamma * np.abs(Q).sum(axis=1).max()))
