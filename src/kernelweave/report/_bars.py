"""The shares of kernels and views, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

__all__ = ["Share", "kernel_shares", "view_shares"]


@dataclass(frozen=True, slots=True)
class Share:
    """A name, its share of the weight, and the length of its bar relative to the longest bar."""

    name: str
    share: float
    length: float


def kernel_shares(model: BaseEstimator) -> list[Share]:
    """Return the kernels of a fitted model, the largest share first."""
    shares = getattr(model, "kernel_shares_", None)
    return [] if shares is None else _sorted(model.kernel_names_, shares)


def view_shares(model: BaseEstimator) -> list[Share]:
    """Return the views of a fitted model, the largest share first; an empty list if there is only one view."""
    shares = getattr(model, "view_shares_", None)
    return [] if shares is None or len(shares) < 2 else _sorted(model.view_names_, shares)


def _sorted(names: Sequence[str], shares: npt.ArrayLike) -> list[Share]:
    values = np.asarray(shares, dtype=float)
    longest = float(values.max()) or 1.0
    order = np.argsort(-values, kind="stable")
    return [Share(str(names[i]), float(values[i]), float(values[i]) / longest) for i in order]
