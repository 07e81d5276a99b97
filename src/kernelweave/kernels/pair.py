"""Two sets of samples and the products between them, each computed once for all kernels of a bank."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.samples.numbers import as_samples

__all__ = ["HasProducts", "Pair", "Products", "as_writable", "inverse_roots", "read_pair", "row_sqnorms", "with_itself"]


def as_writable(X: Samples) -> Samples:
    """Return X, or a copy of a read-only array: compiled loops of scikit-learn refuse read-only input."""
    return X if sparse.issparse(X) else np.require(X, requirements="W")


@np.errstate(over="ignore", invalid="ignore")  # `KernelBank` refuses kernels that are not finite
def row_sqnorms(X: Samples) -> Vector:
    """Return the squared length of every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def inverse_roots(d: Vector) -> Vector:
    """Return 1/sqrt(d), and 0 where d is 0, so that a zero sample gets similarity 0 instead of NaN."""
    return np.divide(1, np.sqrt(d), out=np.zeros_like(d), where=d > 0)


class HasProducts(Protocol):
    """What most kernels read of pairs of samples, in arrays of one shape or that broadcast to one."""

    @property
    def inner(self) -> Matrix:
        """The inner products x'y."""

    @property
    def sqdist(self) -> Matrix:
        """The squared distances |x - y|²."""

    @property
    def x(self) -> Matrix:
        """The squared lengths |x|²."""

    @property
    def y(self) -> Matrix:
        """The squared lengths |y|²."""

    @property
    def cosines(self) -> dict[float, Matrix]:
        """The cosines that kernels have computed, by the offset."""


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """The products of some pairs of samples, for callers that have computed them already."""

    inner: Matrix  # x'y
    sqdist: Matrix  # |x - y|²
    x: Matrix  # |x|²
    y: Matrix  # |y|²
    cosines: dict[float, Matrix] = field(default_factory=dict)


def with_itself(sqnorms: Matrix) -> Products:
    """Return the products of every sample with itself, from the squared lengths."""
    return Products(sqnorms, np.zeros_like(sqnorms), sqnorms, sqnorms)


class Pair:
    """Samples X against samples Y (X itself by default), with shared products computed on demand.

    Several kernels read the products, so they are read-only.

    Parameters
    ----------
    X, Y : arrays or CSR arrays of shape (n, d) and (m, d)
        Floating-point samples. They are not checked: `read_pair` does that for what a user passes.
    """

    _tile_of: tuple[Pair, slice, slice]  # of a tile only: the whole pair, and the rows and columns of the tile

    def __init__(self, X: Samples, Y: Samples | None = None) -> None:
        self.X = X
        self.Y = X if Y is None else Y
        self.same = self.Y is X
        self.shape: tuple[int, int] = (self.X.shape[0], self.Y.shape[0])
        self.dtype: np.dtype[Any] = np.result_type(self.X.dtype, self.Y.dtype)  # float32 only if all samples are
        self.x: Matrix = row_sqnorms(self.X)[:, None]  # the squared lengths of the rows of X, as a column
        self.y: Matrix = self.x.T if self.same else row_sqnorms(self.Y)[None, :]
        self.cosines: dict[float, Matrix] = {}

    def tile(self, rows: slice, cols: slice, dtype: DTypeLike | None = None) -> Pair:
        """Return some rows of X against some rows of Y, whose products are slices of those of the whole pair.

        Parameters
        ----------
        rows, cols : slice
            The rows of X, and those of Y.
        dtype : dtype, optional
            The precision of the tile, by default that of the pair.
        """
        tile = object.__new__(Pair)
        tile._tile_of = self, rows, cols
        tile.same = self.same and rows == cols
        tile.shape = (len(range(self.shape[0])[rows]), len(range(self.shape[1])[cols]))
        tile.dtype = np.dtype(dtype or self.dtype)
        with np.errstate(over="ignore"):  # kernels of what overflows are not finite, and refused by name
            tile.x, tile.y = (part.astype(tile.dtype, copy=False) for part in (self.x[rows], self.y[:, cols]))
        tile.cosines = {}
        return tile

    @cached_property
    def X(self) -> Samples:
        """The rows of a tile; most kernels read the products alone."""
        whole, rows, _ = self._tile_of
        return whole.X[rows].astype(self.dtype, copy=False)

    @cached_property
    def Y(self) -> Samples:
        """The samples that the rows of a tile are compared with."""
        whole, _, cols = self._tile_of
        return self.X if self.same else whole.Y[cols].astype(self.dtype, copy=False)

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")
    def inner(self) -> Matrix:
        """The inner products x'y."""
        if hasattr(self, "_tile_of"):
            whole, rows, cols = self._tile_of
            return whole.inner[rows, cols].astype(self.dtype, copy=False)
        G = self.X @ self.Y.T
        G = np.asarray(G.toarray() if sparse.issparse(G) else G)
        G.setflags(write=False)
        return G

    @cached_property
    @np.errstate(over="ignore", invalid="ignore")
    def sqdist(self) -> Matrix:
        """The squared Euclidean distances x'x + y'y - 2x'y; exactly zero between copies of a sample."""
        if hasattr(self, "_tile_of"):
            whole, rows, cols = self._tile_of
            return whole.sqdist[rows, cols].astype(self.dtype, copy=False)
        near, X = self, self.X
        if not (sparse.issparse(X) or sparse.issparse(self.Y)):
            mean = self.Y.mean(axis=0)
            if mean @ mean > 0.999 * self.y.mean():  # so far from 0 that the distances would cancel
                near = Pair(X - mean, None if self.same else self.Y - mean)
        D = near.x + near.y  # first, so that D is exactly symmetric
        D -= near.inner
        D -= near.inner
        # two sums of the same squares, added in different orders, may differ by this share of |x|²
        terms = np.diff(X.indptr).max(initial=0) if sparse.issparse(X) else X.shape[1]
        least = 2 * (1 + np.sqrt(terms)) * np.finfo(X.dtype).eps * near.x
        if self.same:
            np.fill_diagonal(D, np.inf)
        near_0 = np.flatnonzero(D.min(axis=1, initial=np.inf) <= least[:, 0])  # few; a mask of all pairs takes long
        D[near_0] = np.where(least[near_0] >= D[near_0], 0, D[near_0])
        if self.same:
            np.fill_diagonal(D, 0)
        D.setflags(write=False)
        return D

    @cached_property
    def diameter(self) -> float:
        """The largest Euclidean distance."""
        return float(np.sqrt(self.sqdist.max()))


def read_pair(X: Samples, Y: Samples | None = None) -> Pair:
    """Return what a user passes as samples as a pair of floating-point tables of the same width."""
    pair = Pair(as_samples(X), None if Y is None or Y is X else as_samples(Y))
    if pair.X.shape[1] != pair.Y.shape[1]:
        msg = (
            f"X has {pair.X.shape[1]} features but Y has {pair.Y.shape[1]}: "
            "a kernel compares samples of one feature space."
        )
        raise InvalidInputError(msg)
    return pair
