"""Acceleration of slow runs: iterations that start where the last three consensus kernels are heading (SQUAREM)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from kernelweave._types import Matrix
from kernelweave.solve.loop import Run
from kernelweave.solve.result import StepError
from kernelweave.solve.scheme import Iteration

__all__ = ["Leaps", "extrapolated"]

_ROWS = 128
_SLOW_FROM = 10  # iterations: most runs end before, and need no memory for the kernels
_FIRST, _LEAST, _MOST = 4.0, 2.0, 1e4  # bounds of the stride


@dataclass(slots=True)
class Leaps:
    """The iterations of a run whose graph S follows from K and P by its first step.

    From the tenth iteration on, an iteration starts from an extrapolated K and is kept if the objective is no higher
    after it. The run ends within an iteration if neither its first step nor the last steps of the iteration before
    change more than the tolerance: the other steps would not either.
    """

    run: Run
    reach: float = _FIRST
    objective: float = np.inf
    last_change: float = np.inf  # the largest one of the steps of the last sweep but the first
    seen: int = 0
    kernels: list[Matrix] = field(default_factory=list)

    def __call__(self) -> Iteration | None:
        """Take one iteration, from an extrapolated K or from the state as it is; None if it would change nothing."""
        iteration = self._leap() if len(self.kernels) == 3 else None
        if iteration is None:
            iteration = self.run.sweep(enough=self.run.tol if self.last_change < self.run.tol else 0.0)
            if iteration is None:
                return None
            self.last_change = max(iteration.changes[1:], default=0.0)
        self.objective = sum(iteration.terms.values())
        self.seen += 1
        if self.seen > _SLOW_FROM - 3:
            self.kernels.append(self.run.state.K)
        return iteration

    def _leap(self) -> Iteration | None:
        """Take an iteration from an extrapolated K; None, with the state as it was, if it is not kept."""
        run, before = self.run, self.run.state.bare()
        K = extrapolated(*self.kernels, reach=self.reach)
        if K is None:
            self.kernels = self.kernels[1:]
            return None
        self.kernels, self.last_change = self.kernels[2:], np.inf
        run.state = replace(before, K=K, d=None)
        del K  # the run holds the only reference
        try:
            iteration = run.sweep()
        except StepError:
            iteration = None
        if iteration is None or not sum(iteration.terms.values()) <= self.objective:  # also if it is nan
            run.state, self.reach = before, max(self.reach / 2, _LEAST)
            return None
        self.kernels, self.reach = [], min(4 * self.reach, _MOST)
        self.last_change = max(iteration.changes[1:], default=0.0)
        return Iteration([run.scheme.change(before, run.state)], iteration.terms)


def extrapolated(K0: Matrix, K1: Matrix, K2: Matrix, *, reach: float) -> Matrix | None:
    """K_0 + 2s(K_1 - K_0) + s²(K_2 - 2K_1 + K_0), s = ||K_1 - K_0|| / ||K_2 - 2K_1 + K_0|| (Varadhan and Roland, 2008).

    The stride s is at most `reach`; None if it is at most 1, which is not ahead of K_2.
    """
    strips = [slice(i, i + _ROWS) for i in range(0, len(K0), _ROWS)]  # no matrices for the differences
    step = sum(float(np.sum((K1[i] - K0[i]) ** 2)) for i in strips)
    bend = sum(float(np.sum((K2[i] - 2 * K1[i] + K0[i]) ** 2)) for i in strips)
    s = min(float(np.sqrt(step / max(bend, np.finfo(np.float64).tiny))), reach)
    if s <= 1:
        return None
    K = np.empty_like(K2)
    for i in strips:
        K[i] = K0[i] + 2 * s * (K1[i] - K0[i]) + s * s * (K2[i] - 2 * K1[i] + K0[i])
    return K
