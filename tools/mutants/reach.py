"""Which tests run which line, and how long each takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from tools.mutants.trial import module_name

__all__ = ["Reach", "coverage_page", "measure"]

_OPTIONS = """
[run]
branch = True
source = src/kernelweave
data_file = {data}
"""
_STEM = 6  # letters of a word: "normalise" and "normalisation" are the same
_API = "tests/api/"  # tests that look at all modules


class Reach:
    """The tests for each line of the package, the likeliest to notice a change first.

    Of the folders that were measured, the tests that run the line; of others, all. Tests of files that name the module
    come first, then those of the same part of the package, and the quickest of each.
    """

    def __init__(self, folder: Path, folders: list[str]) -> None:
        from coverage import CoverageData

        data = CoverageData(str(folder / "coverage"))
        data.read()
        times = folder / "seconds.json"
        self._seconds: dict[str, float] = json.loads(times.read_text()) if times.exists() else {}
        self._lines: dict[str, dict[int, set[str]]] = {}
        measured: set[str] = set()
        for file in data.measured_files():
            lines = {line: _tests_in(contexts) for line, contexts in data.contexts_by_lineno(file).items()}
            self._lines[file[file.index("src/kernelweave") :]] = lines
            measured |= set().union(*lines.values())
        done = {test.partition("::")[0] for test in measured}
        files = sorted(
            file for one in map(Path, folders) for file in (one.rglob("test_*.py") if one.is_dir() else [one])
        )
        self._texts = {str(file): file.read_text() for file in files}
        self._unmeasured = [file for file in self._texts if file not in done]
        self._of_all = [file for file in done & set(self._texts) if file.startswith(_API)]

    def tests(self, path: str, line: int) -> list[str]:
        """Return tests, or files of tests, that may notice a change of a line."""
        lines = self._lines.get(path, {})
        # what runs while the module is imported, such as a constant, may matter to all tests of the module
        reached = lines.get(line) or (set().union(*lines.values(), self._of_all) if line in lines else set())
        part = f"tests/{Path(path).parts[2]}/"
        others = [file for file in self._unmeasured if file.startswith((part, _API)) or self._names(file, path)]
        return sorted([*reached, *others], key=lambda test: self._rank(test, path, part))

    def _names(self, test: str, path: str) -> bool:
        """Return whether a file of tests imports a module, or has a word of its name in its own."""
        file = test.partition("::")[0]
        words = [word[:_STEM] for word in Path(path).stem.split("_") if len(word) > 3]
        return module_name(path) in self._texts.get(file, "") or any(word in Path(file).stem for word in words)

    def _rank(self, test: str, path: str, part: str) -> tuple[bool, bool, float, str]:
        own = test.startswith((part, _API))
        return not self._names(test, path), not own, self._seconds.get(test, 0.0), test


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
