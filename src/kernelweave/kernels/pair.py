"""Two sets of samples and the products between them, each computed once for all kernels of a bank."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from kernelweave._types import Matrix, Samples, Vector
from kernelweave.errors import InvalidInputError
from kernelweave.samples.numbers import as_samples

__all__ = ["Pair", "Products", "as_writable", "row_sqnorms"]


def as_writable(X: Samples) -> Samples:
    """Return X, or a copy of a read-only array: scikit-learn's compiled loops refuse those, though they only read."""
    return X if sparse.issparse(X) else np.require(X, requirements="W")


def row_sqnorms(X: Samples) -> Vector:
    """Return the squared length of every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _rounding(X: Samples) -> float:
    """Return how far, relative to |x|², two sums of the same squares may differ when added in different orders."""
    terms = np.diff(X.indptr).max(initial=0) if sparse.issparse(X) else X.shape[1]
    return float(2 * (1 + np.sqrt(terms)) * np.finfo(X.dtype).eps)


class Pair:
    """Samples X against samples Y (X itself by default), with shared products made on demand.

    The products are read by several kernels, so they cannot be written into.
    """

    def __init__(self, X: Samples, Y: Samples | None = None) -> None:
        self.X = as_samples(X)
        self.same = Y is None or Y is X
        self.Y = self.X if self.same else as_samples(Y)
        if self.X.shape[1] != self.Y.shape[1]:
            msg = (
                f"X has {self.X.shape[1]} features but Y has {self.Y.shape[1]}: "
                "a kernel compares samples of one feature space."
            )
            raise InvalidInputError(msg)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of kernel values: float32 if all samples are."""
        return np.result_type(self.X.dtype, self.Y.dtype)

    @cached_property
    def inner(self) -> Matrix:
        """The inner products x'y."""
        G = self.X @ self.Y.T
        return _read_only(G.toarray() if sparse.issparse(G) else G)

    @cached_property
    def sqdist(self) -> Matrix:
        """The squared Euclidean distances x'x + y'y - 2x'y; exactly zero between copies of a sample."""
        X, Y = self._near_origin()
        G = self.inner if X is self.X else X @ Y.T
        x = row_sqnorms(X)
        y = x if self.same else row_sqnorms(Y)
        D = np.add.outer(x, y)  # first, so that D is symmetric to the last digit
        D -= G
        D -= G
        zero = _rounding(X) * x
        D[zero[:, None] >= D] = 0
        if self.same:
            np.fill_diagonal(D, 0)
        return _read_only(D)

    def tile(self, rows: slice, cols: slice, dtype: Any = None) -> Pair:
        """Return these rows of X against these rows of Y, the products read from those of the whole."""
        return _Tile(self, rows, cols, dtype or self.dtype)

    def _near_origin(self) -> tuple[Samples, Samples]:
        """Return X and Y, moved to the mean of Y if they lie so far out that their distances would cancel."""
        if sparse.issparse(self.X) or sparse.issparse(self.Y):
            return self.X, self.Y
        mean = self.Y.mean(axis=0)
        if mean @ mean <= 0.999 * row_sqnorms(self.Y).mean():
            return self.X, self.Y
        X = self.X - mean
        return X, X if self.same else self.Y - mean


class Products(NamedTuple):
    """What most kernels read of some pairs of samples, in arrays of one shape or that broadcast to one."""

    inner: Matrix  # x'y
    sqdist: Matrix  # |x - y|²
    x: Matrix  # |x|²
    y: Matrix  # |y|²

    def with_itself(self, side: Matrix) -> Products:
        """Return the products of every x, or every y, with itself."""
        return Products(side, np.zeros_like(side), side, side)


class _Tile(Pair):
    """A part of a pair: kernels see it as any other, and nothing is multiplied twice."""

    def __init__(self, whole: Pair, rows: slice, cols: slice, dtype: Any) -> None:
        X, Y = whole.X[rows].astype(dtype, copy=False), whole.Y[cols].astype(dtype, copy=False)
        super().__init__(X, None if whole.same and rows == cols else Y)
        self._whole, self._rows, self._cols = whole, rows, cols

    @cached_property
    def inner(self) -> Matrix:
        """The inner products x'y."""
        return self._whole.inner[self._rows, self._cols].astype(self.dtype, copy=False)

    @cached_property
    def sqdist(self) -> Matrix:
        """The squared Euclidean distances."""
        return self._whole.sqdist[self._rows, self._cols].astype(self.dtype, copy=False)


def _read_only(A: Matrix) -> Matrix:
    A.flags.writeable = False
    return A
