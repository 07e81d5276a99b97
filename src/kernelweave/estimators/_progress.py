"""How far a long stage has come: said every two seconds, with its rate and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Progress"]

_EVERY = 2.0  # seconds; a stage that is over sooner says nothing


class Progress:
    """Called with a stage, how much of it is done and how much there is (None: nobody knows), it tells `say`.

    Parameters
    ----------
    say : callable of str
        Where a line goes.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._stage = ""
        self._began = self._said = time.monotonic()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        kind = stage.split(" (")[0]  # what follows may change from line to line
        if kind != self._stage:
            self._stage, self._began, self._said = kind, now, now
            return
        if now - self._said < _EVERY:
            return
        self._said = now
        rate = done / (now - self._began)
        if total is None:
            self._say(f"{stage}: {done}, {rate:.3g}/s")
        else:
            self._say(f"{stage}: {done} of {total}, {rate:.3g}/s, {(total - done) / rate:.0f} s left")
