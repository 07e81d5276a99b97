"""The leaderboard in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernelweave.errors import ResultsError
from kernelweave.experiments.tables import write_atomically
from kernelweave.leaderboard.leaderboard_page import leaderboard_html
from kernelweave.leaderboard.protocol import CONDITION_WORDS, CONDITIONS
from kernelweave.leaderboard.standings import Standings, comparable, standings
from kernelweave.leaderboard.verdicts import (
    data_table,
    given_to,
    protocol_words,
    provenance,
    reference_of,
    summary,
    table_words,
    unfinished,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["leaderboard_markdown", "read_rows", "write_leaderboard"]

_HEAD = """# Leaderboard

<!-- Written by kernelweave.leaderboard from the rows; do not edit this page. -->
"""


def leaderboard_markdown(rows: pd.DataFrame, *, held_out: Sequence[str] = (), page: str | None = None) -> str:
    """Return the leaderboard of the rows of `run_benchmark` in Markdown.

    Parameters
    ----------
    rows : pandas.DataFrame
        The rows.
    held_out : sequence of str, optional
        Data sets that were not used to choose any default; they have tables of their own.
    page : str, optional
        Address of the page that can be sorted and filtered.

    Returns
    -------
    text : str
    """
    rows = comparable(rows)
    lines = [_HEAD, *(f"- {sentence}" for sentence in summary(rows, held_out)), ""]
    if page is not None:
        lines += [f'The <a href="{page}">page that can be sorted and filtered</a> shows the same rows.', ""]
    lines += ["## Protocol", "", *(f"- {sentence}" for sentence in protocol_words(rows)), ""]
    known = [name for name in dict.fromkeys(rows["dataset"]) if name not in held_out]
    for condition in CONDITIONS:
        for datasets, where in ((known, ""), (list(held_out), ", held-out data sets")):
            lines += _section(rows, condition, datasets, f"{CONDITION_WORDS[condition].capitalize()}{where}")
    lines += _data_sets(rows) + _given(rows) + _not_finished(rows)
    lines += ["## Provenance", "", *(f"- {sentence}" for sentence in provenance(rows))]
    return "\n".join(lines) + "\n"


def _section(rows: pd.DataFrame, condition: str, datasets: Sequence[str], heading: str) -> list[str]:
    if not ((rows["condition"] == condition) & rows["dataset"].isin(list(datasets))).any():
        return []
    try:
        one = standings(rows, condition, reference=reference_of(condition), datasets=datasets)
    except ResultsError:
        return []
    notes = [f"{table_words(one).capitalize()}. Mean ranks differ if they are further apart than {one.distance:.2f}."]
    if one.refused:
        notes.append(f"Such samples are not taken by {', '.join(one.refused)}.")
    if one.partial:
        notes.append(f"Left out, since not all methods have been run on them: {', '.join(one.partial)}.")
    return [f"## {heading}", "", " ".join(notes), "", *_standings_table(one), "", *_cells_table(one), ""]


def _standings_table(one: Standings) -> list[str]:
    head = (
        f"| method | mean rank | mean ACC | wins, ties, losses against {one.reference} | finished | CPU s | peak MiB |"
    )
    lines = [head, "|---|--:|--:|:-:|--:|--:|--:|"]
    for row in one.rows:
        name = f"**{row.method}**" if row.method == one.reference else row.method
        seconds = "–" if row.seconds is None else f"{row.seconds:.2f}"
        memory = "–" if row.mib is None else f"{row.mib:.0f}"
        score = f"{row.wins}, {row.ties}, {row.losses}" if row.method != one.reference else "–"
        lines.append(
            f"| {name} | {row.rank:.2f} | {_figure(row.mean)} | {score} | {row.finished} of {len(one.datasets)} | "
            f"{seconds} | {memory} |"
        )
    return lines


def _cells_table(one: Standings) -> list[str]:
    lines = [f"| ACC | {' | '.join(one.datasets)} |", f"|---|{'--:|' * len(one.datasets)}"]
    for row, scores in zip(one.rows, one.scores, strict=True):
        lines.append(f"| {row.method} | {' | '.join(_figure(score) for score in scores)} |")
    return lines


def _figure(score: float) -> str:
    return "–" if score != score else f"{score:.3f}"


def _data_sets(rows: pd.DataFrame) -> list[str]:
    lines = [
        "## Data sets",
        "",
        "| data set | samples | views | columns | classes | domain |",
        "|---|--:|--:|--:|--:|---|",
    ]
    lines += [f"| {' | '.join(cells)} |" for cells in data_table(rows)]
    return [*lines, ""]


def _given(rows: pd.DataFrame) -> list[str]:
    lines = ["## What every method is given", "", "| method | samples | parameters |", "|---|---|---|"]
    for row in given_to(rows):
        said = "defaults" if row.parameters == "{}" else f"`{row.parameters}`"
        lines.append(f"| {row.method} | {row.prepared} | {said} |")
    return [*lines, ""]


def _not_finished(rows: pd.DataFrame) -> list[str]:
    found = unfinished(rows)
    if not found:
        return []
    lines = ["## Not finished", "", "| method | data set | condition | reason |", "|---|---|---|---|"]
    lines += [f"| {r['method']} | {r['dataset']} | {r['condition']} | {_cell(r['reason'])} |" for r in found]
    return [*lines, ""]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def write_leaderboard(rows: pd.DataFrame, folder: Path, *, held_out: Sequence[str] = ()) -> list[Path]:
    """Write leaderboard.md and leaderboard.html to a folder, and return their paths."""
    text = leaderboard_markdown(rows, held_out=held_out, page="leaderboard.html")
    page = leaderboard_html(rows, held_out=held_out)
    paths = [folder / "leaderboard.md", folder / "leaderboard.html"]
    for path, content in zip(paths, (text, page), strict=True):
        write_atomically(path, content.encode())
    return paths


def read_rows(folder: Path) -> pd.DataFrame:
    """Return the rows of a folder, in the order of data sets, methods, conditions and seeds."""
    import pandas as pd

    path = folder / "results.parquet"
    if not path.is_file():
        msg = f"{folder} has no results.parquet: run `kernelweave benchmark --out {folder}` first."
        raise ResultsError(msg)
    return pd.read_parquet(path)
