"""How a public name or parameter is retired: it warns for at least one minor version before it is removed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from kernelweave import __version__

__all__ = ["deprecated", "warn_deprecated"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def warn_deprecated(what: str, *, since: str, removed_in: str, instead: str, stacklevel: int = 3) -> None:
    """Warn the caller of a public function that something in the call will be removed.

    Parameters
    ----------
    what : str
        The name, such as ``"WeaveClustering(scale=True)"``.
    since, removed_in : str
        The version that warns first, and the one that no longer has it.
    instead : str
        What to write instead.
    stacklevel : int, default=3
        The frame that the warning points at; 3 is the caller of the function that calls this one.
    """
    _need_time(what, removed_in)
    msg = f"{what} is deprecated since kernelweave {since} and will be removed in {removed_in}: use {instead}."
    warnings.warn(msg, FutureWarning, stacklevel=stacklevel)


def deprecated(*, since: str, removed_in: str, instead: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator of a function that warns whenever it is called; the parameters are those of `warn_deprecated`.

    A function that should be gone in this version already cannot be decorated: importing its module fails, so that the
    tests of the release that should remove it do.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        name = f"{function.__qualname__}()"
        _need_time(name, removed_in)

        @wraps(function)
        def warned(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            warn_deprecated(name, since=since, removed_in=removed_in, instead=instead)
            return function(*args, **kwargs)

        return warned

    return decorate


def _need_time(what: str, removed_in: str) -> None:
    if _numbers(__version__) >= _numbers(removed_in):
        msg = f"{what} was to be removed in kernelweave {removed_in}, and this is {__version__}: remove it."
        raise AssertionError(msg)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdecimal())
