"""Progress of a long stage: a line every two seconds, with the rate and the remaining time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Reporter", "StageProgress"]

_EVERY = 2.0  # seconds; shorter stages report nothing


@dataclass(frozen=True, slots=True)
class Reporter:
    """Writes lines with a prefix to the standard error stream if `verbose`.

    Parameters
    ----------
    name : str
        The prefix of every line.
    verbose : int
        0 writes nothing.
    """

    name: str
    verbose: int

    def __call__(self, text: str) -> None:
        """Write a line."""
        if self.verbose:
            sys.stderr.write(f"[{self.name}] {text}\n")


@dataclass
class StageProgress:
    """Reports to `say` how much of a stage is done; called with the stage, the amount done and the total or None.

    Parameters
    ----------
    say : callable of str
        Called with every line.
    """

    say: Callable[[str], None]
    _stage: str = ""
    _began: float = field(default_factory=time.monotonic)
    _said: float = field(default_factory=time.monotonic)

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Report how much of a stage is done."""
        now = time.monotonic()
        kind = stage.split(" (")[0]  # the rest may differ from line to line
        if kind != self._stage:
            self._stage, self._began, self._said = kind, now, now
            return
        if now - self._said < _EVERY:
            return
        self._said = now
        rate = done / (now - self._began)
        if total is None:
            self.say(f"{stage}: {done}, {rate:.3g}/s")
        else:
            self.say(f"{stage}: {done} of {total}, {rate:.3g}/s, {(total - done) / rate:.0f} s left")
