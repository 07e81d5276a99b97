"""What is given (Problem) and what is sought (State); both immutable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from kernelweave.core.graph import residual
from kernelweave.core.weights import distance_floor
from kernelweave.kernels._types import Mask, Matrix, Vector

__all__ = ["Problem", "State"]


@dataclass(frozen=True)
class Problem:
    """The base kernels H (r, n, n), the number c of clusters or classes and, for classification, the known labels."""

    H: Matrix
    c: int
    Y: Matrix | None = None  # (n, c) one-hot; rows of unlabelled samples are 0
    labelled: Mask | None = None  # (n,)

    @property
    def r(self) -> int:
        """The number of kernels."""
        return len(self.H)

    @property
    def n(self) -> int:
        """The number of samples."""
        return len(self.H[0])

    @cached_property
    def floor(self) -> float:
        """δ, the distance below which the consensus counts as meeting a kernel."""
        return distance_floor(self.H)


@dataclass(frozen=True, slots=True)
class State:
    """One point of the search: graph S, its residual M = (I - S)(I - S)', consensus K, weights w, labels P."""

    S: Matrix
    M: Matrix
    K: Matrix
    w: Vector
    P: Matrix

    def with_graph(self, S: Matrix) -> State:
        """Return the state with another graph, and the residual that goes with it."""
        return replace(self, S=S, M=residual(S))
