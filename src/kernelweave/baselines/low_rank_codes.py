"""Every sample as a combination of the others, with codes of low rank: ADMM with a singular value threshold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from kernelweave._types import Matrix
from kernelweave.baselines.over_relaxation import over_relaxed, soft_threshold
from kernelweave.core.algebra.matrices import outer_square

__all__ = ["LowRankCodes", "low_rank_codes", "low_rank_objective", "low_rank_start", "singular_value_threshold"]

_BALANCE_EVERY = 5
_OUT_OF_BALANCE = 2.0
_RANGE = 2.0**30  # of ρ, up and down: it is kept from one round to the next, and would overflow in the end
_SPARSE_STEPS = 2  # of C for each of J, whose eigendecomposition takes most of the time


class LowRankCodes(NamedTuple):
    """Where ADMM ended: C with a zero diagonal, J of low rank, their multipliers, ρ, the residual and iterations."""

    C: Matrix
    J: Matrix
    Y_C: Matrix
    Y_J: Matrix
    rho: float
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

    def sparse_step(self, A: Matrix, threshold: Matrix) -> _Copies:
        """C = soft(A + U, threshold) without its diagonal, U += A - C, over-relaxed."""
        C, U = soft_threshold(over_relaxed(A, self.C, self.U), threshold)
        U.flat[:: len(U) + 1] += C.diagonal()
        np.fill_diagonal(C, 0)
        return self._replace(C=C, U=U)

    def low_rank_step(self, A: Matrix, tau: float) -> _Copies:
        """J = SVT(A + V, τ), V += A - J, over-relaxed."""
        Z = over_relaxed(A, self.J, self.V)
        J, nuclear_norm = singular_value_threshold(Z, tau)
        return self._replace(J=J, V=Z - J, nuclear_norm=nuclear_norm)


def low_rank_start(n: int, dtype: np.dtype[Any]) -> LowRankCodes:
    """Return zero codes and multipliers; ρ = 0 lets ADMM choose its own."""
    zeros = np.zeros((n, n), dtype=dtype)
    return LowRankCodes(zeros, zeros, zeros, zeros, 0.0, 0.0, np.inf, 0, converged=False)


def low_rank_codes(G: Matrix, T: Matrix, lam: float, *, start: LowRankCodes, tol: float, max_iter: int) -> LowRankCodes:
    """Return argmin_C ||C||_* + Σ T_ij |C_ij| + λ/2 Tr((I - C)'G(I - C)), diag C = 0, for T >= 0.

    A = (G + 2ρI)^-1 (G + ρ(C - U + J - V)), C = soft(A + U, T/λρ), J = SVT(A + V, 1/λρ), U += A - C, V += A - J, over-
    relaxed. ρ balances the primal residual (A against C and J) and the dual one (G(I - A) against ρ(U + V)), both
    relative; one factorisation of G serves every ρ. Ends when neither residual is above `tol`.
    """
    omega, Q = linalg.eigh(G, driver="evd", check_finite=False)
    usual = float(G.diagonal().mean()) or 1.0
    rho = start.rho or usual
    now = _Copies(start.C, start.J, start.Y_C / (lam * rho), start.Y_J / (lam * rho), start.nuclear_norm)
    M, threshold = (Q / (omega + 2 * rho)) @ Q.T, T / (lam * rho)
    primal = dual = np.inf
    for n_iter in range(1, max_iter + 1):
        # plain ADMM with a fixed ρ in the second half of the iterations: only this is known to converge
        plain = n_iter > max_iter // 2
        for _ in range(1 if plain else _SPARSE_STEPS):
            aim = now.aim()
            A = M @ (G + rho * aim)
            now = now.sparse_step(A, threshold)
        now = now.low_rank_step(A, 1 / (lam * rho))
        primal, dual = _residuals(A, aim, now)
        if max(primal, dual) <= tol:
            break
        factor = 1.0 if plain or n_iter % _BALANCE_EVERY else _balance(primal, dual)
        if factor != 1 and usual / _RANGE <= factor * rho <= usual * _RANGE:
            rho *= factor
            now = now._replace(U=now.U / factor, V=now.V / factor)
            M, threshold = (Q / (omega + 2 * rho)) @ Q.T, T / (lam * rho)
    residual, mu = max(primal, dual), lam * rho
    Y_C, Y_J = mu * now.U, mu * now.V
    return LowRankCodes(now.C, now.J, Y_C, Y_J, rho, now.nuclear_norm, residual, n_iter, residual <= tol)


def low_rank_objective(G: Matrix, codes: LowRankCodes, T: Matrix, lam: float) -> float:
    """||J||_* + Σ T_ij |C_ij| + λ/2 Tr((I - C)'G(I - C))."""
    E = -codes.C
    E.flat[:: len(E) + 1] += 1
    return codes.nuclear_norm + float(np.vdot(T, np.abs(codes.C)) + lam / 2 * np.vdot(E, G @ E))


def singular_value_threshold(Z: Matrix, tau: float) -> tuple[Matrix, float]:
    """SVT(Z, τ) = Z Q diag(1 - τ/σ) Q' over the singular values σ > τ, from Z'Z = Q σ² Q'; and its nuclear norm."""
    # nearly equal samples give clusters of singular values, on which LAPACK's other drivers are several times slower
    squares, Q = linalg.eigh(outer_square(Z.T), driver="evd", check_finite=False, overwrite_a=True)
    sigma = np.sqrt(np.maximum(squares, 0))
    above = sigma > tau
    sigma, Q = sigma[above], Q[:, above]
    return np.asarray(Z @ outer_square(Q * np.sqrt(1 - tau / sigma))), float((sigma - tau).sum())


def _residuals(A: Matrix, aim: Matrix, now: _Copies) -> tuple[float, float]:
    """Return ||(A - C, A - J)|| and ||G(I - A)/ρ - U - V||, relative to what they compare; A is of this aim."""
    # where all codes are 0, compare with those of samples that code themselves, C = I, of norm sqrt(n)
    size = max(np.sqrt(2) * _norm(A), _norm(now.C, now.J), 0.1 * np.sqrt(len(A)))
    dual = _norm(2 * A - aim - now.U - now.V)  # G(I - A)/ρ = 2A - aim by A's step
    return _norm(A - now.C, A - now.J) / size, dual / _norm(now.U + now.V) if dual else 0.0


def _balance(primal: float, dual: float) -> float:
    """Factor for ρ: a larger one lowers the primal residual, a smaller one the dual."""
    if primal > _OUT_OF_BALANCE * dual:
        return 2.0
    return 0.5 if dual > _OUT_OF_BALANCE * primal else 1.0


def _norm(*matrices: Matrix) -> float:
    return float(np.hypot.reduce([linalg.norm(matrix, check_finite=False) for matrix in matrices]))
