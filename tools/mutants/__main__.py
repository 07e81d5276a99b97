"""`python -m tools.mutants reach | try | report`."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

from tools.mutants.changes import Mutant, mutants_of
from tools.mutants.reach import Reach, coverage_page, measure
from tools.mutants.trial import try_mutant

FOLDER = Path(".mutants")
ROOMS = ("core", "solve", "kernels", "weave", "experiments")
PAGE = Path("benchmarks/results/mutants.md")
COVERAGE = Path("benchmarks/results/coverage.md")
EQUIVALENT = Path("tools/mutants/equivalent.toml")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("reach", help="run the tests with coverage; further arguments go to pytest")
    trying = commands.add_parser("try", help="draw mutants and run the tests that reach them")
    trying.add_argument("--number", type=int, default=200)
    trying.add_argument("--seed", type=int, default=0)
    trying.add_argument("--rooms", nargs="+", default=list(ROOMS))
    commands.add_parser("report", help=f"write {PAGE}")
    asked, more = parser.parse_known_args()
    if asked.command == "reach":
        code = measure(FOLDER, more)
        COVERAGE.write_text(coverage_page(FOLDER, _commit()))
        return code
    if asked.command == "try":
        _try(asked.rooms, asked.number, asked.seed)
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
        row = {"name": mutant.name, "outcome": outcome, "tests": len(tests), "seed": seed, "commit": _commit()}
        with (FOLDER / "outcomes.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        if sys.stderr.isatty() or outcome in ("survived", "not reached"):
            print(f"{count} of {len(drawn)}: {outcome:12} {mutant.name}", flush=True)


def _check_unchanged(mutant: Mutant, tests: list[str]) -> None:
    """End the command if the tests fail for the module as it is: then they would notice every change."""
    if try_mutant(mutant._replace(place=-1), tests, 0.0) != "survived":
        sys.exit(f"The tests of {mutant.path} fail without any change: {' '.join(tests[:5])} ...")


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _stored() -> list[dict[str, str]]:
    file = FOLDER / "outcomes.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def _page(rows: list[dict[str, str]]) -> str:
    equivalent: dict[str, str] = tomllib.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else {}
    alive = [row for row in rows if row["outcome"] in ("survived", "not reached")]
    same = [row for row in alive if row["name"] in equivalent]
    counted = Counter(row["outcome"] for row in rows)
    different = len(rows) - len(same)
    noticed = counted["killed"] + counted["slower"]
    lines = [
        "# Mutants",
        "",
        f"Written by `python -m tools.mutants try` (commits {', '.join(sorted({row['commit'] for row in rows}))}): "
        f"{len(rows)} changes drawn at random; for each, at most forty of the tests that run its line.",
        "",
        f"Noticed: {noticed} of {different} that change what the code does ({noticed / max(different, 1):.1%}).",
        "",
        "| outcome | mutants |",
        "| --- | --- |",
        *(f"| {outcome} | {number} |" for outcome, number in sorted(counted.items())),
        f"| of those that survived: equivalent | {len(same)} |",
        "",
        "## Survived",
        "",
        *(f"- `{row['name']}` ({row['outcome']})" for row in alive if row["name"] not in equivalent),
        "",
        "## Equivalent",
        "",
        *(f"- `{row['name']}`: {equivalent[row['name']]}" for row in same),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
