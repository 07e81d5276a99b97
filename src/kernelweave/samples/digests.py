"""Samples recognised by their content: a digest of 16 bytes each."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Samples
from kernelweave.errors import NewSamplesError

__all__ = ["Seen", "as_digests", "digest", "row_digests"]

_SIZE = 16
_BLOCK = 4096  # rows that are converted together, so that no second copy of the table is made


class _Content(Protocol):
    def digests(self) -> NDArray[np.uint8]:
        """Return 16 bytes for every sample."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The training samples of a model, by their digests.

    Parameters
    ----------
    digests : array of uint8 of shape (n, 16)
        A row for every sample.
    """

    digests: NDArray[np.uint8]

    def find(self, samples: _Content) -> NDArray[np.intp]:
        """Return the position in the training set of every sample, -1 for new ones."""
        digests = samples.digests()
        if np.array_equal(digests, self.digests):  # the training set itself: copies of a sample keep their own answers
            return np.arange(len(digests))
        known, wanted = (np.ascontiguousarray(d).view(f"S{_SIZE}").ravel() for d in (self.digests, digests))
        names, first = np.unique(known, return_index=True)
        place = np.searchsorted(names, wanted).clip(max=len(names) - 1)
        return np.where(names[place] == wanted, first[place], -1)

    def rows(self, samples: _Content) -> NDArray[np.intp]:
        """Return the position in the training set of every sample; new ones are an error."""
        found = self.find(samples)
        new = np.flatnonzero(found < 0)
        if len(new):
            msg = (
                f"{len(new)} of {len(found)} samples were not part of fit (first: row {new[0]}). This method answers "
                "for training samples only: to classify new ones, call fit again with them included and y = -1."
            )
            raise NewSamplesError(msg)
        return found


def digest(data: bytes | memoryview) -> bytes:
    """Return 16 bytes that tell this content from others."""
    return hashlib.blake2b(data, digest_size=_SIZE).digest()


def as_digests(rows: list[bytes]) -> NDArray[np.uint8]:
    """Return digests as rows of bytes, (n, 16)."""
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), _SIZE)


def row_digests(X: Samples) -> list[bytes]:
    """Return a digest of every row: equal for equal numbers, whatever their precision."""
    if sparse.issparse(X):
        return _sparse_digests(X)
    found: list[bytes] = []
    for start in range(0, len(X), _BLOCK):
        block = np.ascontiguousarray(X[start : start + _BLOCK], dtype=np.float64) + 0.0  # -0.0 becomes 0.0
        width = block.shape[1] * block.itemsize
        data = memoryview(block).cast("B")
        found += [digest(data[i : i + width]) for i in range(0, len(data), width)]
    return found


def _sparse_digests(X: Samples) -> list[bytes]:
    X = X.astype(np.float64)
    X.sum_duplicates()
    X.eliminate_zeros()
    indices, data = X.indices.astype(np.int64), X.data
    return [
        digest(indices[i:j].tobytes() + data[i:j].tobytes()) for i, j in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
