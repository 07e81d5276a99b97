"""Samples recognised by their content: a digest of 16 bytes each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Mask, Samples
from kernelweave.errors import NewSamplesError

__all__ = ["Seen", "as_digests", "joined_digests", "row_digests"]

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
            were = "was" if len(new) == 1 else "were"
            many = f"{len(new)} of {len(found)} samples {were} not part of fit (first: row {new[0]})"
            what = many if len(found) > 1 else "The sample was not part of fit"
            msg = (
                f"{what}. This method answers for training samples only: to classify new ones, call fit again with "
                "them included and y = -1."
            )
            raise NewSamplesError(msg)
        return found


def row_digests(X: Samples) -> NDArray[np.uint8]:
    """Return a digest of every row, (n, 16): equal for equal numbers, whatever their precision."""
    if sparse.issparse(X):
        return _sparse_digests(X)
    found = bytearray()
    for start in range(0, len(X), _BLOCK):
        block = np.ascontiguousarray(X[start : start + _BLOCK], dtype=np.float64) + 0.0  # -0.0 becomes 0.0
        width = max(block[:1].nbytes, 1)
        data = block.data.cast("B")
        for i in range(0, len(data), width):
            found += hashlib.blake2b(data[i : i + width], digest_size=_SIZE).digest()
    return np.frombuffer(bytes(found), dtype=np.uint8).reshape(-1, _SIZE)


def _sparse_digests(X: Samples) -> NDArray[np.uint8]:
    X = X.astype(np.float64)
    X.sum_duplicates()
    X.eliminate_zeros()
    indices, data = X.indices.astype(np.int64), X.data
    rows = zip(X.indptr[:-1], X.indptr[1:], strict=True)
    return as_digests(indices[i:j].tobytes() + data[i:j].tobytes() for i, j in rows)


def joined_digests(parts: Sequence[NDArray[np.uint8]], present: Mask) -> NDArray[np.uint8]:
    """Return a digest of every sample from those of the views that have it, and from which these are."""
    n = present.shape[1]
    placed = np.zeros((n, len(parts), _SIZE + 1), dtype=np.uint8)
    for v, (part, known) in enumerate(zip(parts, present, strict=True)):
        placed[known, v, 0] = 1
        placed[known, v, 1:] = part
    return as_digests(row.tobytes() for row in placed)


def as_digests(rows: Iterable[bytes]) -> NDArray[np.uint8]:
    """Return digests of texts of bytes, (n, 16)."""
    found = b"".join(hashlib.blake2b(row, digest_size=_SIZE).digest() for row in rows)
    return np.frombuffer(found, dtype=np.uint8).reshape(-1, _SIZE)
