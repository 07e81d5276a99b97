"""Check that figures in the documentation come from stored results: `python -m benchmarks.docs_figures`.

Every decimal in README.md and docs/*.md, outside code, must be held by one of the result files that docs/figures.toml
names for its page, rounded as the page writes it. What is not a measurement is declared there: parameters and versions,
and figures that others published. A declaration that its page does not use any more is an error too.

docs/reproduction.md and docs/leaderboard.md are not read: they are written from their rows, and tests compare them.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DECLARED = "docs/figures.toml"
GENERATED = ("docs/reproduction.md", "docs/leaderboard.md")
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_DECIMAL = re.compile(r"(?<![\w.])\d*\.\d+(?:e[-+]?\d+)?(?!\w|\.\d)")


@dataclass(frozen=True)
class Declared:
    """What docs/figures.toml says of one page."""

    sources: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    published: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A figure, or a declaration, that does not hold."""

    page: str
    line: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}: {self.reason}"


def check(root: Path = ROOT) -> list[Problem]:
    """Return the figures without a source and the declarations without a use."""
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    declared = read_declared(root / DECLARED)
    problems = []
    for path in pages:
        page = path.relative_to(root).as_posix()
        if page not in GENERATED:
            problems += check_page(page, path.read_text(encoding="utf-8"), declared.pop(page, Declared()), root)
    problems += [Problem(DECLARED, 0, page, "there is no such page: remove it.") for page in declared]
    return problems


def check_page(page: str, text: str, declared: Declared, root: Path) -> list[Problem]:
    """Return the problems of one page."""
    exceptions = {*declared.parameters, *declared.published}
    held = [value for source in declared.sources for value in stored_values(root / source)]
    found = list(decimals(text))
    problems = [
        Problem(page, line, figure, f"no stored result holds it. Sources: {', '.join(declared.sources) or 'none'}.")
        for line, figure in found
        if figure not in exceptions and not any(rounds_to(value, figure) for value in held)
    ]
    unused = exceptions - {figure for _, figure in found}
    return problems + [
        Problem(page, 0, name, f"declared in {DECLARED} and not on the page.") for name in sorted(unused)
    ]


def decimals(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of every decimal outside code."""
    # code keeps its line breaks, so that line numbers stay right
    prose = _CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for number, line in enumerate(prose.splitlines(), start=1):
        yield from ((number, match.group()) for match in _DECIMAL.finditer(line))


def rounds_to(value: float, figure: str) -> bool:
    """Return whether a stored value, rounded as the figure is written, is the figure."""
    mantissa, _, exponent = figure.partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(value - float(figure)) <= unit * (0.5 + 1e-9)


def stored_values(path: Path) -> list[float]:
    """Return every number of a result file: of JSON all values, of text all decimals."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return list(_numbers(json.loads(text)))
    return [float(match.group()) for match in _DECIMAL.finditer(text)]


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _numbers(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def read_declared(path: Path) -> dict[str, Declared]:
    """Return the declarations by page."""
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        page: Declared(**{key: tuple(map(str, values)) for key, values in said.items()})
        for page, said in content.items()
    }


def main() -> None:
    """Print the problems, and fail if there are some."""
    problems = check()
    for problem in problems:
        sys.stdout.write(f"{problem}\n")
    if problems:
        sys.exit(
            f"{len(problems)} figures without a source: measure them, take them out, or declare them in {DECLARED}."
        )


if __name__ == "__main__":
    main()
