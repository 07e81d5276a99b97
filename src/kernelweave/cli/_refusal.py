"""All problems of the files of a command in one message, with the commands that solve them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence

from kernelweave.errors import InvalidInputError
from kernelweave.tabular.problems import Options, Problem

__all__ = ["InvalidFilesError", "flags_of"]


class InvalidFilesError(InvalidInputError):
    """The files of a command cannot be used as they are; `problems` lists everything that was found, by file."""

    def __init__(self, problems: Sequence[tuple[str, Problem]]) -> None:
        self.problems = tuple(problems)
        super().__init__(_message(problems))


def _message(found: Sequence[tuple[str, Problem]]) -> str:
    """Return a message that lists problems by file, and a command with an option for each, ready to be copied."""
    lines = []
    for source, problem in found:
        lines.append(f"{source}: {problem.text}{'' if problem.choice else _passing(problem)}")
        if problem.choice:
            lines.append("Choose one:")
            lines += [f"  {_command([way.options])}   ({way.meaning})" for way in problem.ways]
    problems = [problem for _, problem in found]
    if all(problem.ways and not problem.choice for problem in problems):
        lines.append(f"This command solves {'it' if len(lines) == 1 else 'all of it'}:")
        lines.append(f"  {_command(problem.ways[0].options for problem in problems)}")
    return "\n".join(lines)


def _passing(problem: Problem) -> str:
    ways = [f"{flags_of(way.options)} ({way.meaning})" for way in problem.ways]
    return f" Pass {', '.join(ways[:-1])}{' or ' if ways[:-1] else ''}{ways[-1]}." if ways else ""


def _command(options: Iterable[Options]) -> str:
    """Return the command that is running with further options, each of them once."""
    added = dict.fromkeys(flags_of(each) for each in options)
    return " ".join([shlex.join(["kernelweave", *sys.argv[1:]]), *added])


def flags_of(options: Options) -> str:
    """Return options as they are written on the command line; one with several values is repeated, but for --long."""
    parts: list[str] = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            parts.append(f"--{flag}" if value else f"--no-{flag}")
        elif name == "long":
            parts += [f"--{flag}", *value]
        else:
            parts += [part for each in ([value] if isinstance(value, str) else value) for part in (f"--{flag}", each)]
    return shlex.join(parts)
