"""New samples: their rows of the graph, from the problem that defines it, and means over their neighbours.

The index x stands for a new sample: K_x (n_new, n) is the kernel of new samples with the training samples, K_xx
(n_new,) that of each new sample with itself, and A = (K + gI)^-1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from kernelweave._types import Graph, Labels, Mask, Matrix, Vector
from kernelweave.core.algebra.matrices import TIE, largest_columns
from kernelweave.core.graphs.affinity import Affinity, RowPart, neighbour_scales, row_blocks, self_tuned, top_rows

__all__ = [
    "Border",
    "bordered_rows",
    "cut_rows",
    "distributions",
    "graph_rows",
    "harmonic_rows",
    "level_ties",
    "row_sqdist",
    "self_similarities",
    "unlike_all",
]

_ROUNDS = 5  # alternating updates of S_x and P_x; the term that couples them is small


def graph_rows(A: Matrix, K_x: Matrix, P: Matrix, *, alpha: float) -> Matrix:
    """min -2K_x'S_x + S_x'KS_x + γ|S_x|² + (α/2) Σ_j S_xj |P_x - P_j|² over S_x >= 0 and P_x, with A = (K + γI)^-1.

    In turn S_x = max(0, A(K_x - (α/4)G_x)), G_xj = |P_x - P_j|², and P_x = Σ_j S_xj P_j / Σ_j S_xj. AG_x is the sum
    of |P_x|² A1, A(|P_j|²) and -2AP P_x: it takes no product of n x n matrices.
    """
    AK_x = K_x @ A
    S = np.maximum(AK_x, 0)
    if alpha == 0:
        return np.asarray(S)
    ones, norms, AP = A.sum(axis=0), np.einsum("ij,ij->i", P, P) @ A, P.T @ A
    for _ in range(_ROUNDS):
        P_x, _ = harmonic_rows(S, P)
        AG_x = -2 * P_x @ AP
        AG_x += norms
        AG_x += np.einsum("ij,ij->i", P_x, P_x)[:, None] * ones
        S = np.maximum(AK_x - (alpha / 4) * AG_x, 0)
    return np.asarray(S, dtype=K_x.dtype)


class Border(NamedTuple):
    """What rows for a bordered kernel follow from: A = (K + gI)^-1, g, the diagonal of K, and σ², squared scales."""

    A: Matrix
    g: float
    diagonal: Vector
    scales: Vector


def cut_rows(K_x: Matrix, border: Border, parts: tuple[RowPart, ...]) -> sparse.csr_array:
    """S_x, the rows of the graph for K bordered by each new sample: the sum of its parts, cut and weighted."""
    A, g, diagonal, scales = border
    AK_x = K_x @ A
    K_xx = self_similarities(AK_x, K_x, diagonal)
    found = []
    for part in parts:
        if part.kind == "ridge":
            affinity = Affinity(bordered_rows(AK_x, K_x, K_xx, g=g))
        else:
            blocks = row_blocks(len(K_x))
            near = [_nearest_tuned(row_sqdist(K_x[i], K_xx[i], diagonal), scales, part.k) for i in blocks]
            values, columns = (np.concatenate(arrays) for arrays in zip(*near, strict=True))
            values[unlike_all(K_x, K_xx)] = 0
            affinity = Affinity(values, columns)
        found.append(top_rows(affinity, part.k, len(A)) * K_x.dtype.type(part.weight))
    return sparse.csr_array(sum(found[1:], start=found[0]))


def unlike_all(K_x: Matrix, K_xx: Vector) -> Mask:
    """Whether K_xj = 0 for all j, but for rounding of K_xx: x is as far from every sample, and has no neighbours."""
    least = np.finfo(K_x.dtype).eps * K_xx
    return np.asarray((K_x.max(axis=1) <= least) & (K_x.min(axis=1) >= -least))


def _nearest_tuned(D: Matrix, scales: Vector, k: int) -> tuple[Matrix, Labels]:
    """Return the k largest self-tuned similarities of every row of squared distances, and their columns."""
    near = largest_columns(D * (-1 / np.sqrt(np.maximum(scales, np.finfo(D.dtype).tiny))), k)
    own = neighbour_scales(D, D.shape[1])
    return self_tuned(np.take_along_axis(D, near, axis=1), own, scales[near]), near


def bordered_rows(AK_x: Matrix, K_x: Matrix, K_xx: Vector, *, g: float) -> Matrix:
    """Z_x = g A K_x / (K_xx + g - K_x'AK_x): the new sample's entries of Z for K bordered by K_x and K_xx."""
    schur = K_xx + g - np.einsum("ij,ij->i", AK_x, K_x)
    # K_xx < K_x'AK_x is impossible for a positive semidefinite kernel: then the Schur complement is at least rounding
    return np.asarray(AK_x * (g / np.maximum(schur, np.finfo(K_x.dtype).eps * g))[:, None])


def self_similarities(AK_x: Matrix, K_x: Matrix, diagonal: Vector) -> Vector:
    """Estimate K_xx from K_x: the common K_jj if all are equal, otherwise the mean of K_jj over the neighbours of x.

    Never below K_x'AK_x, since the bordered matrix of a kernel is positive semidefinite.
    """
    if np.ptp(diagonal) <= np.sqrt(np.finfo(diagonal.dtype).eps) * abs(float(diagonal.mean())):
        return np.full(len(K_x), diagonal.mean(), dtype=K_x.dtype)
    mean, reached = harmonic_rows(np.maximum(AK_x, 0), diagonal[:, None])
    guess = np.where(reached, mean[:, 0], diagonal.mean())
    return np.asarray(np.maximum(guess, np.einsum("ij,ij->i", AK_x, K_x)), dtype=K_x.dtype)


def row_sqdist(K_x: Matrix, K_xx: Vector, diagonal: Vector) -> Matrix:
    """D_xj = K_xx + K_jj - 2K_xj for every new sample and every training sample."""
    D = -2 * K_x
    D += K_xx[:, None]
    D += diagonal
    return np.asarray(np.maximum(D, 0, out=D))


def harmonic_rows(S: Graph, P: Matrix) -> tuple[Matrix, Mask]:
    """P_x = Σ_j S_xj P_j / Σ_j S_xj, and whether any S_xj > 0; rows without are 0."""
    d = np.asarray(S.sum(axis=1)).ravel()
    reached = d > 0
    sums = np.asarray(S @ P)
    return np.divide(sums, d[:, None], out=np.zeros_like(sums), where=reached[:, None]), reached


def distributions(F: Matrix, power: float = 1.0) -> tuple[Matrix, Mask]:
    """Scale the rows of F^power to sum to one, in place, and return F and which rows were 0; these become uniform.

    Groups that share the largest score of a row but for rounding have equal entries: argmax finds the first of them.
    """
    empty = F.sum(axis=1) <= 0
    F[empty] = 1
    level_ties(F)
    if power != 1:
        F /= F.max(axis=1, keepdims=True)  # so that no row underflows
        F **= power
    F /= F.sum(axis=1, keepdims=True)
    return F, empty


def level_ties(F: Matrix) -> Matrix:
    """Raise the entries of every row that equal its maximum but for rounding to the maximum, in place; F >= 0.

    The first of them is then the one that argmax finds. Rounding would choose another one on every machine, for every
    order of the samples.
    """
    largest = F.max(axis=1, keepdims=True)
    least = (1 - TIE[F.itemsize]) * largest
    np.copyto(F, largest, where=least <= F)
    return F
