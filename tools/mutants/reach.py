"""Which tests run which line, and how long each takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

__all__ = ["Reach", "coverage_page", "measure"]

_OPTIONS = """
[run]
branch = True
source = src/kernelweave
data_file = {data}
"""


_MOST_SECONDS = 60.0  # of tests per mutant


class Reach:
    """The tests that run each line of the package: those of the same part first, then the quickest."""

    def __init__(self, folder: Path) -> None:
        from coverage import CoverageData

        data = CoverageData(str(folder / "coverage"))
        data.read()
        self._seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text())
        self._tests: dict[tuple[str, int], list[str]] = {}
        for file in data.measured_files():
            place = file[file.index("src/kernelweave") :]
            reached = {line: _tests_in(contexts) for line, contexts in data.contexts_by_lineno(file).items()}
            anywhere = set().union(*reached.values())
            own = f"tests/{Path(place).parts[2]}/"
            for line, tests in reached.items():
                # what runs while the module is imported, such as a constant, may matter to all tests of the module
                known = (test for test in tests or anywhere if test in self._seconds)
                self._tests[place, line] = sorted(known, key=lambda test: (own not in test, self._seconds[test]))

    def tests(self, path: str, line: int) -> tuple[list[str], float]:
        """Return tests that run a line, up to a minute of them, and how long they take."""
        chosen: list[str] = []
        total = 0.0
        for test in self._tests.get((path, line), []):
            if chosen and total + self._seconds[test] > _MOST_SECONDS:
                continue
            chosen.append(test)
            total += self._seconds[test]
        return chosen, total


def _tests_in(contexts: list[str]) -> set[str]:
    return {context.partition("|")[0] for context in contexts if "::" in context}


def measure(folder: Path, arguments: list[str]) -> int:
    """Run the tests with coverage, a context per test, and store both; return pytest's exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    options = folder / "coveragerc"
    options.write_text(_OPTIONS.format(data=(folder / "coverage").absolute()))
    report = folder / "tests.xml"
    command = [
        sys.executable, "-m", "pytest", "-q", f"--cov-config={options}", "--cov=src/kernelweave",
        "--cov-context=test", "--cov-report=term:skip-covered", f"--cov-report=json:{folder / 'coverage.json'}",
        f"--junitxml={report}", "-o", "junit_family=xunit1", *arguments,
    ]  # fmt: skip
    code = subprocess.run(command, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"}).returncode
    (folder / "seconds.json").write_text(json.dumps(_seconds(report)))
    return code


def coverage_page(folder: Path, commit: str) -> str:
    """Return the coverage of the last run of the tests, by package, as a page."""
    files = json.loads((folder / "coverage.json").read_text())["files"]
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for name, found in files.items():
        room = Path(name).parts[2]
        for key in ("num_statements", "covered_lines", "num_branches", "covered_branches"):
            rooms[room][key] += found["summary"][key]
            rooms["all"][key] += found["summary"][key]
    lines = [
        "# Coverage of the tests",
        "",
        f"Written by `python -m tools.mutants reach` (commit {commit}). Code that only runs in other processes, which "
        "some tests start, is not counted.",
        "",
        "| part of the package | lines | branches |",
        "| --- | --- | --- |",
    ]
    for room, count in sorted(rooms.items(), key=lambda item: (item[0] == "all", item[0])):
        covered = count["covered_lines"] / count["num_statements"] if count["num_statements"] else 1.0
        branches = count["covered_branches"] / count["num_branches"] if count["num_branches"] else 1.0
        lines.append(f"| {room} | {covered:.1%} | {branches:.1%} |")
    return "\n".join([*lines, ""])


def _seconds(report: Path) -> dict[str, float]:
    from xml.etree import ElementTree

    found: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        found[f"{case.get('file')}::{case.get('name')}"] += float(case.get("time", 0))
    return dict(found)
