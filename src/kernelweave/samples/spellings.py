"""Names of samples that are nearly the same text in two tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["spelled_alike"]

_SEPARATORS = re.compile(r"[\s._-]+")  # R writes TCGA.01 for TCGA-01
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")  # spreadsheets write 7 for 007


def spelled_alike(indexes: Mapping[str, Any]) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """Return pairs of a view and a name that differ only in case, separators or leading zeros.

    Each is a text, and no view has both: a view that has both tells them apart. `indexes` are pandas indexes.
    """
    held = {view: set(index) for view, index in indexes.items()}
    everywhere = set.intersection(*held.values())
    found = []
    first: dict[str, tuple[str, str]] = {}
    for view, index in indexes.items():
        for name in index:
            if not isinstance(name, str) or name in everywhere:
                continue
            other = first.setdefault(_plain(name), (view, name))
            if other[1] != name and not any(name in names and other[1] in names for names in held.values()):
                found.append((other, (view, name)))
    return found


def _plain(name: str) -> str:
    return _ZEROS.sub("", _SEPARATORS.sub("-", name.strip().casefold()))
