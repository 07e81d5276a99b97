"""A scheme: what makes one run of a model differ from another, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from kernelweave.core.linalg import symmetric_spectral_norm
from kernelweave.kernels._types import Matrix
from kernelweave.solve.problem import Problem, State
from kernelweave.solve.steps import Step

__all__ = ["Scheme", "frobenius_change", "spectral_change"]

Terms: TypeAlias = Callable[[Problem, State], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A name, where to start, the steps in their order, the terms of the objective, and when to stop."""

    name: str
    start: Callable[[Problem, np.random.Generator], State]
    steps: tuple[Step, ...]
    terms: Terms
    change: Callable[[Matrix, Matrix], float]
    min_iter: int


def frobenius_change(S: Matrix, S_new: Matrix) -> float:
    """||S_new - S||_F / ||S||_F."""
    return float(np.linalg.norm(S_new - S) / np.linalg.norm(S))


def spectral_change(S: Matrix, S_new: Matrix) -> float:
    """||S_new - S||_2 / ||S||_2 of symmetric graphs: the released stop rule."""
    return symmetric_spectral_norm(S_new - S) / symmetric_spectral_norm(S)
