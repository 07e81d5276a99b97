"""Mutants inside functions: the tests are imported once, and each mutant runs in a fork that changes one function.

Importing the package and the tests takes longer than most tests. A change inside a function needs no import: the code
of the function is replaced.
"""

from __future__ import annotations

import ast
import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import pytest

from tools.mutants.changes import Mutant, mutated, names_of
from tools.mutants.trial import NOT_REACHED, OPTIONS, SECONDS, in_fork, module_name

__all__ = ["Trial", "try_functions"]


class Trial(NamedTuple):
    """A mutant, the function or constant that holds it, and the tests that may notice it."""

    mutant: Mutant
    holder: str
    tests: list[str]


def try_functions(trials: list[Trial], folders: list[str], tell: Callable[[Trial, str], None]) -> None:
    """Collect the tests of these folders in a fork, since that imports the package, and tell the outcome of each."""
    pid = os.fork()
    if pid == 0:
        pytest.main([*OPTIONS, "-s", *folders], plugins=[_Trials(trials, tell)])
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)


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
            self.tell(trial, in_fork(lambda trial=trial, tests=tests: self._run(trial, tests)))  # type: ignore[misc]
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed |= report.failed

    def _run(self, trial: Trial, tests: list[pytest.Item]) -> int:
        if not tests or not _replace(trial):
            return NOT_REACHED
        for item, following in zip(tests, [*tests[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return 1
            if time.process_time() > SECONDS:
                break
        return 0


def _names(nodeid: str) -> list[str]:
    """Return what a test may be asked for by: its name, with its parameters or not, its file, and folders."""
    file = Path(nodeid.partition("::")[0])
    return list(dict.fromkeys([nodeid, nodeid.partition("[")[0], str(file), *map(str, file.parents)]))


def _replace(trial: Trial) -> bool:
    """Change the function or constant of a trial in its module; return whether there is one."""
    module = sys.modules.get(module_name(trial.mutant.path))
    if module is None or module.__file__ is None:
        return False
    tree = mutated(Path(trial.mutant.path).read_text(), trial.mutant.place)
    if trial.holder.isupper():
        value = next(one for one in tree.body if isinstance(one, ast.Assign) and names_of(one) == [trial.holder]).value
        changed_value = eval(compile(ast.Expression(value), module.__file__, "eval"), vars(module))
        setattr(module, trial.holder, changed_value)
        return True
    compiled = compile(tree, module.__file__, "exec", dont_inherit=True)
    changed = {(code.co_qualname, code.co_firstlineno): code for code in _codes(compiled)}
    found = False
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__module__ == module.__name__:
            code = changed.get((one.__code__.co_qualname, one.__code__.co_firstlineno))
            if code is not None and code.co_qualname == trial.holder:
                one.__code__ = code
                found = True
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)
