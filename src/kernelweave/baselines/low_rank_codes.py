"""Every sample as a combination of the others, with codes of low rank: ADMM with a singular value threshold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from kernelweave._types import Matrix
from kernelweave.baselines.over_relaxation import over_relaxed, soft_threshold
from kernelweave.core.algebra.matrices import outer_square

__all__ = ["LowRankCodes", "low_rank_codes", "low_rank_objective", "low_rank_start", "singular_value_threshold"]

_BALANCE_EVERY = 10
_OUT_OF_BALANCE = 2.0


class LowRankCodes(NamedTuple):
    """Where ADMM ended: C with a zero diagonal, J of low rank, their multipliers, the residual and iterations."""

    C: Matrix
    J: Matrix
    Y_C: Matrix
    Y_J: Matrix
    nuclear_norm: float
    residual: float
    n_iter: int
    converged: bool


class _Copies(NamedTuple):
    """The copies C and J of the codes, their multipliers U and V over λρ, and the nuclear norm of J."""

    C: Matrix
    J: Matrix
    U: Matrix
    V: Matrix
    nuclear_norm: float

    def aim(self) -> Matrix:
        return self.C - self.U + self.J - self.V


def low_rank_start(n: int, dtype: np.dtype[Any]) -> LowRankCodes:
    """Return zero codes and multipliers."""
    zeros = np.zeros((n, n), dtype=dtype)
    return LowRankCodes(zeros, zeros, zeros, zeros, 0.0, np.inf, 0, converged=False)


def low_rank_codes(G: Matrix, T: Matrix, lam: float, *, start: LowRankCodes, tol: float, max_iter: int) -> LowRankCodes:
    """Return argmin_C ||C||_* + Σ T_ij |C_ij| + λ/2 Tr((I - C)'G(I - C)), diag C = 0, for T >= 0.

    A = (G + 2ρI)^-1 (G + ρ(C - U + J - V)), C = soft(A + U, T/λρ), J = SVT(A + V, 1/λρ), U += A - C, V += A - J, over-
    relaxed. ρ balances the primal residual (A against C and J) and the dual one (G(I - A) against ρ(U + V)), both
    relative; one factorisation of G serves every ρ. Ends when neither residual is above `tol`.
    """
    omega, Q = linalg.eigh(G, driver="evd", check_finite=False)
    rho = float(G.diagonal().mean()) or 1.0
    M = (Q / (omega + 2 * rho)) @ Q.T
    now = _Copies(start.C, start.J, start.Y_C / (lam * rho), start.Y_J / (lam * rho), start.nuclear_norm)
    primal = dual = np.inf
    for n_iter in range(1, max_iter + 1):
        A = M @ (G + rho * now.aim())
        before, now = now, _copies(A, now, T / (lam * rho), 1 / (lam * rho))
        primal, dual = _residuals(A, before, now)
        if max(primal, dual) <= tol:
            break
        # ρ is fixed in the second half of the iterations: ADMM is known to converge only with a fixed one
        if n_iter % _BALANCE_EVERY == 0 and n_iter <= max_iter // 2 and (factor := _balance(primal, dual)) != 1:
            rho *= factor
            now = now._replace(U=now.U / factor, V=now.V / factor)
            M = (Q / (omega + 2 * rho)) @ Q.T
    residual, mu = max(primal, dual), lam * rho
    return LowRankCodes(now.C, now.J, mu * now.U, mu * now.V, now.nuclear_norm, residual, n_iter, residual <= tol)


def low_rank_objective(G: Matrix, codes: LowRankCodes, T: Matrix, lam: float) -> float:
    """||J||_* + Σ T_ij |C_ij| + λ/2 Tr((I - C)'G(I - C))."""
    E = -codes.C
    E.flat[:: len(E) + 1] += 1
    return codes.nuclear_norm + float(np.vdot(T, np.abs(codes.C)) + lam / 2 * np.vdot(E, G @ E))


def singular_value_threshold(Z: Matrix, tau: float) -> tuple[Matrix, float]:
    """SVT(Z, τ) = Z Q diag(1 - τ/σ) Q' over the singular values σ > τ, from Z'Z = Q σ² Q'; and its nuclear norm."""
    # nearly equal samples give clusters of singular values, on which LAPACK's other drivers are several times slower
    squares, Q = linalg.eigh(outer_square(Z.T), driver="evd", check_finite=False, overwrite_a=True)
    above = squares > tau**2
    sigma, Q = np.sqrt(squares[above]), Q[:, above]
    return np.asarray((Z @ Q * (1 - tau / sigma)) @ Q.T), float((sigma - tau).sum())


def _copies(A: Matrix, now: _Copies, threshold: Matrix, tau: float) -> _Copies:
    C, U = soft_threshold(over_relaxed(A, now.C, now.U), threshold)
    U.flat[:: len(U) + 1] += C.diagonal()
    np.fill_diagonal(C, 0)
    Z = over_relaxed(A, now.J, now.V)
    J, nuclear_norm = singular_value_threshold(Z, tau)
    return _Copies(C, J, U, Z - J, nuclear_norm)


def _residuals(A: Matrix, before: _Copies, now: _Copies) -> tuple[float, float]:
    """Return ||(A - C, A - J)|| and ||G(I - A)/ρ - U - V||, relative to what they compare."""
    # where all codes are 0, compare with those of samples that code themselves, C = I, of norm sqrt(n)
    size = max(np.sqrt(2) * _norm(A), _norm(now.C, now.J), 0.1 * np.sqrt(len(A)))
    dual = _norm(2 * A - before.aim() - now.U - now.V)  # G(I - A)/ρ = 2A - C + U - J + V by A's step
    return _norm(A - now.C, A - now.J) / size, dual / _norm(now.U + now.V) if dual else 0.0


def _balance(primal: float, dual: float) -> float:
    """Factor for ρ: a larger one lowers the primal residual, a smaller one the dual."""
    if primal > _OUT_OF_BALANCE * dual:
        return 2.0
    return 0.5 if dual > _OUT_OF_BALANCE * primal else 1.0


def _norm(*matrices: Matrix) -> float:
    return float(np.hypot.reduce([linalg.norm(matrix, check_finite=False) for matrix in matrices]))
