"""Two sets of samples and the products between them, each computed once for all kernels of a bank."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from kernelweave.errors import InvalidInputError
from kernelweave.kernels._types import Matrix, Samples, Vector

__all__ = ["Pair", "as_samples", "row_sqnorms"]


def as_samples(X: Samples) -> Samples:
    """Return X as a floating 2-d array or CSR matrix; sparse input is never made dense."""
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        msg = f"Samples must form a 2-d table (n_samples, n_features); got {X.ndim} dimension(s), shape {X.shape}."
        raise InvalidInputError(msg)
    if X.dtype.kind == "c" or X.dtype.kind not in "fiub":
        msg = f"Samples must be real numbers; got dtype {X.dtype}. Encode text and categories as numbers first."
        raise InvalidInputError(msg)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def row_sqnorms(X: Samples) -> Vector:
    """Return the squared length of every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


class Pair:
    """Samples X against samples Y (X itself by default), with shared products made on demand.

    The products are read by several kernels: a kernel must not write into them.
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

    @cached_property
    def inner(self) -> Matrix:
        """The inner products x'y."""
        G = self.X @ self.Y.T
        if not sparse.issparse(G):
            return np.asarray(G)
        G = G.toarray()
        return np.asarray((G + G.T) / 2 if self.same else G)

    @cached_property
    def sqdist(self) -> Matrix:
        """The squared Euclidean distances, from the inner products."""
        x = row_sqnorms(self.X)
        y = x if self.same else row_sqnorms(self.Y)
        D = self.inner * -2
        D += x[:, None]
        D += y
        np.maximum(D, 0, out=D)
        if self.same:
            np.fill_diagonal(D, 0)
        return np.asarray(D)
