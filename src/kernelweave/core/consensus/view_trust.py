"""Trust in views: near 0 for a view whose kernels are related to those of no other view, which is probably noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kernelweave._types import Mask, Matrix, Tile, Vector

__all__ = ["ViewRelations", "related", "standard_relation", "view_trust"]

# In standard deviations of permuted samples, whose z is rarely above 3:
_BELIEVED = 4.0  # at this relation to another view, a view keeps at least half of its weight
_EVIDENT = 6.0  # if others are related by this much, an unrelated view loses half of its weight
_FLAT = 1e-10  # share of the second moment: less variance off the diagonal is rounding in single precision
_LEAST_VIEWS = 3  # with two views that differ, it cannot be told which is noise


@dataclass(eq=False)
class ViewRelations:
    """Relations between views, from sums over the tiles of the kernels that pass through `watch`.

    The kernel A_v of a view is the mean of its kernels. Two views are compared over the samples that both have.

    Parameters
    ----------
    view : array of shape (r,)
        The view of every kernel.
    present : array of bool of shape (n_views, n)
        The samples that each view has.
    """

    view: NDArray[np.intp]
    present: Mask
    centre: Matrix = field(init=False)
    cross: Matrix = field(init=False)
    second: Matrix = field(init=False)
    sums: Matrix = field(init=False)

    def __post_init__(self) -> None:
        v, n = self.present.shape
        self.centre = np.empty((0, 1, 1))  # the mean of the first tile; sums are taken about it, so as not to cancel
        self.cross = np.zeros((v, v))  # Σ A_v A_w
        self.second = np.zeros((v, v))  # Σ A_v² over the samples of w
        self.sums = np.zeros((v, v, n))  # the row sums of A_v over the samples of w

    def watch(self, tiles: Iterable[Tile]) -> Iterator[Tile]:
        """Yield the tiles as they are, and add them to the sums if there are views enough to judge."""
        for rows, cols, H in tiles:
            if len(self.present) >= _LEAST_VIEWS:
                self._add(rows, cols, H)
            yield rows, cols, H

    def _add(self, rows: slice, cols: slice, H: Matrix) -> None:
        A = np.stack([H[self.view == v].mean(axis=0, dtype=np.float64) for v in range(len(self.present))])
        if len(self.centre) == 0:
            self.centre = A.mean(axis=(1, 2), keepdims=True)
        x, y = self.present[:, rows], self.present[:, cols]
        A = (A - self.centre) * (x[:, :, None] & y[:, None, :])
        if rows == cols:
            A[:, np.arange(A.shape[1]), np.arange(A.shape[1])] = 0
        times = 1 if rows == cols else 2
        flat = A.reshape(len(A), -1)
        self.cross += times * (flat @ flat.T)
        self.second += times * ((A * A @ y.T) * x.T).sum(axis=1)
        self.sums[:, :, rows] += ((A @ y.T) * x.T).transpose(0, 2, 1)
        if rows != cols:
            self.sums[:, :, cols] += ((A.transpose(0, 2, 1) @ x.T) * y.T).transpose(0, 2, 1)

    @property
    def common(self) -> Matrix:
        """The number m_vw of samples that two views both have."""
        return np.asarray(self.present.astype(np.float64) @ self.present.T)

    def trust(self) -> Vector:
        """Return the trust in the view of every kernel, after all tiles have passed; 1 for fewer than three views."""
        if len(self.present) < _LEAST_VIEWS:
            return np.ones(len(self.view))
        return view_trust(standard_relation(self.correlations(), self.common), self.common)[self.view]

    def correlations(self) -> Matrix:
        """ρ_vw = <A_v, A_w> / (‖A_v‖ ‖A_w‖) over the m_vw samples in both, of centred kernels without diagonals.

        <A_v, A_w> = Σ A_v A_w - 2/(m-2) Σ_a s_va s_wa + Σ s_v Σ s_w / ((m-1)(m-2)), where s are the row sums: the
        unbiased estimator of HSIC (Song et al. 2012), up to a factor.
        """
        m, total = self.common, self.sums.sum(axis=2)
        a, b = 2 / np.maximum(m - 2, 1), 1 / np.maximum((m - 1) * (m - 2), 1)
        product = self.cross - a * np.einsum("vwa,wva->vw", self.sums, self.sums) + b * total * total.T
        square = self.second - a * np.einsum("vwa,vwa->vw", self.sums, self.sums) + b * total**2
        square += _FLAT * (self.second + m * (m - 1) * self.centre[:, :, 0] ** 2)
        scale = np.sqrt(np.maximum(square * square.T, 0))
        return np.asarray(np.divide(product, scale, out=np.zeros_like(scale), where=scale > 0))


def standard_relation(rho: Matrix, m: Matrix) -> Matrix:
    """z = ρ sqrt(m(m-3)/2): over all permutations of the samples of one view its mean is 0 and its variance 1.

    0 for fewer than 4 samples, whose centred kernels are 0, and for a view with itself.
    """
    Z = rho * _deviations(m)
    np.fill_diagonal(Z, 0)
    return Z


def view_trust(Z: Matrix, m: Matrix) -> Vector:
    """t_v = 1 - f(z* c_v / c*, 6) (1 - f(max_w Z_vw, 4)), where f is `related`, z* = max Z, c = sqrt(m(m-3)/2).

    It is near 0 for a view that is related to no other while others are related, and 1 for all views if none are. With
    gaps c_v = max_w c_vw may be less than c* = max c: z* c_v / c* is what the strongest relation would be among fewer
    samples, so that a view is trusted if it has too few samples with others to judge it.
    """
    c = _deviations(m)
    np.fill_diagonal(c, 0)
    evidence = Z.max() * c.max(axis=1) / max(c.max(), 1)
    return np.asarray(1 - related(evidence, _EVIDENT) * (1 - related(Z.max(axis=1), _BELIEVED)))


def related(z: Vector, half: float) -> Vector:
    """f(z, h) = z⁴ / (z⁴ + h⁴), 0 for z < 0: from 0 for views that are unrelated to 1 for those that are."""
    z4 = np.maximum(z, 0) ** 4
    return np.asarray(z4 / (z4 + half**4))


def _deviations(m: Matrix) -> Matrix:
    """sqrt(m(m-3)/2), the root of the dimension of the centred kernels of m samples without diagonals."""
    return np.asarray(np.sqrt(np.maximum(m * (m - 3), 0) / 2))
