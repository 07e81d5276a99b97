"""What is given (Problem), what is sought (State), and the matrices that the steps of a run reuse (Workspace)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from kernelweave._types import Mask, Matrix, Vector
from kernelweave.core.consensus.self_weighted import gram_distances
from kernelweave.core.paper.graph_step import ridge_inverse
from kernelweave.core.paper.kernel_weights import DISTANCE_FLOOR, SAFEGUARDED_FLOOR, kernel_products

__all__ = ["Problem", "State", "Workspace"]


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
        """HH, HH_ij = <H_i, H_j>, summed in double precision."""
        return kernel_products(self.H)

    @cached_property
    def mean_weight(self) -> float:
        """Σ_i 1/(2 ||H_i - H̄||), the sum of SMKL's weights at the mean H̄ of the kernels, which decreases as 1/n.

        Distances are at least a hundredth of the kernel's norm: a single kernel is at distance 0 from its mean.
        """
        d = gram_distances(self.products, np.full(self.r, 1 / self.r))
        return float((0.5 / np.maximum(d, 0.01 * np.sqrt(self.products.diagonal()))).sum())

    @cached_property
    def size(self) -> float:
        """The largest ||H_i||_F."""
        return float(max(np.linalg.norm(Hi) for Hi in self.H))

    @cached_property
    def floor(self) -> float:
        """δ: distances ||H_i - K|| below it are raised to it, so that weights are finite."""
        return DISTANCE_FLOOR * self.size

    @cached_property
    def safeguarded_floor(self) -> float:
        """δ of the safeguarded version, which computes distances from products of kernels."""
        return SAFEGUARDED_FLOOR * float(np.sqrt(self.products.diagonal().max()))


@dataclass(frozen=True, slots=True)
class State:
    """One point of the search: graph S, consensus K, weights w, labels P, and quantities derived from them.

    A step that changes S sets or drops M and q; one that changes K sets or drops d; one that changes P, q. No step
    overwrites an array of a state.
    """

    S: Matrix
    K: Matrix
    w: Vector
    P: Matrix
    M: Matrix | None = None  # (I - S)(I - S)', the residual of S
    d: Vector | None = None  # ||H_i - K||
    on_bound: bool = False  # whether the constraint K >= -γ/2 is active
    q: float | None = None  # Tr(P'LP), set if P was inferred on the positive part of this S

    def bare(self) -> State:
        """Return the state without M: what a solution and a start consist of."""
        return replace(self, M=None)


@dataclass(slots=True)
class Workspace:
    """Owned by one run: the inverse A of the last K, for the next graph step, which may overwrite it.

    It saves time and memory and changes no result: what is not here is computed.
    """

    _A: Matrix | None = None
    _of: tuple[Matrix, float] | None = None

    def keep_inverse(self, A: Matrix, K: Matrix, gamma: float) -> None:
        """Keep A = (K + γI)^-1 for a later step."""
        self._A, self._of = A, (K, gamma)

    def take_inverse(self, K: Matrix, gamma: float) -> Matrix:
        """Return A = (K + γI)^-1, kept or computed. It is the caller's, who may overwrite it, or keep it again."""
        A, of = self._A, self._of
        self._A = self._of = None
        if A is not None and of is not None and of[0] is K and of[1] == gamma:
            return A
        del A  # frees it before another one is allocated
        return ridge_inverse(K, gamma=gamma)
