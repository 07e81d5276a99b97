"""`python -m tools.mutants reach | try | again | report`."""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from tools.mutants.changes import Mutant, mutants_of
from tools.mutants.reach import Reach, coverage_page, measure
from tools.mutants.trial import try_mutant

FOLDER = Path(".mutants")
ROOMS = ("core", "solve", "kernels", "weave", "experiments")
PAGE = Path("benchmarks/results/mutants.md")
COVERAGE = Path("benchmarks/results/coverage.md")
EQUIVALENT = Path("tools/mutants/equivalent.toml")
_ALIVE = ("survived", "not reached")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("reach", help="run the tests with coverage; further arguments go to pytest")
    trying = commands.add_parser("try", help="draw mutants and run the tests that reach them")
    trying.add_argument("--number", type=int, default=200)
    trying.add_argument("--seed", type=int, default=0)
    trying.add_argument("--rooms", nargs="+", default=list(ROOMS))
    again = commands.add_parser("again", help="run tests that were written since on the mutants that survived")
    again.add_argument("tests", nargs="+")
    commands.add_parser("report", help=f"write {PAGE}")
    asked, more = parser.parse_known_args()
    if asked.command == "reach":
        code = measure(FOLDER, more)
        (FOLDER / "tests.txt").write_text(" ".join(one for one in more if one.startswith("tests")))
        COVERAGE.write_text(coverage_page(FOLDER, _commit()))
        return code
    if asked.command == "try":
        _try(asked.rooms, asked.number, asked.seed)
    if asked.command == "again":
        _again(asked.tests)
    PAGE.write_text(_page(_stored()))
    print(PAGE)
    return 0


def _try(rooms: list[str], number: int, seed: int) -> None:
    files = sorted(file for room in rooms for file in Path("src/kernelweave", room).rglob("*.py"))
    every = [mutant for file in files for mutant in mutants_of(file, Path())]
    drawn = random.Random(seed).sample(every, min(number, len(every)))
    done = {row["name"] for row in _stored()}
    reach = Reach(FOLDER)
    seconds = json.loads((FOLDER / "seconds.json").read_text())
    checked = False
    for count, mutant in enumerate(drawn, start=1):
        if mutant.name in done:
            continue
        tests = reach.tests(mutant.path, mutant.line)
        if tests and not checked:
            _check_unchanged(mutant, tests)
            checked = True
        outcome = try_mutant(mutant, tests, sum(seconds.get(test, 0.0) for test in tests))
        _store({"name": mutant.name, "outcome": outcome, "tests": len(tests), "seed": seed, "commit": _commit()})
        if sys.stderr.isatty() or outcome in ("survived", "not reached"):
            print(f"{count} of {len(drawn)}: {outcome:12} {mutant.name}", flush=True)


def _again(tests: list[str]) -> None:
    """Run some tests on every mutant that survived so far and is not equivalent."""
    equivalent = _equivalent()
    for row in _stored():
        if row["outcome"] in _ALIVE and row["name"] not in equivalent:
            path, line, place, what = re.fullmatch(r"(.+):(\d+) \[(\d+)\] (.+)", row["name"]).groups()  # type: ignore[union-attr]
            mutant = Mutant(path, int(line), int(place), what)
            outcome = try_mutant(mutant, tests, 0.0)
            _store({**row, "outcome": outcome, "commit": _commit(), "again": True})
            print(f"{outcome:12} {mutant.name}", flush=True)


def _store(row: dict[str, Any]) -> None:
    with (FOLDER / "outcomes.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


def _check_unchanged(mutant: Mutant, tests: list[str]) -> None:
    """End the command if the tests fail for the module as it is: then they would notice every change."""
    if try_mutant(mutant._replace(place=-1), tests, 0.0) != "survived":
        sys.exit(f"The tests of {mutant.path} fail without any change: {' '.join(tests[:5])} ...")


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _stored() -> list[dict[str, Any]]:
    """Return the last outcome of every mutant."""
    file = FOLDER / "outcomes.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return list({row["name"]: row for row in rows}.values())


def _tests() -> str:
    """Return which tests `reach` was given."""
    file = FOLDER / "tests.txt"
    return (file.read_text().strip() if file.exists() else "") or "the whole suite"


def _equivalent() -> dict[str, str]:
    return tomllib.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else {}


def _room(row: dict[str, Any]) -> str:
    return str(Path(row["name"]).parts[2])


def _score(rows: list[dict[str, Any]], equivalent: dict[str, str]) -> str:
    """Return the cells of one line: drawn, equivalent, noticed, and the share of those that are not equivalent."""
    same = sum(row["outcome"] in _ALIVE and row["name"] in equivalent for row in rows)
    noticed = sum(row["outcome"] not in _ALIVE for row in rows)
    return f"{len(rows)} | {same} | {noticed} | {noticed / max(len(rows) - same, 1):.1%}"


def _page(rows: list[dict[str, Any]]) -> str:
    equivalent = _equivalent()
    alive = [row for row in rows if row["outcome"] in _ALIVE]
    counted = Counter(row["outcome"] for row in rows)
    rooms = sorted({_room(row) for row in rows})
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    lines = [
        "# Mutants",
        "",
        f"Written by `python -m tools.mutants try` (commits {commits}; seeds {sorted({row['seed'] for row in rows})}): "
        f"{len(rows)} changes drawn at random; for each, at most forty of the tests that run its line, the quickest "
        f"ones of {_tests()}. {sum('again' in row for row in rows)} of those that survived were tried again with tests "
        "that were written for them.",
        "",
        "| part of the package | drawn | equivalent | noticed | share |",
        "| --- | --- | --- | --- | --- |",
        *(f"| {room} | {_score([row for row in rows if _room(row) == room], equivalent)} |" for room in rooms),
        f"| all | {_score(rows, equivalent)} |",
        "",
        "| outcome | mutants |",
        "| --- | --- |",
        *(f"| {outcome} | {number} |" for outcome, number in sorted(counted.items())),
        "",
        "## Survived",
        "",
        *(f"- `{row['name']}` ({row['outcome']})" for row in alive if row["name"] not in equivalent),
        "",
        "## Equivalent",
        "",
        *(f"- `{row['name']}`: {equivalent[row['name']]}" for row in alive if row["name"] in equivalent),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
