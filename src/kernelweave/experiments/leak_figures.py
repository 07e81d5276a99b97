"""The leak beside Table 3: the released program with misaligned rows, SMKL without them, and the published figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kernelweave._plural import counted
from kernelweave.experiments.published import Figure, Published
from kernelweave.experiments.reading import read_cells
from kernelweave.experiments.render import DASH, Entry, Table
from kernelweave.experiments.selection import Cell, select_cells

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["leak_table", "leaking_cells"]

_OURS = "SMKL"
_LEAKING = ("as released", "as released, searched")  # the names in the experiment's file
_MOST = 50  # percent of the labels: the share at which the leak is largest
_CLOSE = 3.0  # points
_SAME = ("alpha", "beta", "gamma")
_NOTE = (
    "With the leak: the released program, with its own stop after 30 iterations, at the setting of the reference "
    "reproduction or, where several were tried, at the best of them."
)


def leaking_cells(leak: pd.DataFrame) -> dict[tuple[str, int | None], Cell]:
    """Return the best cell of the program with misaligned rows, by data set and share of labels."""
    found: dict[tuple[str, int | None], Cell] = {}
    for cell in select_cells(leak):
        if cell.method in _LEAKING and "acc" in cell.scores:
            place = cell.dataset, cell.labels
            best = found.get(place)
            found[place] = cell if best is None or cell.scores["acc"].mean > best.scores["acc"].mean else best
    return found


def leak_table(rows: pd.DataFrame, leak: pd.DataFrame, published: Published) -> Table:
    """Return SMKL of Table 3, the released program with misaligned rows, and the published figures side by side.

    The notes say on which data sets the leak gives the published figure, and for the others what else may differ.
    """
    ours = {(c.dataset, c.labels): c for c in select_cells(rows) if c.method == _OURS and "acc" in c.scores}
    pairs = list(_printed(leak, published))
    lines = []
    for cell, printed in pairs:
        aligned = ours.get((cell.dataset, cell.labels))
        leaking = published.scale * cell.scores["acc"].mean
        texts = [
            cell.dataset.upper(),
            f"{cell.labels} %",
            f"{published.scale * aligned.scores['acc'].mean:.2f}" if aligned else DASH,
            f"{leaking:.2f}",
            f"{printed.value:.2f}",
            _signed(leaking - printed.value),
            str(cell.n_settings),
            str(cell.n_runs),
        ]
        lines.append([Entry(text) for text in texts])
    header = ["Data", "Labels", _OURS, "with the leak", "published", "leak − published"]
    header += ["settings of the leak", "draws of the leak"]
    notes = [_NOTE, *_explained(pairs, rows, leak, ours, published)]
    return Table("Table 3, SMKL: with and without the leak (ACC, %)", header, lines, notes, words=2)


def _printed(leak: pd.DataFrame, published: Published) -> Iterator[tuple[Cell, Figure]]:
    """Yield the cells of the program as released that have a published figure, with it."""
    for cell in leaking_cells(leak).values():
        printed = published.find(cell.dataset, "acc", _OURS, cell.labels)
        if printed is not None:
            yield cell, printed


def _explained(
    pairs: Sequence[tuple[Cell, Figure]],
    rows: pd.DataFrame,
    leak: pd.DataFrame,
    ours: dict[tuple[str, int | None], Cell],
    published: Published,
) -> Iterator[str]:
    """Say where the leak gives the published figure at the most labels, and else what the setting alone is worth."""
    names = {f.dataset for f in published.figures if f.labels == _MOST and f.method == _OURS}
    if not names:
        return
    most = [(cell, published.scale * cell.scores["acc"].mean - f.value) for cell, f in pairs if cell.labels == _MOST]
    close = [f"{cell.dataset.upper()} {_signed(apart)}" for cell, apart in most if abs(apart) <= _CLOSE]
    missing = sorted(name.upper() for name in names - {cell.dataset for cell, _ in most})
    yield (
        f"With {_MOST} % of the labels the leak gives the published figure within {_CLOSE:g} points on: "
        f"{', '.join(close) or 'none'}." + (f" Not run: {', '.join(missing)}." if missing else "")
    )
    for cell, apart in most:
        if abs(apart) > _CLOSE:
            yield _why_not(cell, apart, rows, leak, ours.get((cell.dataset, cell.labels)))


def _why_not(cell: Cell, apart: float, rows: pd.DataFrame, leak: pd.DataFrame, best: Cell | None) -> str:
    """Compare the setting, without the leak, with the best one of the search, which has many more settings."""
    frame = _at(read_cells(leak), cell, cell.method)
    frame = frame[frame["setting"] == cell.setting]
    drawn = 100 * frame["acc"].dropna()
    said = (
        f"{cell.dataset.upper()} with {_MOST} % of the labels: {_signed(apart)} points from the published figure. The "
        f"leak was run with {counted(cell.n_settings, 'setting')}, the best on {counted(len(drawn), 'draw')} "
        f"({drawn.min():.2f} to {drawn.max():.2f})"
    )
    same = _same_setting(_at(read_cells(rows), cell, _OURS), frame.iloc[0])
    if best is None or same is None:
        return f"{said}."
    return (
        f"{said}; without the leak it gives {100 * same:.2f} and the best of the search "
        f"{100 * best.scores['acc'].mean:.2f}: the paper's parameters are unknown, and may make such a difference too."
    )


def _at(frame: pd.DataFrame, cell: Cell, method: str) -> pd.DataFrame:
    same = (frame["dataset"] == cell.dataset) & (frame["labels"] == cell.labels)
    return frame[same & (frame["method"] == method)]


def _same_setting(frame: pd.DataFrame, leaking: pd.Series) -> float | None:
    """Return the accuracy of the released scheme, rows aligned, with the setting of the leak's run."""
    wanted = json.loads(leaking["parameters"])
    alike = (frame["kernel"] == leaking["kernel"]) & (frame["preprocessing"] == leaking["preprocessing"])
    runs = frame[alike & frame["parameters"].map(lambda text: _same(json.loads(text), wanted))]
    return float(runs["acc"].mean()) if len(runs) else None


def _same(given: dict[str, object], wanted: dict[str, object]) -> bool:
    return given.get("scheme") == "released" and all(given.get(name) == wanted.get(name) for name in _SAME)


def _signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")
