"""One mutant: the tests that reach its line run in a fork that imports the changed module."""

from __future__ import annotations

import importlib
import importlib.abc
import os
import resource
import signal
import sys
import time
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType

from tools.mutants.changes import Mutant, mutated

__all__ = ["try_mutant"]

_MOST = 40  # tests per mutant, the quickest ones
_SLOWER = 20.0  # a mutant that makes the tests take so many times longer is noticed
_PATIENCE = 10.0  # how many times the limit of processor time a mutant may take by the clock: it may wait for ever
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
        source = mutated(Path(self.path).read_text(), self.place)
        return compile(source, self.path, "exec")


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


def try_mutant(mutant: Mutant, tests: list[str], seconds: float) -> str:
    """Return "killed", "survived", "slower" or "not reached"."""
    if not tests:
        return "not reached"
    for name in _COMMON:
        importlib.import_module(name)
    limit = 60 + _SLOWER * seconds  # of processor time
    pid = os.fork()
    if pid == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
        os._exit(_run(mutant, tests[:_MOST]))
    end = time.monotonic() + _PATIENCE * limit
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
    return "survived" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else "killed"


def _run(mutant: Mutant, tests: list[str]) -> int:
    import pytest

    path = Path(mutant.path).absolute()
    parts = Path(mutant.path).with_suffix("").parts[1:]
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    sys.meta_path.insert(0, _Finder(path, name, mutant.place))
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        return int(pytest.main(["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:cov", *tests]))
    except BaseException:  # whatever the change broke
        return 1
