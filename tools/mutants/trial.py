"""One mutant that takes effect at import: its tests run in a fork that imports the changed module."""

from __future__ import annotations

import importlib
import importlib.abc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType

from tools.mutants.changes import Mutant, mutated

__all__ = ["NOT_REACHED", "OPTIONS", "SECONDS", "in_fork", "module_name", "try_import"]

SECONDS = 8.0  # of processor time that the tests of a mutant may take; those that come later are left out
NOT_REACHED = 3  # exit code

OPTIONS = ("-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:cov")  # of pytest
_IMPORTS = 10.0  # seconds of processor time for the package and the tests
_LIMIT = 40  # seconds of processor time: a mutant with which a single test takes so long is noticed
_PATIENCE = 1800.0  # seconds by the clock: a mutant may wait for ever
# what every fork would import again; none imports the package, and none is a plugin of pytest, which says so
_COMMON = (
    "numpy", "scipy.linalg", "scipy.optimize", "scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.spatial",
    "scipy.special", "scipy.stats", "sklearn.cluster", "sklearn.metrics", "sklearn.model_selection", "sklearn.utils",
    "sklearn.datasets", "pandas", "joblib", "narwhals", "pyarrow.parquet", "pytest",
)  # fmt: skip


class _Changed(SourceFileLoader):
    """Loads one module with one of its nodes changed."""

    place = 0

    def get_code(self, fullname: str) -> CodeType:
        return compile(mutated(Path(self.path).read_text(), self.place), self.path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, path: Path, name: str, place: int) -> None:
        self.path, self.name, self.place = path, name, place

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        loader = _Changed(fullname, str(self.path))
        loader.place = self.place
        package = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        spec = ModuleSpec(fullname, loader, origin=str(self.path), is_package=package is not None)
        spec.submodule_search_locations = package
        spec.has_location = True
        return spec


def module_name(path: str) -> str:
    """Return the name of the module in a file of the package."""
    parts = Path(path).with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def try_import(mutant: Mutant, tests: list[str]) -> str:
    """Return "killed", "survived" or "slower"; the process must not have imported the package."""
    for name in _COMMON:
        importlib.import_module(name)
    return in_fork(lambda: _run(mutant, tests))


def in_fork(run: Callable[[], int]) -> str:
    """Return what became of tests: their exit code in a fork, in words."""
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT, _LIMIT + 5))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        try:
            code = run()
        except BaseException:  # whatever the change broke
            code = 1
        os._exit(code)
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return _outcome(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "slower"


def _outcome(status: int) -> str:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return "slower"
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1
    return {0: "survived", NOT_REACHED: "not reached"}.get(code, "killed")


def _run(mutant: Mutant, tests: list[str]) -> int:
    import pytest

    sys.meta_path.insert(0, _Finder(Path(mutant.path).absolute(), module_name(mutant.path), mutant.place))
    return int(pytest.main([*OPTIONS, *tests], plugins=[_EndInTime()]))


class _EndInTime:
    """A plugin of pytest that ends the run between two tests, as if they were all."""

    def pytest_runtest_logfinish(self) -> None:
        if time.process_time() > SECONDS + _IMPORTS:
            os._exit(0)
