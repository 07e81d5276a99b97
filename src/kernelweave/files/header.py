"""The text of a header: how much of it is read, checked before it is parsed."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from kernelweave.errors import BadFileError

__all__ = ["HEADER_BYTES", "check_header", "parse_header"]

HEADER_BYTES = 1 << 24  # texts of arrays, such as names of samples, are stored as arrays
_VALUES = 1 << 20  # each takes up to about 100 bytes once it is parsed
_DEPTH = 500  # Python's parser and ours recurse

_TEXT = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)  # an unfinished one ends with the header


def check_header(text: bytes) -> None:
    """Refuse a header that is too long, has too many values or is too deeply nested, without parsing it."""
    if len(text) > HEADER_BYTES:
        msg = f"its header has {len(text)} bytes; at most {HEADER_BYTES} are read."
        raise BadFileError(msg)
    marks = np.frombuffer(_TEXT.sub(b"", text), dtype=np.uint8)
    opening, closing = np.isin(marks, list(b"[{")), np.isin(marks, list(b"]}"))
    values = np.count_nonzero(opening) + np.count_nonzero(marks == ord(","))
    if values > _VALUES:
        msg = f"its header has about {values} values; at most {_VALUES} are read."
        raise BadFileError(msg)
    depth = int((opening.astype(np.int32) - closing).cumsum().max(initial=0))
    if depth > _DEPTH:
        msg = f"its header is nested {depth} levels deep; at most {_DEPTH} are read."
        raise BadFileError(msg)


def parse_header(text: bytes) -> Any:
    """Return the JSON of a header that is within the limits."""
    check_header(text)
    return json.loads(text.decode("utf-8", "surrogatepass"))
