"""SMKL with the full graph of the paper, where the setting of a search keeps only the strongest entries of each row."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from kernelweave.experiments.selection import Cell, select_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["entries_kept", "with_full_graph"]

_OURS = "SMKL"
_KEPT = re.compile(r"\bn_neighbors=(\d+)")


def entries_kept(cell: Cell) -> int | None:
    """Return how many entries of every row of the graph the setting of SMKL keeps, or None for all of them."""
    kept = _KEPT.search(cell.setting) if cell.method == _OURS else None
    return None if kept is None else int(kept[1])


def with_full_graph(rows: pd.DataFrame) -> dict[tuple[str, int | None], Cell]:
    """Return, by data set and share of labels, SMKL's cells of the settings that keep the full graph.

    Only of the cells of which another setting is chosen: one that keeps only the strongest entries.
    """
    cut = {(cell.dataset, cell.labels) for cell in select_cells(rows) if entries_kept(cell) is not None}
    if not cut:
        return {}
    full = [method == _OURS and _is_full(text) for method, text in zip(rows["method"], rows["parameters"], strict=True)]
    cells = select_cells(rows[full])
    return {(cell.dataset, cell.labels): cell for cell in cells if (cell.dataset, cell.labels) in cut}


def _is_full(parameters: str) -> bool:
    return bool(json.loads(parameters).get("n_neighbors") == "all")
