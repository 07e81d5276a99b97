"""The directions of the rows of a table, also of those too long or too short to be squared."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from kernelweave._types import Labels, Samples, Vector

__all__ = ["directions"]


def directions(X: Samples) -> Samples:
    """Return the table with every row at unit length; rows of zeros have no direction, and stay."""
    with np.errstate(over="ignore", under="ignore"):
        squares = _row_squares(X)
    limits = np.finfo(X.dtype)
    odd = np.flatnonzero(~((squares > limits.tiny / limits.eps) & (squares < np.inf)))
    if len(odd):  # too long or too short to be squared, or 0
        X = _with_largest_one(X, odd)
        squares[odd] = _row_squares(X[odd])
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(_inverse(np.sqrt(squares))) @ X)
    return X * _inverse(np.sqrt(squares))[:, None]


def _row_squares(X: Samples) -> Vector:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _with_largest_one(X: Samples, rows: Labels) -> Samples:
    """Return the table with the largest absolute value of some rows 1; rows of zeros stay."""
    X = sparse.csr_array(X, copy=True) if sparse.issparse(X) else X.copy()
    for i in rows:
        values = X.data[X.indptr[i] : X.indptr[i + 1]] if sparse.issparse(X) else X[i]
        largest = np.abs(values).max(initial=0)
        if largest > 0:
            values /= largest
    return X


def _inverse(norms: Vector) -> Vector:
    """Return 1/norm, and 0 for a row of zeros, which has no direction."""
    return np.asarray(np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0))
