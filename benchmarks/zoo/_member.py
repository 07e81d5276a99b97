"""One data set of the zoo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Built", "Member"]

# the samples (an array, a sparse array, or a list of views), and their classes: -1 for an outlier, which belongs to
# none; None if there are no classes at all
Built = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Member:
    """A small data set: its name, what kind of data it is like, and how it is made from a seed."""

    name: str
    kind: str
    description: str
    build: Callable[[int], Built]

    def __str__(self) -> str:
        return self.name
