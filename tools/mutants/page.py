"""The page that lists what became of the mutants."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from tools.mutants.trial import SECONDS

__all__ = ["ALIVE", "listed", "mutants_page"]

ALIVE = ("survived", "not reached")
EQUIVALENT = Path("tools/mutants/equivalent.toml")


Row = dict[str, Any]


def mutants_page(rows: list[Row]) -> str:
    """Return the page: the score by part of the package, the mutants that survived, and those that are equivalent."""
    same, free = listed(rows)
    alive = [row for row in rows if row["outcome"] in ALIVE]
    open_ = [row for row in alive if row["key"] not in same and row["key"] not in free]
    rooms = sorted({_room(row) for row in rows})
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    wanted = sum({row["seed"]: row["of"] for row in rows}.values())
    seeds = ", ".join(str(seed) for seed in sorted({row["seed"] for row in rows}))
    lines = [
        "# Mutants",
        "",
        f"Written by `python -m tools.mutants try` and `again` (commits {commits}; seed {seeds}): "
        f"{len(rows)} of {wanted} changes drawn at random from the code, in the order drawn, those inside functions "
        "and of constants first. For each, the tests of the five parts of the package that run its line (all "
        "tests of the part where that was not measured), those that name its module first; the first that fails ends "
        f"the run, and so do {SECONDS:g} seconds of processor time, after which it counts as survived. "
        "As drawn: before anyone looked at the outcome. Afterwards: with tests that were written for the survivors or "
        "that stand in other folders, and without code that was removed because it was not needed; only the share as "
        "drawn says how many of all changes are noticed, since the tests were written for these. Equivalent: no result "
        "changes beyond rounding. "
        "Chosen: a number found by trial, for which another value gives a result that is as valid; the shares count it "
        "as not noticed, the last column leaves it out.",
        "",
        "| part of the package | drawn | equivalent | chosen | noticed as drawn | share | noticed afterwards | share "
        "| share without chosen |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *(f"| {room} | {_score([row for row in rows if _room(row) == room], same, free)} |" for room in rooms),
        f"| all | {_score(rows, same, free)} |",
        "",
        "| outcome | as drawn | afterwards |",
        "| --- | --- | --- |",
        *_outcomes(rows),
        "",
        "## Survived",
        "",
        *(f"- `{row['name']}` ({row['outcome']})" for row in open_),
        "",
        "## Equivalent",
        "",
        *(f"- `{row['name']}`: {same[row['key']]}" for row in alive if row["key"] in same),
        "",
        "## Chosen",
        "",
        *(f"- `{row['name']}`: {free[row['key']]}" for row in alive if row["key"] in free),
        "",
    ]
    return "\n".join(lines)


def listed(rows: list[Row]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the mutants that are equivalent, and those of numbers that were chosen, each with its reason."""
    reasons: dict[str, dict[str, str]] = tomllib.loads(EQUIVALENT.read_text())
    return _by_key(reasons["equivalent"], rows), _by_key(reasons["chosen"], rows)


def _by_key(reasons: dict[str, str], rows: list[Row]) -> dict[str, str]:
    """Return the reasons by mutant: one that is given for a line, without a change in brackets, holds for all."""
    keys = [row["key"] for row in rows]
    return {key: reason for one, reason in reasons.items() for key in keys if key == one or key.startswith(f"{one} [")}


def _score(rows: list[Row], same: dict[str, str], free: dict[str, str]) -> str:
    """Return the cells of one line of the first table."""
    equivalent = sum(row["outcome"] in ALIVE and row["key"] in same for row in rows)
    chosen = sum(row["outcome"] in ALIVE and row["key"] in free for row in rows)
    removed = sum(row["outcome"] == "removed" for row in rows)
    first = sum(row["drawn"] not in ALIVE for row in rows)
    last = sum(row["outcome"] not in (*ALIVE, "removed") for row in rows)
    counted = len(rows) - equivalent
    shares = (first / max(counted, 1), last / max(counted - removed, 1), last / max(counted - removed - chosen, 1))
    cells = (len(rows), equivalent, chosen, first, f"{shares[0]:.1%}", last, f"{shares[1]:.1%}", f"{shares[2]:.1%}")
    return " | ".join(str(cell) for cell in cells)


def _outcomes(rows: list[Row]) -> list[str]:
    first, last = Counter(row["drawn"] for row in rows), Counter(row["outcome"] for row in rows)
    return [f"| {outcome} | {first[outcome]} | {last[outcome]} |" for outcome in sorted(first | last)]


def _room(row: Row) -> str:
    return str(Path(row["name"]).parts[2])
