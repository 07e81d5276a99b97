"""What is given (Problem) and what is sought (State); both immutable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.core.consensus.self_weighted import gram_distances
from kernelweave.core.paper.graph_step import residual
from kernelweave.core.paper.kernel_weights import distance_floor, kernel_products
from kernelweave.core.paper.safeguard import rounding_floor

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
    def products(self) -> Matrix:
        """G, G_ij = <H_i, H_j>, summed in double precision."""
        return kernel_products(self.H)

    @cached_property
    def mean_weight(self) -> float:
        """Σ_i 1/(2 ||H_i - H̄||), the sum of SMKL's weights at the mean H̄ of the kernels: it falls as 1/n.

        A kernel nearer to H̄ than a hundredth of its size counts as that far: one kernel alone is at distance 0.
        """
        d = gram_distances(self.products, np.full(self.r, 1 / self.r))
        return float((0.5 / np.maximum(d, 0.01 * np.sqrt(self.products.diagonal()))).sum())

    @cached_property
    def rounding_floor(self) -> float:
        """δ of the safeguarded scheme, which knows distances from products of kernels."""
        return rounding_floor(float(np.sqrt(self.products.diagonal().max())))

    @cached_property
    def size(self) -> float:
        """The largest ||H_i||_F."""
        return float(max(np.linalg.norm(Hi) for Hi in self.H))

    @cached_property
    def floor(self) -> float:
        """δ, the distance below which the consensus counts as meeting a kernel."""
        return distance_floor(self.size)


@dataclass(frozen=True, slots=True)
class State:
    """One point of the search: graph S, consensus K, weights w, labels P, and what a step has computed along with them.

    A step that changes S sets or drops M and q; one that changes K sets or drops A and d; one that changes P, q. A
    belongs to the next graph step, which builds S in its memory: a state that is kept is kept `bare`.
    """

    S: Matrix
    K: Matrix
    w: Vector
    P: Matrix
    M: Matrix | None = None  # (I - S)(I - S)', the residual of S
    A: Matrix | None = None  # (K + γI)^-1
    d: Vector | None = None  # ||H_i - K||
    on_bound: bool = False  # whether K is where it is because K >= -γ/2
    q: float | None = None  # Tr(P'LP), known if P is what was inferred on the positive part of this S

    def with_graph(self, S: Matrix) -> State:
        """Return the state with another graph, and the residual that goes with it."""
        return replace(self, S=S, M=residual(S), q=None)

    def with_labels(self, P: Matrix) -> State:
        """Return the state with other labels."""
        return replace(self, P=P, q=None)

    def bare(self) -> State:
        """Return S, K, w and P alone: what a solution and a start consist of."""
        return replace(self, M=None, A=None)
