"""The progress of an experiment: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from kernelweave._plural import counted

if TYPE_CHECKING:
    from rich.progress import Progress

    from kernelweave.experiments.rows import Row
    from kernelweave.experiments.tasks import Task

__all__ = ["ProgressBar", "duration"]

_EVERY = 15.0  # seconds between lines


class ProgressBar:
    """Finished tasks, rows per second and remaining time, on the standard error stream.

    The remaining time is computed from the estimated cost of the tasks, not from their number: the cheap data sets run
    first.
    """

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._total = self._done = self._rows = self._failed = 0
        self._work = self._work_done = 0.0
        self._begun = self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, tasks: list[Task], already: int) -> None:
        """Show the number of tasks to run."""
        self._total, self._work = len(tasks), sum(task.cost for task in tasks)
        self._begun = self._said = time.monotonic()
        self._write(f"{counted(len(tasks), 'task')} to run" + (f", {already} already finished" if already else ""))
        if tasks and sys.stderr.isatty():
            self._start_bar()

    def done(self, task: Task, rows: list[Row]) -> None:
        """Show that a task is finished."""
        self._done += 1
        self._rows += len(rows)
        self._failed += sum(row["outcome"] == "FAILED" for row in rows)
        self._work_done += task.cost
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._work_done, what=self._summary())
        elif time.monotonic() - self._said > _EVERY or self._done == self._total:
            self._said = time.monotonic()
            self._write(f"{self._summary()}, {self._left()}")

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), TextColumn("{task.fields[what]}"), TimeRemainingColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), speed_estimate_period=600)
        self._bar.add_task("", total=self._work, what="")
        self._bar.start()

    def _summary(self) -> str:
        rate = self._rows / max(time.monotonic() - self._begun, 1e-9)
        failed = f" ({self._failed} failed)" if self._failed else ""
        tasks = f"{self._done} of {counted(self._total, 'task')}"
        return f"{tasks}, {counted(self._rows, 'row')}{failed}, {rate:.1f} rows/s"

    def _left(self) -> str:
        if self._done == self._total:
            return f"done in {duration(time.monotonic() - self._begun)}"
        spent = time.monotonic() - self._begun
        return f"about {duration(spent * (self._work - self._work_done) / self._work_done)} left"

    @staticmethod
    def _write(line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def duration(seconds: float) -> str:
    """Return a time in readable units: 42 s, 7 min, 2 h 5 min."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
