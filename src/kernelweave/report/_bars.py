"""The shares of kernels and views, ready for bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Share", "kernel_shares", "view_shares"]


@dataclass(frozen=True, slots=True)
class Share:
    """A name, its share of the weight, and the length of its bar relative to the longest."""

    name: str
    share: float
    length: float


def kernel_shares(model: Any) -> list[Share]:
    """Return the kernels of a fitted model, the largest share first."""
    shares = getattr(model, "kernel_shares_", None)
    return [] if shares is None else _sorted(model.kernel_names_, shares)


def view_shares(model: Any) -> list[Share]:
    """Return the views of a fitted model, the largest share first; none of a model of one table."""
    shares = getattr(model, "view_shares_", None)
    if shares is None or len(shares) < 2:
        return []
    return _sorted(model.view_names_, shares)


def _sorted(names: Any, shares: Any) -> list[Share]:
    shares = np.asarray(shares, dtype=float)
    longest = float(shares.max()) or 1.0
    order = np.argsort(-shares, kind="stable")
    return [Share(str(names[i]), float(shares[i]), float(shares[i]) / longest) for i in order]
