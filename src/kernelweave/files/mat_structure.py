"""Damaged sparse matrices in MATLAB files of version 5, found before scipy reads them: its reader may crash on them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernelweave.errors import InvalidInputError

__all__ = ["check_sparse_variables"]

_HEADER = 128
_ORDERS = {b"IM": "<", b"MI": ">"}
_MATRIX, _COMPRESSED, _SPARSE = 14, 15, 5
_INTEGERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 12: "i8", 13: "u8"}
_FRONT = 64  # bytes of a variable up to its shape
_MOST = 40  # bytes of an entry of a sparse matrix at most, and of a column


class _Part(NamedTuple):
    kind: int
    data: bytes
    end: int


def check_sparse_variables(path: Path) -> None:
    """Refuse a file with a sparse matrix whose positions do not fit its shape, or whose parts are cut off.

    Every part of a variable begins with its type and size; a sparse matrix has flags, shape, name, rows, and where
    every column begins.
    """
    data = path.read_bytes()
    order = _ORDERS.get(data[126:128])
    if order is None:  # of version 4, which is a plain list of numbers
        return
    for content in _variables(data, order):
        try:
            fits = _fits(content, order)
        except (struct.error, KeyError, ValueError):
            fits = False
        if not fits:
            msg = f"{path} is damaged: it holds a sparse matrix whose positions do not fit its shape. Save it again."
            raise InvalidInputError(msg)


def _variables(data: bytes, order: str) -> Iterator[bytes]:
    """Yield the content of every sparse variable, inflated as far as its shape allows."""
    i = _HEADER
    while i + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, i)
        content = data[i + 8 : i + 8 + size]
        i += 8 + size
        if kind == _COMPRESSED:
            content = _inflated(content, _limit(content, order))[8:]
        elif kind != _MATRIX:
            continue
        if len(content) >= 12 and struct.unpack_from(f"{order}I", content, 8)[0] & 0xFF == _SPARSE:
            yield content


def _inflated(content: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(content, most)
    except zlib.error:
        return b""  # scipy refuses it


def _limit(content: bytes, order: str) -> int:
    """Return how many bytes a compressed variable has at most, by its shape."""
    front = _inflated(content, _FRONT).ljust(_FRONT, b"\0")
    rows, columns = struct.unpack_from(f"{order}II", front, 32)
    return int(_FRONT + _MOST * (rows * columns + columns + 100))


def _fits(content: bytes, order: str) -> bool:
    flags = _part(content, 0, order)
    shape = _part(content, flags.end, order)
    m, n = _integers(shape, order)[:2].tolist()
    name = _part(content, shape.end, order)
    rows = _part(content, name.end, order)
    starts = _part(content, rows.end, order)
    ir, jc = _integers(rows, order), _integers(starts, order)
    if len(jc) <= n or m < 0 or n < 0:
        return False
    jc = jc[: n + 1]
    if jc[0] != 0 or (np.diff(jc) < 0).any() or jc[-1] > len(ir):
        return False
    used = ir[: jc[-1]]
    return not len(used) or bool(used.min() >= 0 and used.max() < m)


def _part(content: bytes, i: int, order: str) -> _Part:
    """Return the part that begins at a byte: its type, data, and where the next one begins."""
    first, size = struct.unpack_from(f"{order}II", content, i)
    start = i + 8
    if first >> 16:  # at most four bytes, behind a type and a size of two bytes each
        first, size, start = first & 0xFFFF, first >> 16, i + 4
    if start + size > len(content):
        msg = "cut off"
        raise ValueError(msg)
    end = start + size
    return _Part(first, content[start:end], end + -end % 8)


def _integers(part: _Part, order: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.frombuffer(part.data, dtype=order + _INTEGERS[part.kind]).astype(np.int64)
