"""Data files of R (.rda, .RData), parsed byte by byte: nothing in them is run, and code in them is refused.

The format is R's serialisation in XDR, versions 2 and 3 ("R Internals", section 1.8).
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from kernelweave._types import Array
from kernelweave.datasets.contents import undamaged
from kernelweave.errors import InvalidInputError
from kernelweave.runtime import check_memory

__all__ = ["read_r_content"]

_CHUNK = 1 << 22
_DEEPEST = 100
_NIL, _REFERENCE, _ALTREP = 254, 255, 238
_SYMBOL, _PAIRS, _TEXT, _TEXTS, _LIST = 1, 2, 9, 16, 19
_ATTRIBUTES, _TAG = 1 << 9, 1 << 10  # flags of an item
_VECTORS = {10: ">i4", 13: ">i4", 14: ">f8"}  # logical, integer and real numbers
_MISSING_INTEGER = -(2**31)
_OPENERS: dict[bytes, Callable[[Path], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZ": bz2.open,
    b"\xfd7": lzma.open,
    b"RD": lambda path: path.open("rb"),
}


def read_r_content(path: Path) -> dict[str, Any]:
    """Return the objects of an R data file: arrays, texts for factors, dicts for named lists and data frames.

    Parameters
    ----------
    path : Path
        The file, compressed by gzip, bzip2 or xz, or not at all.

    Returns
    -------
    content : dict

    Raises
    ------
    InvalidInputError
        If the file is damaged, or has functions, environments or other things that are not data.
    """
    with undamaged(path, "a data file of R"):
        return _Items(_inflated(path)).objects()


def _inflated(path: Path) -> bytes:
    with path.open("rb") as file:
        start = file.read(2)
    if start not in _OPENERS:
        msg = f"{path} is not a data file of R: it starts with {start!r}. Fetch it again."
        raise InvalidInputError(msg)
    opened: BinaryIO = _OPENERS[start](path)
    found = bytearray()
    with opened as file:
        while chunk := file.read(_CHUNK):
            check_memory(2 * (len(found) + len(chunk)), what=f"{path}: its content", advice="use a larger machine")
            found += chunk
    return bytes(found)


class _Items:
    """The items of a serialised file, read one after the other."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0
        self._references: list[Any] = []

    def objects(self) -> dict[str, Any]:
        """Return the objects of the file by name."""
        if self._take(7) not in (b"RDX2\nX\n", b"RDX3\nX\n"):
            msg = "it is not in R's binary format of version 2 or 3"
            raise ValueError(msg)
        version, _, _ = (self._integer() for _ in range(3))
        if version == 3:
            self._take(self._integer())  # the name of the encoding
        found = self._item()
        if not isinstance(found, dict):
            msg = "it holds one nameless object, not the named objects of save()"
            raise ValueError(msg)
        return found

    def _take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._content):
            msg = f"it claims {size} bytes at byte {self._at} of {len(self._content)}"
            raise ValueError(msg)
        self._at += size
        return self._content[self._at - size : self._at]

    def _integer(self) -> int:
        return int(struct.unpack(">i", self._take(4))[0])

    def _item(self, depth: int = 0) -> Any:
        flags = self._integer()
        kind = flags & 255
        if depth > _DEEPEST:
            msg = f"its lists are nested deeper than {_DEEPEST}"
            raise ValueError(msg)
        if kind == _NIL:
            return None
        if kind == _REFERENCE:
            return self._references[(flags >> 8 or self._integer()) - 1]
        if kind == _SYMBOL:
            self._references.append(self._item(depth + 1))
            return self._references[-1]
        if kind == _PAIRS:
            return self._pairs(flags, depth)
        if kind == _ALTREP:
            return self._altrep(depth)
        if kind == _TEXT:
            size = self._integer()
            return None if size == -1 else self._take(size).decode("utf-8", "replace")
        return self._vector(kind, flags, depth)

    def _pairs(self, flags: int, depth: int) -> dict[str, Any]:
        """Return a list of pairs, such as attributes, by their tags."""
        found: dict[str, Any] = {}
        while flags & 255 == _PAIRS:
            if flags & _ATTRIBUTES:
                self._item(depth + 1)
            tag = self._item(depth + 1) if flags & _TAG else None
            found[str(tag or len(found))] = self._item(depth + 1)
            flags = self._integer()
        if flags & 255 != _NIL:
            msg = "a list of pairs does not end"
            raise ValueError(msg)
        return found

    def _vector(self, kind: int, flags: int, depth: int) -> Any:
        if kind not in _VECTORS and kind not in (_TEXTS, _LIST):
            msg = f"it holds an object of R's type {kind}, which is not data (a function, an environment, ...)"
            raise ValueError(msg)
        length = self._integer()
        values: Any
        if kind in _VECTORS:
            values = np.frombuffer(self._take(np.dtype(_VECTORS[kind]).itemsize * length), _VECTORS[kind])
            values = values.astype(np.float64 if kind == 14 else np.int64)
        else:
            if not 0 <= 4 * length <= len(self._content) - self._at:  # an item has four bytes at least
                msg = f"it claims a list of {length} items at byte {self._at}"
                raise ValueError(msg)
            values = [self._item(depth + 1) for _ in range(length)]
        attributes = self._item(depth + 1) if flags & _ATTRIBUTES else None
        return _shaped(values, attributes or {}, texts=kind == _TEXTS)

    def _altrep(self, depth: int) -> Any:
        """Return a vector in a compact form: a sequence of integers, or a vector with a wrapper."""
        about, state, _ = (self._item(depth + 1) for _ in range(3))
        name = next(iter(about.values())) if isinstance(about, dict) and about else about
        if name == "compact_intseq":
            n, first, step = (int(value) for value in state)
            check_memory(8 * abs(n), what="a sequence of R", advice="fetch the file again")
            return first + step * np.arange(n, dtype=np.int64)
        if isinstance(name, str) and name.startswith("wrap_"):
            return next(iter(state.values())) if isinstance(state, dict) else state[0]
        msg = f"it holds a vector in the compact form {name}, which is not read"
        raise ValueError(msg)


def _shaped(values: Any, attributes: dict[str, Any], *, texts: bool) -> Any:
    """Return a vector as its attributes say: a factor, a matrix, a named list or a data frame."""
    if texts:
        values = np.array(["" if text is None else text for text in values], dtype=np.str_)
    if attributes.get("levels") is not None and isinstance(values, np.ndarray):
        return _factor(values, np.asarray(attributes["levels"]))
    if attributes.get("dim") is not None and isinstance(values, np.ndarray):
        return values.reshape(tuple(map(int, attributes["dim"])), order="F")
    if isinstance(values, list) and attributes.get("names") is not None:
        return dict(zip(map(str, attributes["names"]), values, strict=True))
    return values


def _factor(codes: Array, levels: Array) -> Array:
    if codes.size and (codes.min() < 1 or codes.max() > len(levels)):
        known = codes[codes != _MISSING_INTEGER]
        if known.size and (known.min() < 1 or known.max() > len(levels)):
            msg = "a factor has a code without a level"
            raise ValueError(msg)
        return np.array([levels[code - 1] if code != _MISSING_INTEGER else "" for code in codes])
    return np.asarray(levels[codes - 1])
