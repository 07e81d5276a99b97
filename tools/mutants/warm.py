"""Mutants inside functions: the tests are imported once, and each mutant runs in a fork that changes one function.

Importing the package and the tests takes longer than most tests. A change inside a function needs no import: the code
of the function is replaced.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import pytest

from tools.mutants.changes import Mutant, mutated
from tools.mutants.trial import OPTIONS, in_fork, module_name

__all__ = ["Trial", "try_functions"]

_NOT_REACHED = 3


class Trial(NamedTuple):
    """A mutant, the function that holds it, and the tests that reach it with the time they usually take."""

    mutant: Mutant
    function: str
    tests: list[str]
    seconds: float


def try_functions(trials: list[Trial], folders: list[str], tell: Callable[[Trial, str], None]) -> None:
    """Collect the tests of these folders, then tell the outcome of each trial."""
    pytest.main([*OPTIONS, "-s", *folders], plugins=[_Trials(trials, tell)])


class _Trials:
    """A plugin of pytest that runs the tests once per mutant, in forks, instead of once."""

    def __init__(self, trials: list[Trial], tell: Callable[[Trial, str], None]) -> None:
        self.trials, self.tell = trials, tell
        self.failed = False

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            for name in _names(item.nodeid):
                items.setdefault(name, []).append(item)
        for trial in self.trials:
            tests = [item for name in trial.tests for item in items.get(name, [])]
            self.tell(trial, in_fork(lambda trial=trial, tests=tests: self._run(trial, tests), trial.seconds))  # type: ignore[misc]
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def _run(self, trial: Trial, tests: list[pytest.Item]) -> int:
        if not tests or not _replace_code(trial):
            return _NOT_REACHED
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return 1
        return 0


def _names(nodeid: str) -> list[str]:
    """Return what a test may be asked for by: its name, with its parameters or not, its file, and folders."""
    file = Path(nodeid.partition("::")[0])
    return list(dict.fromkeys([nodeid, nodeid.partition("[")[0], str(file), *map(str, file.parents)]))


def _replace_code(trial: Trial) -> bool:
    """Change the function of a trial wherever it is; return whether there is one."""
    module = sys.modules.get(module_name(trial.mutant.path))
    if module is None or module.__file__ is None:
        return False
    tree = mutated(Path(trial.mutant.path).read_text(), trial.mutant.place)
    compiled = compile(tree, module.__file__, "exec", dont_inherit=True)
    changed = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compiled)}
    found = False
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__module__ == module.__name__:
            code = changed.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
            if code is not None and code.co_qualname == trial.function:
                one.__code__ = code
                found = True
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)
