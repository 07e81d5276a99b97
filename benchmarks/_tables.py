"""Rows of figures as tables: for the terminal, and for a page."""

from __future__ import annotations

from typing import Any

__all__ = ["markdown", "show"]

Row = dict[str, Any]


def show(rows: list[Row]) -> None:
    """Print rows as a table; lists are left to the page."""
    columns, cells = _cells(rows)
    widths = [max(len(column), *(len(line[i]) for line in cells)) for i, column in enumerate(columns)]
    for line in (columns, *cells):
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(line, widths, strict=True)))


def markdown(rows: list[Row]) -> str:
    """Return rows as a table, and under it what their lists say."""
    columns, cells = _cells(rows)
    lines = [" | ".join(line) for line in (columns, ["---"] * len(columns), *cells)]
    notes = [f"- {row['data']}: {note}" for row in rows for value in row.values() if _is_list(value) for note in value]
    return "\n".join([*(f"| {line} |" for line in lines), *(["", *notes] if notes else []), ""])


def _cells(rows: list[Row]) -> tuple[list[str], list[list[str]]]:
    columns = list(dict.fromkeys(key for row in rows for key, value in row.items() if not _is_list(value)))
    return columns, [[_cell(row.get(key, "")) for key in columns] for row in rows]


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
