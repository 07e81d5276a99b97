"""Which training sample is this one: a model answers for samples that it has seen as it did in `fit`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Mask
from kernelweave.errors import NewSamplesError
from kernelweave.samples import Views

__all__ = ["Seen", "seen"]

_ADVICE = (
    "This method answers for training samples only. To classify new samples, call fit again with them included "
    "and y = -1 for them."
)
_SIZE = 16


@dataclass(frozen=True, slots=True)
class Seen:
    """The training samples by their content: a digest each, as rows of bytes."""

    digests: NDArray[np.uint8]  # (n, 16)
    stack: bool  # of kernel matrices rather than samples

    def find(self, X: Any) -> NDArray[np.intp]:
        """Return the position in the training set of every sample, -1 for new ones."""
        digests = _digests(X, stack=self.stack)
        if np.array_equal(digests, self.digests):  # the training set itself: copies of a sample keep their own answers
            return np.arange(len(digests))
        first = {digest.tobytes(): i for i, digest in reversed(list(enumerate(self.digests)))}
        return np.array([first.get(digest.tobytes(), -1) for digest in digests], dtype=np.intp)

    def rows(self, X: Any) -> NDArray[np.intp]:
        """Return the position in the training set of every sample, or say that some are new."""
        found = self.find(X)
        new = np.flatnonzero(found < 0)
        if not len(new):
            return found
        if self.stack:
            msg = f"These kernel matrices are not those of fit. {_ADVICE}"
        else:
            msg = f"{len(new)} of {len(found)} samples were not part of fit (first: row {new[0]}). {_ADVICE}"
        raise NewSamplesError(msg)


def seen(X: Any, *, stack: bool) -> Seen:
    """Return what tells training samples from new ones, from samples or from a stack (r, n, n) of kernel matrices."""
    return Seen(_digests(X, stack=stack), stack)


def _digests(X: Any, *, stack: bool) -> NDArray[np.uint8]:
    if stack:
        return _joined([_digest(np.ascontiguousarray(X[:, i], dtype=np.float64) + 0.0) for i in range(X.shape[1])])
    if isinstance(X, Views):
        parts = [_placed(table, known) for table, known in zip(X.tables, X.present, strict=True)]
        return _joined([_digest(np.frombuffer(b"".join(row), dtype=np.uint8)) for row in zip(*parts, strict=True)])
    return _joined(_row_digests(X))


def _placed(table: Any, known: Mask) -> list[bytes]:
    """Return a digest for every sample that a view has, and a byte for those that it lacks."""
    digests = iter(_row_digests(table) if table.shape[0] else [])
    return [next(digests) if there else b"-" for there in known]


def _joined(digests: list[bytes]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(digests), _SIZE)


def _digest(array: NDArray[Any]) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).view(np.uint8).data, digest_size=_SIZE).digest()


def _row_digests(X: Any) -> list[bytes]:
    if not sparse.issparse(X):
        return [_digest(row + 0.0) for row in X.astype(np.float64)]  # + 0.0: equal samples, and -0.0, have equal bytes
    X = X.astype(np.float64)
    X.sum_duplicates()
    X.eliminate_zeros()
    parts = zip(np.split(X.indices.astype(np.int64), X.indptr[1:-1]), np.split(X.data, X.indptr[1:-1]), strict=True)
    return [_digest(np.concatenate([indices.view(np.uint8), data.view(np.uint8)])) for indices, data in parts]
