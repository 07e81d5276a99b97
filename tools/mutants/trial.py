"""One mutant: the tests that reach its line run in a fork that imports the changed module."""

from __future__ import annotations

import importlib.abc
import os
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
    pid = os.fork()
    if pid == 0:
        os._exit(_run(mutant, tests[:_MOST]))
    end = time.monotonic() + 60 + _SLOWER * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return "survived" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else "killed"
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "slower"


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
