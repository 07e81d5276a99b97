"""One trial of the leaderboard: a method on a data set under a condition, with one seed."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from kernelweave.datasets import DatasetInfo
from kernelweave.leaderboard.entrants import Entrant
from kernelweave.leaderboard.protocol import Condition, Protocol

__all__ = ["Trial", "plan"]


@dataclass(frozen=True)
class Trial:
    """A row to compute."""

    data: DatasetInfo
    entrant: Entrant
    condition: Condition
    seed: int
    protocol: Protocol

    @cached_property
    def row_keys(self) -> tuple[str, ...]:
        """A digest that identifies the row by data, method, condition, seed and limits."""
        told = {
            "data": [self.data.name, self.data.sha256 or self.data.git_blob or ""],
            "method": [self.entrant.name, self.entrant.target, self.entrant.parameters],
            "given": [self.entrant.given, self.entrant.scaling],
            "condition": self.condition,
            "seed": self.seed,
            "samples": self.n_samples,
            "protocol": self.protocol.sha256,
        }
        return (hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest(),)

    @cached_property
    def name(self) -> str:
        """The stem of the file that stores the row."""
        words = "-".join([self.data.name, self.entrant.name, self.condition, str(self.n_samples), str(self.seed)])
        return f"{re.sub(r'[^a-z0-9]+', '-', words.lower())}-{self.row_keys[0][:16]}"

    @property
    def label(self) -> str:
        """The method."""
        return self.entrant.name

    @property
    def n_samples(self) -> int:
        """The number of samples of the trial."""
        return min(self.data.n_samples, self.protocol.max_samples)

    @property
    def cost(self) -> float:
        """A rough estimate of the work, for the remaining time."""
        views = self.data.n_views if self.entrant.given == "views" else 1
        return views * math.pow(max(self.n_samples, 100), 2.5)


def plan(
    data: Iterable[DatasetInfo], entrants: Iterable[Entrant], conditions: Iterable[Condition], protocol: Protocol
) -> list[Trial]:
    """Return the trials: all with the first seed before those with the next, small data sets first.

    Conditions that a data set or a method cannot have are left out: gaps and noise with one view, a number of clusters
    to find for a method that must be told it.
    """
    every = sorted(data, key=lambda info: info.n_samples)
    methods = tuple(entrants)
    return [
        Trial(info, entrant, condition, seed, protocol)
        for seed in range(protocol.seeds)
        for condition in conditions
        for info in every
        for entrant in methods
        if _applies(info, entrant, condition, seed)
    ]


def _applies(info: DatasetInfo, entrant: Entrant, condition: Condition, seed: int) -> bool:
    if (entrant.role == "classifier") != (condition == "labels"):
        return False
    if condition in ("gaps", "noise") and info.n_views < 2:
        return False
    if condition == "unknown" and entrant.unknown is None:
        return False
    return seed == 0 or entrant.is_random or condition not in ("plain", "unknown")
