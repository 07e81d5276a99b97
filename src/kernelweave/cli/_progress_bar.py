"""The progress of an experiment: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Self

from kernelweave._plural import counted

if TYPE_CHECKING:
    from rich.progress import Progress

    from kernelweave.experiments.rows import Row
    from kernelweave.experiments.runner import Timed

__all__ = ["Clock", "ProgressBar", "duration"]

_EVERY = 15.0  # seconds between lines


class Clock:
    """The time left: the estimated cost of the remaining tasks, at the speed measured for each method."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}
        self._cost: dict[str, float] = {}
        self._left: dict[str, float] = {}
        self._busy = 0.0
        self._begun = time.monotonic()

    def expect(self, tasks: Iterable[Timed]) -> None:
        """Set the tasks that remain."""
        self._left = {}
        for task in tasks:
            self._left[task.label] = self._left.get(task.label, 0.0) + task.cost

    def measure(self, task: Timed, rows: list[Row]) -> None:
        """Learn the speed of a method from a finished task, of this run or of an earlier one."""
        name = task.label
        self._seconds[name] = self._seconds.get(name, 0.0) + sum(row["seconds"] for row in rows)
        self._cost[name] = self._cost.get(name, 0.0) + task.cost

    def finish(self, task: Timed, rows: list[Row]) -> None:
        """Take a task off those that remain."""
        self.measure(task, rows)
        self._busy += sum(row["seconds"] for row in rows)
        self._left[task.label] -= task.cost

    def seconds_left(self) -> float | None:
        """Return the estimate, or None if nothing was measured yet."""
        if not self._cost:
            return None
        overall = sum(self._seconds.values()) / sum(self._cost.values())
        speed = {name: self._seconds[name] / cost for name, cost in self._cost.items()}
        work = sum(max(cost, 0.0) * speed.get(name, overall) for name, cost in self._left.items())
        # several processes do more than a second of work per second; a busy machine does less
        pace = self._busy / (time.monotonic() - self._begun) if self._busy else 1.0
        return work / pace


class ProgressBar:
    """Finished tasks, rows per second and remaining time, on the standard error stream.

    The remaining time is computed from the estimated cost of the tasks, not from their number: the cheap data sets run
    first, and methods differ. Rows of an interrupted run give the estimate at once.
    """

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._total = self._done = self._rows = self._failed = 0
        self._work = self._work_done = 0.0
        self._clock = Clock()
        self._begun = self._said = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(
        self, tasks: Sequence[Timed], finished: Sequence[tuple[Timed, list[Row]]], later: Sequence[Timed]
    ) -> None:
        """Show the number of tasks of a stage, and the time left if an earlier run tells it."""
        if not self._total:  # in a second stage the tasks of the first were measured already
            for task, rows in finished:
                self._clock.measure(task, rows)
        self._total += len(tasks)
        self._work = self._work_done + sum(task.cost for task in (*tasks, *later))
        self._clock.expect((*tasks, *later))
        said = f"{counted(len(tasks), 'task')} to run" + (f", {len(finished)} already finished" if finished else "")
        left = self._clock.seconds_left() if tasks else None
        self._write(said + (f", about {duration(left)} left" if left else ""))
        if tasks and sys.stderr.isatty() and self._bar is None:
            self._start_bar()

    def done(self, task: Timed, rows: list[Row]) -> None:
        """Show that a task is finished."""
        self._done += 1
        self._rows += len(rows)
        self._failed += sum(row["outcome"] == "FAILED" for row in rows)
        self._work_done += task.cost
        self._clock.finish(task, rows)
        if self._bar is not None:
            what = f"{self._summary()}, {self._left()}"
            self._bar.update(self._bar.task_ids[0], completed=self._work_done, total=self._work, what=what)
        elif time.monotonic() - self._said > _EVERY or self._done == self._total:
            self._said = time.monotonic()
            self._write(f"{self._summary()}, {self._left()}")

    def _start_bar(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        columns = (BarColumn(), TextColumn("{task.fields[what]}"))
        self._bar = Progress(*columns, console=Console(stderr=True))
        self._bar.add_task("", total=self._work, what="")
        self._bar.start()

    def _summary(self) -> str:
        rate = self._rows / max(time.monotonic() - self._begun, 1e-9)
        failed = f" ({self._failed} failed)" if self._failed else ""
        tasks = f"{self._done} of {counted(self._total, 'task')}"
        return f"{tasks}, {counted(self._rows, 'row')}{failed}, {rate:.1f} rows/s"

    def _left(self) -> str:
        left = self._clock.seconds_left()
        if left is None or (self._done == self._total and self._work_done >= self._work):
            return f"done in {duration(time.monotonic() - self._begun)}"
        return f"about {duration(left)} left"

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
