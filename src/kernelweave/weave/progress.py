"""Progress of a long stage: a line every two seconds, with the rate and the time left."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["StageProgress"]

_EVERY = 2.0  # seconds; a stage that is over sooner says nothing


class StageProgress:
    """Called with a stage, how much of it is done and how much there is (None: unknown), it reports to `say`.

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
        """Report how much of a stage is done."""
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
