"""Labels spread over a graph: harmonic functions, local and global consistency, class masses.

Both kinds of spreading solve a linear system with the matrix I - a N, N = diag(d)^-½ W diag(d)^-½: directly for dense
graphs and for sparse ones of moderate size, by conjugate gradients for larger ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from kernelweave._types import Graph, Labels, Mask, Matrix, Vector
from kernelweave.core.algebra.matrices import average_with_transpose

__all__ = [
    "LGC_SHARE",
    "LabelScores",
    "balance",
    "class_mass_factors",
    "class_mass_normalised",
    "conjugate_gradients",
    "consistent",
    "consistent_scores",
    "equal_mass",
    "harmonic_scores",
    "normalised_solve",
    "one_hot",
    "reached",
    "without_loops",
]

LGC_SHARE = 0.99  # a: the share of a sample's score that comes from its neighbours, as in Zhou et al. (2004)
_FACTORISED_UP_TO = 10_000  # unknown samples of a sparse graph; conjugate gradients are faster above
_MANY_LABELS = 5  # of a class, for which the mean score of a class counts half
_TOL = 1e-5
_MAX_ITER = 2000


class LabelScores(NamedTuple):
    """Scores (n, c) of every sample for every class, whether the solver converged, and its iterations (0: direct).

    Of local and global consistency also what the samples pass on: the scores of an unlabelled sample are the mean of
    those of its neighbours, up to a factor. It is None where that is the scores themselves.
    """

    scores: Matrix
    converged: bool = True
    n_iter: int = 0
    passed_on: Matrix | None = None


def one_hot(codes: Labels, c: int, dtype: DTypeLike) -> tuple[Matrix, Mask]:
    """Y (n, c) from the class of every sample, -1 where it is unknown: then its row is 0; and where it is known."""
    labelled = codes >= 0
    Y = np.zeros((len(codes), c), dtype=dtype)
    Y[labelled, codes[labelled]] = 1
    return Y, labelled


def reached(S: Graph, labelled: Mask) -> Mask:
    """Return which samples are connected to a labelled one; the classes of the others are undefined."""
    if sparse.issparse(S):
        _, part = connected_components(S, directed=False)
        return np.asarray(np.isin(part, part[labelled]))
    found, front = labelled, labelled
    while front.any():  # a few steps where the graph is full, and every row is read once in any case
        near = (S[front] != 0).any(axis=0) | (S[:, front] != 0).any(axis=1)
        front = near & ~found
        found = found | front
    return found


def harmonic_scores(S: Graph, Y: Matrix, labelled: Mask) -> LabelScores:
    """Eq. 19, the paper's P: F_u = -L_uu^-1 L_ul Y_l, F_l = Y_l; rows of samples that no label reaches are 0."""
    F = np.where(labelled[:, None], Y, 0).astype(S.dtype)
    unknown = reached(S, labelled) & ~labelled
    if not unknown.any():
        return LabelScores(F)
    rows = without_loops(S)[unknown]
    known = np.column_stack([Y[labelled], np.ones(np.count_nonzero(labelled), dtype=F.dtype)])
    root = 1 / np.sqrt(np.asarray(rows.sum(axis=1)).ravel())
    F_u, converged, n_iter = normalised_solve(rows[:, unknown], root, (rows[:, labelled] @ known) * root[:, None], 1.0)
    # the last column is the harmonic function 1: dividing by it cancels errors in nearly disconnected groups
    F[unknown] = np.divide(F_u[:, :-1], F_u[:, -1:], out=np.zeros_like(F_u[:, :-1]), where=F_u[:, -1:] > 0)
    return LabelScores(F, converged, n_iter)


def consistent(W: Graph, Y: Matrix, share: float = LGC_SHARE) -> LabelScores:
    """F = (I - aN)^-1 Y for W >= 0 (Zhou et al., 2004), a = `share`; a sample without similarities keeps its label."""
    d = np.asarray(W.sum(axis=1)).ravel()
    root = np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)
    return LabelScores(*normalised_solve(W, root, Y, share))


def consistent_scores(S: Graph, Y: Matrix, labelled: Mask) -> LabelScores:
    """F = (I - aN)^-1 Y diag(m)^-1, m_k ∝ Σ_i √d_i Y_ik, on the graph without its diagonal; known labels are kept.

    Far from all labels F_ik is √d_i times Σ_j √d_j Y_jk / m_k, up to a factor. Without m this is larger for a class
    with more labels, and most samples would get that class; with m it is the same for all classes.
    """
    known = np.where(labelled[:, None], Y, 0).astype(S.dtype)
    W = without_loops(S)
    d = np.asarray(W.sum(axis=1)).ravel()
    F, converged, n_iter, _ = consistent(W, known * equal_mass(np.sqrt(d) @ known).astype(known.dtype))
    F = np.maximum(F, 0)
    passed_on = np.divide(F, np.sqrt(d)[:, None], out=np.zeros_like(F), where=d[:, None] > 0)
    F[labelled] = known[labelled]
    return LabelScores(F, converged, n_iter, passed_on)


def equal_mass(mass: Vector) -> Vector:
    """Return factors of the classes after which all have the mean mass; 1 for a class without any."""
    some = mass > 0
    mean = mass[some].mean() if some.any() else 1.0
    return np.divide(mean, mass, out=np.ones_like(mass), where=some)


def without_loops(S: Graph) -> Graph:
    """W = (S + S')/2 with a zero diagonal; the diagonal cancels in L, and would cost the degrees digits."""
    if sparse.issparse(S):
        W = sparse.csr_array((S + S.T) / 2)
        return W - sparse.diags_array(W.diagonal(), format="csr")
    W = S.copy()
    average_with_transpose(W)
    np.fill_diagonal(W, 0)
    return W


def normalised_solve(W: Graph, root: Vector, right: Matrix, share: float) -> tuple[Matrix, bool, int]:
    """(I - aN)^-1 right, N = diag(root) W diag(root), whether it converged, and the iterations (0: direct)."""
    if not sparse.issparse(W):
        system = -share * W * root * root[:, None]
        system.flat[:: len(system) + 1] += 1
        try:
            factor = linalg.cho_factor(system, check_finite=False)
        except linalg.LinAlgError:  # edges to a group are smaller than rounding: add the smallest effective ridge
            system.flat[:: len(system) + 1] += len(system) * np.finfo(system.dtype).eps
            factor = linalg.cho_factor(system, check_finite=False)
        return np.asarray(linalg.cho_solve(factor, right, check_finite=False)), True, 0
    scale = sparse.diags_array(root.astype(np.float64))
    N = sparse.csr_array(scale @ W @ scale)
    if len(root) > _FACTORISED_UP_TO:
        F, converged, n_iter = conjugate_gradients(
            lambda F: F - share * (N @ F), right.astype(np.float64), 1 - share * N.diagonal()
        )
        return F.astype(right.dtype), converged, n_iter
    return _factorised_solve(sparse.csc_array(sparse.eye_array(len(root)) - share * N), right), True, 0


def _factorised_solve(system: sparse.csc_array, right: Matrix) -> Matrix:
    """Solve by a sparse factorisation, in double precision."""
    try:
        factor = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular: add a ridge, as in the dense case
        n = system.shape[0]
        factor = splu(sparse.csc_array(system + n * np.finfo(np.float64).eps * sparse.eye_array(n)))
    return np.asarray(factor.solve(right.astype(np.float64)), dtype=right.dtype)


def conjugate_gradients(
    multiply: Callable[[Matrix], Matrix],
    right: Matrix,
    diagonal: Vector,
    *,
    tol: float = _TOL,
    max_iter: int = _MAX_ITER,
) -> tuple[Matrix, bool, int]:
    """Solve multiply(F) = right for all columns at once; return F, whether it converged, and the number of steps.

    `multiply` is the product with a positive definite matrix; its `diagonal` is the preconditioner.
    """
    inverse = (1 / diagonal)[:, None]
    F = np.zeros_like(right)
    residual = right.copy()
    scaled = inverse * residual
    direction = scaled.copy()
    size = _dots(residual, scaled)
    goal = tol**2 * np.maximum(size, np.finfo(right.dtype).tiny)
    for step in range(max_iter):
        if (size <= goal).all():
            return F, True, step
        product = multiply(direction)
        curvature = _dots(direction, product)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)  # 0: the column has converged
        F += length * direction
        product *= length
        residual -= product
        np.multiply(inverse, residual, out=scaled)
        new = _dots(residual, scaled)
        direction *= np.divide(new, size, out=np.zeros_like(size), where=size > 0)
        direction += scaled
        size = new
    return F, bool((size <= goal).all()), max_iter


def _dots(left: Matrix, right: Matrix) -> Vector:
    return np.asarray(np.einsum("ij,ij->j", left, right))


def class_mass_normalised(F: Matrix, labelled: Mask, shares: Vector | None = None) -> Matrix:
    """Zhu et al. (2003), eq. 9: for unlabelled i, F_ij times the expected over the actual share of class j.

    The actual share is that of column j in the unlabelled rows. `shares` are the expected ones; by default those of
    the labelled rows of F, which do not change.
    """
    normalised = F.copy()
    normalised[~labelled] *= class_mass_factors(F, labelled, shares)
    return normalised


def class_mass_factors(F: Matrix, labelled: Mask, shares: Vector | None = None) -> Vector:
    """Return the factors by which `class_mass_normalised` multiplies the columns of F; 1 for a class without mass."""
    expected = F[labelled].sum(axis=0) if shares is None else np.asarray(shares, dtype=F.dtype)
    mass = F[~labelled].sum(axis=0)
    return np.asarray(np.divide(expected * (mass.sum() / expected.sum()), mass, out=np.ones_like(mass), where=mass > 0))


def balance(F: Matrix, of: Mask, n_labels: int) -> tuple[Vector, Vector]:
    """Return b and f of the balanced scores (F_ik - b_k) f_k, with b_k = min_i F_ik and f_k = m_k^-t.

    m_k is the mean of F_ik - b_k, t = 5 / (5 + labels per class), and i is one of the samples `of`. Harmonic functions
    of few labels are nearly constant but close to the labels (Nadler, Srebro and Zhou, 2009), and without b and f
    nearly all samples would get the class with the largest constant. With more labels the scores are changed less.
    """
    least = F[of].min(axis=0) if of.any() else np.zeros(F.shape[1], dtype=F.dtype)
    b = least * (1 - np.sqrt(np.finfo(F.dtype).eps))  # functions that are constant keep some of their scores
    mean = (F[of] - b).mean(axis=0) if of.any() else np.zeros_like(b)
    t = _MANY_LABELS / (_MANY_LABELS + n_labels / F.shape[1])
    f = np.power(mean, -t, out=np.ones_like(mean), where=mean > 0)
    return b, f
