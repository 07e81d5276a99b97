"""The leaderboard of the documentation: `python -m benchmarks.leaderboard [--add FOLDER]`.

The rows are in benchmarks/results/leaderboard/results.parquet. `--add` adds those of a folder of `kernelweave benchmark
--out FOLDER`; a row replaces the stored one of the same data set, method, condition, seed and number of samples. Then
docs/leaderboard.md, docs/_static/leaderboard.html and a part of docs/comparison.md are written from all of them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from kernelweave.leaderboard.leaderboard_page import leaderboard_html
from kernelweave.leaderboard.leaderboard_tables import leaderboard_markdown, read_rows
from kernelweave.leaderboard.protocol import Protocol
from kernelweave.leaderboard.standings import TIE, Standings, standings
from kernelweave.leaderboard.verdicts import better_elsewhere

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "leaderboard"
PAGE = ROOT / "docs" / "leaderboard.md"
HTML = ROOT / "docs" / "_static" / "leaderboard.html"
COMPARISON = ROOT / "docs" / "comparison.md"
BEGIN, END = "<!-- leaderboard: begin -->", "<!-- leaderboard: end -->"

# the data sets of the registry that no default of kernelweave was chosen with
HELD_OUT = (
    "bbc4", "20news500", "prokaryotic", "cub10", "leaves100", "scene15", "reuters600", "citeseer", "umist", "isolet",
)  # fmt: skip
_IDENTITY = ["dataset", "method", "condition", "seed", "n_samples", "protocol"]


def add(folder: Path) -> None:
    """Add the rows of a run to the stored ones."""
    new = read_rows(folder).drop(columns="key")  # it can be computed from the others, and does not compress
    if (RESULTS / "results.parquet").is_file():
        new = pd.concat([read_rows(RESULTS), new], ignore_index=True)
    new["protocol"] = [Protocol(**json.loads(told)).limits for told in new["protocol"]]  # 60 and 60.0 are one limit
    rows = new.drop_duplicates(_IDENTITY, keep="last", ignore_index=True)
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows.to_parquet(RESULTS / "results.parquet", index=False, compression="zstd", compression_level=19)


def page() -> str:
    """Return the page of the documentation."""
    return leaderboard_markdown(read_rows(RESULTS), held_out=HELD_OUT, page="_static/leaderboard.html")


def html() -> str:
    """Return the page that can be sorted."""
    return leaderboard_html(read_rows(RESULTS), held_out=HELD_OUT)


def comparison(text: str) -> str:
    """Return the page that compares tools, with what the rows say of the methods that are better somewhere."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{_better()}\n{END}{after}"


def _better() -> str:
    rows = read_rows(RESULTS)
    found, held_out = standings(rows), standings(rows, datasets=HELD_OUT)
    quickest = min(found.rows, key=lambda row: row.seconds)
    lines = [
        f"By mean rank of ACC, {found.reference} is {_place(found)} of {len(found.rows)} methods on "
        f"{len(found.datasets)} data sets, and {_place(held_out)} of {len(held_out.rows)} on the "
        f"{len(held_out.datasets)} of them that chose no default. These methods score better than {found.reference} by "
        f"more than {TIE:g} on some data sets (ACC):",
        "",
        *(f"- {sentence}" for sentence in better_elsewhere(found)),
        "",
        f"The quickest is {quickest.method}.",
    ]
    return "\n".join(lines)


def _place(found: Standings) -> str:
    return f"number {found.place}" + (f" (after {found.rows[0].method})" if found.place > 1 else "")


def main() -> None:
    """Add runs, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", type=Path, action="append", default=[], metavar="FOLDER", help="add this run first")
    for folder in parser.parse_args().add:
        add(folder)
    PAGE.write_text(page(), encoding="utf-8")
    HTML.write_text(html(), encoding="utf-8")
    COMPARISON.write_text(comparison(COMPARISON.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
