"""Which training sample is this one: what a transductive model can answer about is what it has seen."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave.errors import NewSamplesError
from kernelweave.estimators._input import kernel_stack
from kernelweave.kernels._types import Matrix

__all__ = ["SeenRows", "SeenStack"]

_ADVICE = (
    "This version answers for training samples only. To classify new samples, call fit again with them included "
    "and y = -1 for them."
)


class SeenRows:
    """The training samples by their content."""

    def __init__(self, X: Any) -> None:
        self._n = X.shape[0]
        self._digests = _row_digests(X)
        self._index = {digest: i for i, digest in reversed(list(enumerate(self._digests)))}

    def rows(self, X: Any) -> NDArray[np.intp]:
        """Return the position in the training set of every row of X."""
        digests = _row_digests(X)
        if digests == self._digests:  # the training set itself: copies of a sample keep their own answers
            return np.arange(self._n)
        new = [i for i, digest in enumerate(digests) if digest not in self._index]
        if new:
            msg = f"{len(new)} of {len(digests)} samples were not part of fit (first: row {new[0]}). {_ADVICE}"
            raise NewSamplesError(msg)
        return np.array([self._index[digest] for digest in digests], dtype=np.intp)


class SeenStack:
    """The training samples by their precomputed kernel matrices."""

    def __init__(self, H: Matrix) -> None:
        self._n = H.shape[1]
        self._digest = _digest(H)

    def rows(self, X: Any) -> NDArray[np.intp]:
        """Return all positions, if these are the kernel matrices of fit."""
        H, _ = kernel_stack(X)
        if _digest(H) != self._digest:
            msg = f"These kernel matrices are not those of fit. {_ADVICE}"
            raise NewSamplesError(msg)
        return np.arange(self._n)


def _digest(array: NDArray[Any]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).view(np.uint8).data, digest_size=16).digest()


def _row_digests(X: Any) -> list[bytes]:
    if not sparse.issparse(X):
        return [_digest(row + 0.0) for row in X.astype(np.float64)]  # + 0.0: equal samples, and -0.0, have equal bytes
    X = X.astype(np.float64)
    X.sum_duplicates()
    X.eliminate_zeros()
    parts = zip(np.split(X.indices.astype(np.int64), X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1]), strict=True)
    return [_digest(indices) + _digest(data) for indices, data in parts]
