"""Figures of the default, kept beside those of earlier defaults: one JSON file and one page of a benchmark."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._commits import computed, stamp

__all__ = ["Page", "Rows", "line"]

RESULTS = Path(__file__).parent / "results"
Rows = dict[str, dict[str, Any]]  # method or default -> data set -> figures


@dataclass(frozen=True, slots=True)
class Page:
    """The stored figures of one benchmark, and the page that shows them."""

    stem: str
    title: str
    note: str
    table: Callable[[Rows], str]

    @property
    def path(self) -> Path:
        """The file of the figures."""
        return RESULTS / f"{self.stem}.json"

    def rows(self) -> Rows:
        """Return what is stored; nothing before the first run."""
        found: Rows = json.loads(self.path.read_text()) if self.path.exists() else {}
        return found

    def keep(self, row: str, name: str, figures: Any) -> None:
        """Store the figures of one data set."""
        rows = self.rows()
        rows.setdefault(row, {})[name] = figures
        self.path.write_text(json.dumps(rows, indent=1) + "\n")
        stamp(self.stem, f"{row} / {name}")

    def write(self) -> None:
        """Print the table and write the page."""
        table = self.table(self.rows())
        self.path.with_suffix(".md").write_text(f"# {self.title}\n\n{self.note}\n\n{table}\n\n{computed(self.stem)}\n")
        print("\n" + table)

    def parser(self, sets: Iterable[str]) -> argparse.ArgumentParser:
        """Return the options that all these benchmarks have."""
        parser = argparse.ArgumentParser(description=self.note)
        parser.add_argument("--sets", nargs="+", default=list(sets), help="only these; the others keep their figures")
        parser.add_argument("--label", default="WeaveClustering", help="the row that the default is stored in")
        return parser

    def run(self, sets: Iterable[str], measure: Callable[[str], Any]) -> None:
        """Store the figures of the sets that were asked for, and write the page."""
        arguments = self.parser(sets).parse_args()
        for name in arguments.sets:
            figures = measure(name)
            self.keep(arguments.label, name, figures)
            print(name, figures, flush=True)
        self.write()


def line(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"
