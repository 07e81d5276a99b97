"""The tables of the page that can be saved as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from kernelweave.explain import Associations, Explanation
from kernelweave.report._cards import Card
from kernelweave.report._facts import kernel_shares, view_shares

__all__ = ["page_tables"]


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
