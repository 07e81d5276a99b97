"""The tables of the page: the shares of kernels and views, and what can be saved as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from kernelweave.explain import Associations, Explanation
from kernelweave.report._cards import Card

__all__ = ["Share", "kernel_shares", "page_tables", "view_shares"]


@dataclass(frozen=True, slots=True)
class Share:
    """A name, its share of the weight, and the length of its bar relative to the longest bar."""

    name: str
    share: float
    length: float


def kernel_shares(model: BaseEstimator) -> list[Share]:
    """Return the kernels of a fitted model, the largest share first."""
    shares = getattr(model, "kernel_shares_", None)
    return [] if shares is None else _largest_first(model.kernel_names_, shares)


def view_shares(model: BaseEstimator) -> list[Share]:
    """Return the views of a fitted model, the largest share first; an empty list if there is only one view."""
    shares = getattr(model, "view_shares_", None)
    return [] if shares is None or len(shares) < 2 else _largest_first(model.view_names_, shares)


def _largest_first(names: Sequence[str], shares: npt.ArrayLike) -> list[Share]:
    values = np.asarray(shares, dtype=float)
    longest = float(values.max()) or 1.0
    order = np.argsort(-values, kind="stable")
    return [Share(str(names[i]), float(values[i]), float(values[i]) / longest) for i in order]


def page_tables(
    model: BaseEstimator, cards: Sequence[Card], explanation: Explanation | None, metadata: Associations | None
) -> dict[str, Any]:
    """Return the head and the rows of every table; groups are given by their number on the page."""
    found: dict[str, Any] = {}
    if explanation is not None and explanation.rows:
        place = {card.label: card.group.name for card in cards}
        head = list(explanation.rows[0])
        rows = [[place[row[head[0]]], *(_cell(row[name]) for name in head[1:])] for row in explanation.rows]
        found["features"] = {"head": head, "rows": rows}
    kernels = [["kernel", share.name, _cell(share.share)] for share in kernel_shares(model)]
    views = [["view", share.name, _cell(share.share)] for share in view_shares(model)]
    if kernels:
        found["weights"] = {"head": ["type", "name", "share"], "rows": kernels + views}
    if metadata is not None:
        head = ["column", "type", "measure", "value", "p_value", "q_value", "n_known"]
        rows = [[each.name, *(_cell(getattr(each, name)) for name in head[1:])] for each in metadata.columns]
        found["metadata"] = {"head": head, "rows": rows}
    return found


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
