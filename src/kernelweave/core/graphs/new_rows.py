"""New samples: their rows of the graph, from the problem that made it, and the means of their neighbours."""

from __future__ import annotations

import numpy as np

from kernelweave._types import Graph, Mask, Matrix, Vector

__all__ = [
    "bordered_rows",
    "consensus_rows",
    "graph_rows",
    "harmonic_rows",
    "row_sqdist",
    "self_similarities",
    "shrinkage",
]

_ROUNDS = 5  # of s and p_x in turn; the term that couples them is small


def consensus_rows(H: Matrix, w: Vector) -> Matrix:
    """k_x = Σ_i w_i h_ix for (r, m, n) rows H."""
    return np.asarray(np.tensordot(w.astype(H.dtype), H, axes=1))


def graph_rows(A: Matrix, k: Matrix, P: Matrix, *, alpha: float) -> Matrix:
    """min_{s, p} -2k's + s'Ks + γ|s|² + (α/2) Σ_j s_j |p - p_j|²: s = max(0, A(k - (α/4)g)), p = Σ s_j p_j / Σ s_j."""
    S = np.maximum(k @ A, 0)
    p2 = np.einsum("ij,ij->i", P, P)
    for _ in range(_ROUNDS if alpha > 0 else 0):
        p, _ = harmonic_rows(S, P)
        G = np.einsum("ij,ij->i", p, p)[:, None] + p2 - 2 * p @ P.T
        S = np.maximum((k - (alpha / 4) * np.maximum(G, 0)) @ A, 0)
    return np.asarray(S, dtype=k.dtype)


def bordered_rows(A: Matrix, k: Matrix, k_self: Vector, *, g: float) -> Matrix:
    """z = g Ak / (k_xx + g - k'Ak): the new sample's entries of I - g(K + gI)^-1 with K bordered by k and k_xx."""
    Z = k @ A
    schur = k_self + g - np.einsum("ij,ij->i", Z, k)
    # no positive semidefinite kernel has k_xx < k'Ak: then only the ridge is left of the Schur complement
    Z *= (g / np.maximum(schur, np.finfo(Z.dtype).eps * g))[:, None]
    return np.asarray(Z)


def self_similarities(A: Matrix, k: Matrix, diagonal: Vector) -> Vector:
    """k_xx where only k_x is known: the training samples' where all have the same, or else the mean of x's neighbours.

    Never below k'Ak, since a kernel's bordered matrix is positive semidefinite.
    """
    if np.ptp(diagonal) <= np.sqrt(np.finfo(diagonal.dtype).eps) * abs(float(diagonal.mean())):
        return np.full(len(k), diagonal.mean(), dtype=k.dtype)
    Z = k @ A
    mean, reached = harmonic_rows(np.maximum(Z, 0), diagonal[:, None])
    guess = np.where(reached, mean[:, 0], diagonal.mean())
    return np.asarray(np.maximum(guess, np.einsum("ij,ij->i", Z, k)), dtype=k.dtype)


def row_sqdist(k: Matrix, k_self: Vector, diagonal: Vector) -> Matrix:
    """d_xj² = k_xx + K_jj - 2k_xj of every new sample with every training sample."""
    D = -2 * k
    D += k_self[:, None]
    D += diagonal
    return np.asarray(np.maximum(D, 0, out=D))


def harmonic_rows(S: Graph, P: Matrix) -> tuple[Matrix, Mask]:
    """p_x = Σ_j s_j p_j / Σ_j s_j, and whether there is any s_j > 0; rows without are 0."""
    d = np.asarray(S.sum(axis=1)).ravel()
    reached = d > 0
    F = np.asarray(S @ P)
    return np.divide(F, d[:, None], out=np.zeros_like(F), where=reached[:, None]), reached


def shrinkage(S: Graph, P: Matrix) -> Vector:
    """ρ_c = <p_c, D^-1 W p_c> / <p_c, p_c>, W = S without loops: by how much averaging over neighbours shrinks P.

    An eigenvector of L is D^-1 W p = (1 - λ/d) p: dividing by ρ puts means of neighbours where the samples are.
    """
    loops = S.diagonal()
    d = np.asarray(S.sum(axis=1)).ravel() - loops
    Q = np.divide(S @ P - loops[:, None] * P, d[:, None], out=np.zeros_like(P), where=d[:, None] > 0)
    size = np.einsum("ij,ij->j", P, P)
    rho = np.divide(np.einsum("ij,ij->j", P, Q), size, out=np.ones_like(size), where=size > 0)
    return np.where(rho > np.sqrt(np.finfo(P.dtype).eps), rho, 1)  # a direction that averaging removes stays as it is
