"""Every sample as a sparse combination of the others: a weighted lasso per sample, solved in batches.

Most codes are 0, so each lasso is solved on a working set: the entries in use and those that violate optimality most.
There a few iterations of ADMM find the support and the signs of most lassos, the linear system on the support gives
their values up to rounding, and an active-set search (feature-sign search, Lee et al., NIPS 2006) solves the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.baselines.over_relaxation import over_relaxed, soft_threshold

__all__ = ["SparseCodes", "code_objective", "code_violation", "sparse_codes"]

_RHO = 0.1  # ADMM's penalty, relative to λ mean(G_jj)
_STEPS = 25  # of ADMM between two attempts to finish a lasso by its linear system
_ATTEMPTS = 4  # ADMM has converged slowly if it needs more
_ENTRIES = 2**22  # the most numbers in the matrices of the lassos of one batch
_SWEEPS = 50


class SparseCodes(NamedTuple):
    """Codes C (n, n), one sample per column; their largest violation of optimality; iterations; convergence."""

    C: Matrix
    residual: float
    n_iter: int
    converged: bool


class _Lassos(NamedTuple):
    """Problems min_c Σ t|c| + c'Gc/2 - g'c: G (b, m, m), g and t (b, m)."""

    G: Matrix
    g: Matrix
    t: Matrix

    def take(self, rows: Mask) -> _Lassos:
        return _Lassos(self.G[rows], self.g[rows], self.t[rows])

    def scale(self) -> Matrix:
        """Mean of the diagonal of every G, (b, 1)."""
        return np.asarray(self.G.diagonal(axis1=1, axis2=2).mean(axis=1, keepdims=True))

    def pull(self, c: Matrix) -> Matrix:
        """Return g - Gc, the negative gradient of the smooth part."""
        return self.g - (self.G @ c[..., None])[..., 0]

    def violation(self, c: Matrix) -> Vector:
        """How far every c is from optimal."""
        return np.asarray(_violation(self.pull(c), c, self.t).max(axis=1))


def sparse_codes(G: Matrix, T: Matrix, lam: float, *, start: Matrix, tol: float, max_iter: int) -> SparseCodes:
    """Return argmin_C Σ T_ij |C_ij| + λ/2 Tr((I - C)'G(I - C)), diag C = 0, for a symmetric T > 0.

    Ends when no entry violates the conditions of optimality by more than `tol`, or by rounding where that is more.
    """
    t = T / lam
    B = start.T.copy()  # codes as rows: what belongs to a sample is contiguous
    real = np.finfo(G.dtype)
    slack = min(max(tol / lam, 100 * float(real.eps * G.diagonal().max())), float(real.max))
    V = code_violation(G, B.T, t, 1).T
    n_iter, longest = 0, 0
    for _ in range(_SWEEPS):
        if V.max() <= slack or longest >= max_iter:
            break
        used = [_solve(G, t, B, rows, width, V, slack, max_iter) for rows, width in _batches(B, V.max(axis=1) > slack)]
        longest = max(used)
        n_iter += longest
        V = code_violation(G, B.T, t, 1).T
    residual = float(V.max())
    return SparseCodes(np.ascontiguousarray(B.T), lam * residual, n_iter, residual <= slack)


def code_objective(G: Matrix, C: Matrix, T: Matrix, lam: float) -> float:
    """Σ T_ij |C_ij| + λ/2 Tr((I - C)'G(I - C)), at the cost of the entries of C that are not 0."""
    B = sparse.csr_array(C.T)
    E = sparse.eye_array(len(C), dtype=C.dtype, format="csr") - B
    return float(abs(B).multiply(T).sum() + lam / 2 * E.multiply(E @ G).sum())


def code_violation(G: Matrix, C: Matrix, T: Matrix, lam: float) -> Matrix:
    """E = λG(I - C): |E_ij - T_ij sign C_ij| where C_ij ≠ 0, else the excess of |E_ij| over T_ij; 0 on the diagonal."""
    V = _violation(lam * (G - (sparse.csr_array(C.T) @ G).T), C, T)
    np.fill_diagonal(V, 0)
    return V


def _violation(E: Matrix, C: Matrix, t: Matrix) -> Matrix:
    used = C != 0
    return np.where(used, np.abs(E - np.where(used, t, 0) * np.sign(C)), np.maximum(np.abs(E) - t, 0))


def _batches(B: Matrix, unsolved: Mask) -> list[tuple[NDArray[np.intp], int]]:
    """Return the unsolved rows in batches of similar support that fit into memory, and the width of their sets."""
    support = np.count_nonzero(B, axis=1)
    rows = np.flatnonzero(unsolved)
    rows = rows[np.argsort(support[rows], kind="stable")]
    batches = []
    while len(rows):
        width = min(len(B), 32 + 2 * int(support[rows[-1]]))
        count = max(1, _ENTRIES // width**2)
        batches.append((rows[-count:], width))
        rows = rows[:-count]
    return batches


def _solve(
    G: Matrix, t: Matrix, B: Matrix, rows: NDArray[np.intp], width: int, V: Matrix, slack: float, max_iter: int
) -> int:
    """Write the solutions of the lassos of these rows, on their working sets, into B; return ADMM's iterations."""
    own = rows[:, None]
    urgency = np.where(B[rows] != 0, np.inf, V[rows])
    S = np.argpartition(urgency, -width, axis=1)[:, -width:]
    # a sample must not code itself: where its own entry is in a working set, its penalty is infinite
    lassos = _Lassos(G[S[:, :, None], S[:, None, :]], G[own, S], np.where(own == S, np.inf, t[own, S]))
    c, n_iter = _admm(lassos, B[own, S], slack, max_iter)
    slow = lassos.violation(c) > slack
    if slow.any():
        c[slow], more = _active_set(lassos.take(slow), c[slow], slack, max_iter - n_iter)
        n_iter += more
    B[rows] = 0
    B[own, S] = c
    return n_iter


def _admm(lassos: _Lassos, c: Matrix, slack: float, max_iter: int) -> tuple[Matrix, int]:
    """Run ADMM from c until the linear system on the support solves each lasso; return codes and iterations."""
    solution = c.copy()
    left = np.arange(len(c))
    rho = _RHO * lassos.scale()
    M = np.linalg.inv(lassos.G + rho[..., None] * np.eye(c.shape[1], dtype=c.dtype))
    u = np.clip(lassos.pull(c), -lassos.t, lassos.t) / rho
    n_iter = 0
    while True:
        exact = _on_support(lassos, np.sign(c))
        solved = lassos.violation(exact) <= slack
        solution[left] = np.where(solved[:, None], exact, c)
        if solved.all() or n_iter >= min(max_iter, _ATTEMPTS * _STEPS):
            return solution, n_iter
        lassos, M, rho, c, u, left = (
            lassos.take(~solved),
            M[~solved],
            rho[~solved],
            c[~solved],
            u[~solved],
            left[~solved],
        )
        c, u = _admm_steps(lassos, M, rho, c, u)
        n_iter += _STEPS


def _admm_steps(lassos: _Lassos, M: Matrix, rho: Matrix, c: Matrix, u: Matrix) -> tuple[Matrix, Matrix]:
    """Iterate a = (G + ρI)^-1 (g + ρ(c - u)), c = soft(a + u, t/ρ), u += a - c, over-relaxed."""
    threshold = lassos.t / rho
    for _ in range(_STEPS):
        a = (M @ (lassos.g + rho * (c - u))[..., None])[..., 0]
        c, u = soft_threshold(over_relaxed(a, c, u), threshold)
    return c, u


def _on_support(lassos: _Lassos, sign: Matrix) -> Matrix:
    """G_AA^-1 (g - t sign)_A on A = {sign ≠ 0}, 0 elsewhere: the solution, if these are its support and signs."""
    A, scale = sign != 0, lassos.scale()
    system = np.where(A[:, :, None] & A[:, None, :], lassos.G, 0)
    rounding = np.finfo(sign.dtype).eps * sign.shape[1] * scale  # dependent samples make G_AA singular
    np.einsum("bii->bi", system)[:] += np.where(A, rounding, scale)
    target = np.where(A, lassos.g - np.where(A, lassos.t, 0) * sign, 0)
    return np.linalg.solve(system, target[..., None])[..., 0]


def _active_set(lassos: _Lassos, c: Matrix, slack: float, max_iter: int) -> tuple[Matrix, int]:
    """Solve the lassos from c by feature-sign search, which lowers the objective; return codes and iterations."""
    solution = c.copy()
    left = np.arange(len(c))
    n_iter = 0
    while True:
        E = lassos.pull(c)
        V = _violation(E, c, lassos.t)
        solution[left] = c
        unsolved = V.max(axis=1) > slack
        if not unsolved.any() or n_iter >= max_iter:
            return solution, n_iter
        lassos, c, E, V, left = lassos.take(unsolved), c[unsolved], E[unsolved], V[unsolved], left[unsolved]
        sign = np.sign(c)
        # once the values on the support are optimal, the entry outside it that violates optimality most is added
        ready = np.flatnonzero(np.where(sign != 0, V, 0).max(axis=1) <= slack)
        joins = np.where(sign[ready] == 0, V[ready], -1).argmax(axis=1)
        sign[ready, joins] = np.sign(E[ready, joins])
        c = _line_search(lassos, c, _on_support(lassos, sign), E)
        n_iter += 1


def _line_search(lassos: _Lassos, c: Matrix, goal: Matrix, E: Matrix) -> Matrix:
    """Return the best of the goal and of the points between c and it where an entry changes sign, which is 0 there."""
    d = goal - c
    crosses = (c != 0) & (np.sign(goal) != np.sign(c))
    at = np.divide(-c, d, out=np.ones_like(c), where=crosses)
    steps = np.append(at, np.ones_like(at[:, :1]), axis=1)
    t = np.where(d != 0, lassos.t, 0)
    l1 = (np.abs(c[:, None] + steps[..., None] * d[:, None]) @ t[..., None])[..., 0]
    slope, curvature = -_dot(d, E), _dot(d, (lassos.G @ d[..., None])[..., 0])
    best = (l1 + slope * steps + curvature / 2 * steps**2).argmin(axis=1)
    step = np.take_along_axis(steps, best[:, None], axis=1)
    return np.where(crosses & (at == step), 0, np.where(step == 1, goal, c + step * d))


def _dot(a: Matrix, b: Matrix) -> Matrix:
    """Return the inner product of every row of a with that of b, (b, 1)."""
    return np.asarray(np.einsum("bi,bi->b", a, b)[:, None])
