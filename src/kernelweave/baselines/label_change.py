"""How much labels change from one iteration to the next, in methods that learn a graph and labels in turn."""

from __future__ import annotations

import warnings

from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from kernelweave._types import Matrix

__all__ = ["label_change", "warn_if_changing"]


def label_change(F: Matrix, before: Matrix) -> float:
    """||F - before|| / ||F||."""
    return float(linalg.norm(F - before) / linalg.norm(F))


def warn_if_changing(name: str, change: float, *, tol: float, max_iter: int, stacklevel: int) -> None:
    """Warn where the change in the last iteration was above `tol`; `stacklevel` as in `warnings.warn`."""
    if change > tol:
        msg = (
            f"The labels of {name} still changed by {change:.2g} at max_iter={max_iter} (tol={tol:g}): raise max_iter "
            "or tol."
        )
        warnings.warn(msg, ConvergenceWarning, stacklevel=stacklevel + 1)
