"""How much of every search was run: settings, and runs of the chosen one, by method and data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelweave.experiments.render import DASH, Entry, Table
from kernelweave.experiments.selection import Cell

__all__ = ["budget_table"]

_NOTE = (
    "Settings × runs: the number of settings searched, and the number of seeds or draws of the chosen one; with "
    "several percentages of labels, the fewest of each. “2 of 30”: 30 settings are planned."
)


def budget_table(cells: Sequence[Cell], planned: Mapping[tuple[str, str], int], title: str) -> Table:
    """Return a table of the sizes of the searches.

    Parameters
    ----------
    cells : list of Cell
        From `select_cells`.
    planned : mapping of (str, str) to int
        The number of settings in the file of the experiment, by data set and method.
    title : str
        The title of the table.

    Returns
    -------
    table : Table
        A line for every method and a column for every data set.
    """
    found: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        found.setdefault((cell.dataset, cell.method), []).append(cell)
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    methods = list(dict.fromkeys(cell.method for cell in cells))
    lines = [
        [Entry(method), *(_entry(found.get((data, method), ()), planned.get((data, method), 0)) for data in datasets)]
        for method in methods
    ]
    return Table(title, ["Method", *(data.upper() for data in datasets)], lines, [_NOTE])


def _entry(cells: Sequence[Cell], planned: int) -> Entry:
    if not cells:
        return Entry(DASH)
    settings, runs = min(cell.n_settings for cell in cells), min(cell.n_runs for cell in cells)
    of = f" of {planned}" if settings < planned else ""
    return Entry(f"{settings}{of} × {runs}")
