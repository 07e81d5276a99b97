"""Leaps ahead in a slow run: where the last three consensus kernels are heading (SQUAREM)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from kernelweave._types import Matrix
from kernelweave.solve.problem import State

__all__ = ["Leaper"]

_ROWS = 128
_SLOW_FROM = 10  # iterations: most runs end before, and need no memory for this
_FIRST, _LEAST, _MOST = 4.0, 2.0, 1e4  # bounds of the stride


@dataclass
class Leaper:
    """K_0 + 2s(K_1 - K_0) + s²(K_2 - 2K_1 + K_0), s = ||K_1 - K_0|| / ||K_2 - 2K_1 + K_0|| (Varadhan and Roland, 2008).

    A leap is only a start for the next iteration: it is taken if the objective is no higher after that.
    """

    reach: float = _FIRST
    seen: int = 0
    kernels: list[Matrix] = field(default_factory=list)

    def note(self, K: Matrix) -> None:
        """Remember the consensus after a plain iteration, if the run is a slow one."""
        self.seen += 1
        if self.seen > _SLOW_FROM - 3:
            self.kernels.append(K)

    def ahead(self, state: State) -> State | None:
        """Return the state with K as far ahead as the trend goes, or None if there is none yet."""
        if len(self.kernels) < 3:
            return None
        K0, K1, K2 = self.kernels
        strips = [slice(i, i + _ROWS) for i in range(0, len(K0), _ROWS)]
        step = sum(float(np.sum((K1[i] - K0[i]) ** 2)) for i in strips)
        bend = sum(float(np.sum((K2[i] - 2 * K1[i] + K0[i]) ** 2)) for i in strips)
        s = min(float(np.sqrt(step / max(bend, np.finfo(np.float64).tiny))), self.reach)
        if s <= 1:
            self.kernels = [K1, K2]
            return None
        K = np.empty_like(K2)
        for i in strips:
            K[i] = K0[i] + 2 * s * (K1[i] - K0[i]) + s * s * (K2[i] - 2 * K1[i] + K0[i])
        self.kernels = [K2]
        return replace(state, K=K, A=None, d=None)

    def judged(self, *, taken: bool) -> None:
        """Reach farther after a leap that was taken, and look for another trend; less far after one that was not."""
        self.kernels = [] if taken else self.kernels
        self.reach = min(4 * self.reach, _MOST) if taken else max(self.reach / 2, _LEAST)
