"""Tables of numbers in the form that kernels accept: floating point, dense or CSR."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from kernelweave._plural import counted
from kernelweave._types import Array, Samples
from kernelweave.errors import InvalidInputError

__all__ = ["as_samples", "as_writable", "canonical", "equal_samples", "n_numbers", "unmasked"]


def as_samples(X: Samples) -> Samples:
    """Return X as a floating 2-d array or CSR matrix; sparse input is never made dense."""
    X = unmasked(X) if isinstance(X, np.ma.MaskedArray) else X
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        got = f"{counted(X.ndim, 'dimension')}, shape {X.shape}"
        msg = f"Samples must form a 2-d table (n_samples, n_features); got {got}."
        raise InvalidInputError(msg)
    if X.dtype.kind not in "fiub":
        msg = f"Samples must be real numbers; got dtype {X.dtype}. Encode text and categories as numbers first."
        raise InvalidInputError(msg)
    X = canonical(sparse.csr_array(X)) if sparse.issparse(X) else X
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def unmasked(X: np.ma.MaskedArray[Any, Any]) -> Array:
    """Return a masked array with NaN where it is masked, also one of texts; one of other types as it is."""
    if X.dtype.kind not in "biufOSU":
        return np.asarray(X.data)
    wide = {"f": X.dtype, "O": X.dtype, "S": object, "U": object}.get(X.dtype.kind, np.float64)
    return np.asarray(np.ma.filled(X.astype(wide, copy=False), np.nan))


def equal_samples(X: Samples, Y: Samples) -> bool:
    """Return whether two tables, both as `as_samples` returns them, hold the same numbers in the same precision."""
    if X is Y:
        return True
    if X.shape != Y.shape or X.dtype != Y.dtype or sparse.issparse(X) != sparse.issparse(Y):
        return False
    if not sparse.issparse(X):
        return np.array_equal(X, Y)
    return all(np.array_equal(getattr(X, part), getattr(Y, part)) for part in ("indptr", "indices", "data"))


def n_numbers(X: Samples) -> int:
    """Return how many numbers a table holds: its values, and of a sparse one those that it stores and their columns."""
    return 2 * int(X.nnz) if sparse.issparse(X) else int(X.shape[0]) * int(X.shape[1])


def canonical(X: Samples) -> Samples:
    """Return a CSR matrix with sorted, unique indices of the smallest sufficient type, as scikit-learn requires.

    Several entries of one cell are added up: scalings square the entries one by one.
    """
    index = sparse.get_index_dtype(maxval=max(X.nnz, *X.shape))
    if X.indices.dtype != index:
        X = type(X)((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()  # do not modify the user's arrays
        X.sum_duplicates()
    return X


def as_writable(X: Samples) -> Samples:
    """Return X, or a copy of a read-only array: compiled loops of scikit-learn refuse read-only input."""
    return X if sparse.issparse(X) else np.require(X, requirements="W")
