"""A source of choices: one seed and one index give one case, on every machine and in every order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class Draw:
    """Random choices of one case, and a note of each that helps to understand the case."""

    def __init__(self, seed: int, index: int) -> None:
        self.rng = np.random.default_rng((seed, index))
        self.notes: list[str] = []

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def integer(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def one(self, things: Sequence[Any]) -> Any:
        return things[self.integer(0, len(things) - 1)]

    def named(self, makers: dict[str, Callable[..., Any]], *arguments: Any) -> Any:
        """Return what one of several named functions makes, and note its name."""
        name = self.one(list(makers))
        self.notes.append(name)
        return makers[name](self, *arguments)

    def scale(self) -> float:
        """Return a factor: mostly an ordinary one, else any that floating point has."""
        return float(10.0 ** self.one([0, 0, 0, 0, -3, 3, 6, -6, -20, 20, 60, -60, 100, -100, 150, -150, 154, -154]))

    def extreme(self) -> float:
        return float(self.one([1e300, 1e-300, 1e200, 1e-200, 1e160, 1e-160, 1e154, 5e-324, 1.7e308, 1e38, 1e-38]))
