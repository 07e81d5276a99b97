"""Digests of 16 bytes, by which training samples are recognised.

A digest is two sums, modulo 2**64, of the numbers of a row, whose bits are scrambled and multiplied by factors of their
column. Equal rows have equal digests; those of two different rows are equal with a probability of about 2**-128. They
are not cryptographic: rows with the digest of another row can be constructed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelweave._types import Mask, Samples
from kernelweave.errors import NewSamplesError

__all__ = ["Lean", "Seen", "drawn_rows", "joined_digests", "row_digests", "stack_digests"]

Words: TypeAlias = NDArray[np.uint64]

_BLOCK = 2**16  # numbers that are converted together, so that they stay in the processor's cache
_GOLDEN, _FIRST, _SECOND = (np.uint64(word) for word in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_SHIFTS = tuple(np.uint64(bits) for bits in (30, 27, 31))


class Lean:
    """A frozen dataclass whose copies and pickles hold its fields only, without cached properties."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


class _Content(Protocol):
    def digests(self) -> NDArray[np.uint8]:
        """Return 16 bytes for every sample."""


@dataclass(frozen=True, eq=False)
class Seen(Lean):
    """The training samples of a model, by their digests.

    Parameters
    ----------
    digests : array of uint8 of shape (n, 16)
        A row for every sample.
    """

    digests: NDArray[np.uint8]

    @cached_property
    def _sorted(self) -> tuple[Words, Words, NDArray[np.intp]]:
        """The distinct digests in order, as two words, and the first sample that has each."""
        words = np.ascontiguousarray(self.digests).view(np.uint64)
        order = np.lexsort((words[:, 1], words[:, 0]))  # stable: the first of equal samples comes first
        first, second = words[order].T
        new = np.ones(len(order), dtype=bool)
        new[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
        return first[new], second[new], order[new]

    def find(self, samples: _Content) -> NDArray[np.intp]:
        """Return the position in the training set of every sample, -1 for new ones."""
        digests = samples.digests()
        if np.array_equal(
            digests, self.digests
        ):  # the training set itself: copies of a sample keep their own positions
            return np.arange(len(digests))
        first, second, position = self._sorted
        words = np.ascontiguousarray(digests).view(np.uint64)
        place = np.searchsorted(first, words[:, 0]).clip(max=len(first) - 1)
        return np.where((first[place] == words[:, 0]) & (second[place] == words[:, 1]), position[place], -1)

    def rows(self, samples: _Content) -> NDArray[np.intp]:
        """Return the position in the training set of every sample; new ones are an error."""
        found = self.find(samples)
        new = np.flatnonzero(found < 0)
        if len(new):
            were = "was" if len(new) == 1 else "were"
            many = f"{len(new)} of {len(found)} samples {were} not part of fit (first: row {new[0]})"
            what = many if len(found) > 1 else "The sample was not part of fit"
            msg = (
                f"{what}. This method works for training samples only: to classify new ones, call fit again with "
                "them included and y = -1."
            )
            raise NewSamplesError(msg)
        return found


def row_digests(X: Samples, first: int = 0) -> NDArray[np.uint8]:
    """Return a digest of every row, (n, 16); the columns of a dense table are numbered from `first`.

    It depends on the values only, not on their precision or on whether the table is sparse.
    """
    if sparse.issparse(X):
        return _sparse_sums(X).view(np.uint8)
    n, width = X.shape
    keys, sums = _keys(width, first), np.zeros((n, 2), dtype=np.uint64)
    height = max(1, _BLOCK // max(width, 1))
    for i in range(0, n, height):
        block = np.asarray(X[i : i + height], dtype=np.float64, order="C") + 0.0  # -0.0 becomes 0.0
        for lane, words in enumerate(_scrambled(block.view(np.uint64), keys)):
            sums[i : i + height, lane] = words.sum(axis=1, dtype=np.uint64)
    return sums.view(np.uint8)


def drawn_rows(digests: NDArray[np.uint8], n: int) -> NDArray[np.intp]:
    """Return the positions of n samples as if drawn at random, the same samples in every order: the least digests."""
    words = np.ascontiguousarray(digests).view("S16").ravel()
    return np.sort(np.argsort(words, kind="stable")[:n])


def stack_digests(H: NDArray[np.floating[Any]]) -> NDArray[np.uint8]:
    """Return a digest of the rows of every sample in all matrices of a stack (r, m, n), (m, 16)."""
    sums: Words = np.sum(
        [row_digests(K, i * K.shape[1]).view(np.uint64) for i, K in enumerate(H)], axis=0, dtype=np.uint64
    )
    return sums.view(np.uint8)


def joined_digests(parts: Sequence[NDArray[np.uint8]], present: Mask) -> NDArray[np.uint8]:
    """Return a digest of every sample from its digests in the views that have it, and from which views have it."""
    placed = np.zeros((present.shape[1], len(parts), 3), dtype=np.uint64)
    for v, (part, known) in enumerate(zip(parts, present, strict=True)):
        placed[known, v, 0] = 1
        placed[known, v, 1:] = np.ascontiguousarray(part).view(np.uint64)
    lanes = _scrambled(placed.reshape(len(placed), -1), _keys(3 * len(parts), 0))
    return np.stack([lane.sum(axis=1, dtype=np.uint64) for lane in lanes], axis=1).view(np.uint8)


def _sparse_sums(X: Samples) -> Words:
    """Return the sums that the rows have in dense form: those of zeros are 0."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    keys, found = _keys(X.shape[1], 0), np.zeros((X.shape[0], 2), dtype=np.uint64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    for i in range(0, X.nnz, _BLOCK):
        part = slice(i, i + _BLOCK)
        values = X.data[part].astype(np.float64) + 0.0
        for lane, words in enumerate(_scrambled(values.view(np.uint64), keys[:, X.indices[part]])):
            np.add.at(found[:, lane], rows[part], words)
    return found


@lru_cache(maxsize=8)  # new samples are often looked for a few at a time
def _keys(n: int, start: int) -> Words:
    """Return two factors for each of n columns, (2, n): odd words, from the generator splitmix64."""
    a, b, c = _SHIFTS
    words = np.arange(2 * start + 1, 2 * (start + n) + 1, dtype=np.uint64) * _GOLDEN
    words = (words ^ (words >> a)) * _FIRST
    words = (words ^ (words >> b)) * _SECOND
    words ^= words >> c
    keys = np.ascontiguousarray(words.reshape(n, 2).T | np.uint64(1))
    keys.setflags(write=False)
    return keys


def _scrambled(words: Words, keys: Words) -> tuple[Words, Words]:
    """Return two words for each word, with the factors of its column; 0 stays 0.

    The words of numbers such as 1.0 have few bits that are not 0. They are spread over the word first, since otherwise
    only some bits of the factors would have an effect.
    """
    a, b, c = _SHIFTS
    spread = words >> a
    spread ^= words
    spread *= _FIRST
    spread ^= spread >> b
    spread *= _SECOND
    spread ^= spread >> c
    return spread * keys[0], spread * keys[1]
