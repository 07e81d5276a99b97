"""`python -m tools.mutants reach | try | again | report`."""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tools.mutants.changes import Mutant, holder_at, mutants_of
from tools.mutants.page import ALIVE, listed, mutants_page
from tools.mutants.reach import Reach, coverage_page, measure
from tools.mutants.trial import try_import
from tools.mutants.warm import Trial, try_functions

FOLDER = Path(".mutants")
ROOMS = ("core", "solve", "kernels", "weave", "experiments")
TESTS = (*(f"tests/{room}" for room in ROOMS), "tests/api/test_value_objects.py")
PAGE = Path("benchmarks/results/mutants.md")
COVERAGE = Path("benchmarks/results/coverage.md")

_TOGETHER = 60  # mutants for which the tests are imported once

Tell = Callable[[Mutant, int, str], None]


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("reach", help="run the tests with coverage; further arguments go to pytest")
    trying = commands.add_parser("try", help="draw mutants and run the tests that reach them")
    trying.add_argument("--number", type=int, default=200)
    trying.add_argument("--seed", type=int, default=0)
    trying.add_argument("--tests", nargs="+", default=list(TESTS), help="folders of tests")
    trying.add_argument("--rooms", nargs="+", default=list(ROOMS))
    again = commands.add_parser("again", help="run tests that were written since on the mutants that survived")
    again.add_argument("tests", nargs="+")
    commands.add_parser("report", help=f"write {PAGE}")
    asked, more = parser.parse_known_args()
    if asked.command == "reach":
        code = measure(FOLDER, more)
        COVERAGE.write_text(coverage_page(FOLDER, _commit()))
        return code
    if asked.command == "try":
        _try(asked.rooms, asked.number, asked.seed, asked.tests)
    if asked.command == "again":
        _again(asked.tests)
    PAGE.write_text(mutants_page(_stored()))
    print(PAGE)
    return 0


def _try(rooms: list[str], number: int, seed: int, folders: list[str]) -> None:
    drawn = random.Random(seed).sample(_every(rooms), number)
    done = {(row["name"], row["commit"]) for row in _stored()}
    left = [mutant for mutant in drawn if (mutant.name, _commit()) not in done]
    reach = Reach(FOLDER, folders)

    def store(mutant: Mutant, tests: int, outcome: str) -> None:
        _store({"name": mutant.name, "key": mutant.key, "outcome": outcome, "tests": tests, "seed": seed, "of": number})
        print(f"{outcome:12} {mutant.key}", flush=True)

    for i in range(0, len(left), _TOGETHER):  # in the order drawn: what was tried when a run ends is a sample too
        _run([(one, reach.tests(one.path, one.line)) for one in left[i : i + _TOGETHER]], folders, store)


def _again(tests: list[str]) -> None:
    """Run some tests on every mutant that survived so far and is not listed; code that is gone is noted as removed."""
    now: dict[str, Mutant] = {mutant.key: mutant for mutant in _every(ROOMS)}
    known = set().union(*listed(_stored()))
    alive = {row["key"]: row for row in _stored() if row["outcome"] in ALIVE and row["key"] not in known}

    def store(mutant: Mutant, _: int, outcome: str) -> None:
        _store({**alive[mutant.key], "outcome": outcome, "again": True})
        print(f"{outcome:12} {mutant.key}", flush=True)

    for key, row in alive.items():
        if key not in now:
            _store({**row, "outcome": "removed", "again": True})
    _run([(now[key], tests) for key in alive if key in now], tests, store)


def _run(asked: Iterable[tuple[Mutant, list[str]]], folders: list[str], tell: Tell) -> None:
    """Try mutants: in functions and constants all at once, others one by one, since they take effect at import."""
    spec = find_spec("kernelweave")
    if spec is None or spec.origin != str(Path("src/kernelweave/__init__.py").absolute()):
        sys.exit("The tests would not import the package of this folder: set PYTHONPATH to its src.")
    warm, cold = [], []
    for mutant, tests in asked:
        holder = holder_at(Path(mutant.path).read_text(), mutant.place)
        if not tests:
            tell(mutant, 0, "not reached")
        elif holder is None:
            cold.append((mutant, tests))
        else:
            warm.append(Trial(mutant, holder, tests))
    try_functions(warm, folders, lambda trial, outcome: tell(trial.mutant, len(trial.tests), outcome))
    for mutant, tests in cold:
        tell(mutant, len(tests), try_import(mutant, tests))


def _every(rooms: Iterable[str]) -> list[Mutant]:
    files = sorted(file for room in rooms for file in Path("src/kernelweave", room).rglob("*.py"))
    return [mutant for file in files for mutant in mutants_of(file, Path())]


def _store(row: dict[str, Any]) -> None:
    with (FOLDER / "outcomes.jsonl").open("a") as file:
        file.write(json.dumps({**row, "commit": _commit()}) + "\n")


def _commit() -> str:
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _stored() -> list[dict[str, Any]]:
    """Return the last outcome of every mutant, with the first as "drawn"."""
    file = FOLDER / "outcomes.jsonl"
    found: dict[str, dict[str, Any]] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        row = json.loads(line)
        found[row["key"]] = {**row, "drawn": found.get(row["key"], {"drawn": row["outcome"]})["drawn"]}
    return list(found.values())


if __name__ == "__main__":
    sys.exit(main())
