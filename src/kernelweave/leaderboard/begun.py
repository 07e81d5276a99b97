"""Trials that were running when their process ended: they are named, and run last the next time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelweave.leaderboard.trials import Trial

__all__ = ["Begun", "ended_in"]

_NAMED = 4  # trials that a message names


class Begun:
    """The trials that run: a file for each, which stays if the process ends without Python's knowledge."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "running"

    def left(self) -> dict[str, str]:
        """Return the trials that were running when a process ended, in words, by the name of the trial."""
        return {path.stem: path.read_text(encoding="utf-8").strip() for path in sorted(self.folder.glob("*.txt"))}

    @contextmanager
    def running(self, trial: Trial) -> Iterator[None]:
        """Keep the file of a trial while it runs."""
        path = self.folder / f"{trial.name}.txt"
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{trial.entrant.name} on {trial.data.name} ({trial.condition}, seed {trial.seed})\n")
        try:
            yield
        finally:
            path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove the files of all trials: none of them runs."""
        for path in self.folder.glob("*.txt"):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()


def ended_in(out: Path) -> str | None:
    """Return a sentence about the trials during which the last run in a folder ended; None if it ended in order."""
    left = list(Begun(out).left().values())
    if not left:
        return None
    named = "; ".join(left[:_NAMED]) + (f" and {len(left) - _NAMED} more" if len(left) > _NAMED else "")
    return (
        f"The last run ended without notice during {named}: a method crashed or ended its process, or it was killed. "
        "Resumed, these trials come last; if it happens again, leave the method out."
    )
