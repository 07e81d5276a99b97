"""The time left of a run: from the speed of each method, at the pace of this run."""

from types import SimpleNamespace

import pytest

from kernelweave.cli import _progress_bar
from kernelweave.cli._progress_bar import Clock, ProgressBar, duration


def task(method, cost):
    return SimpleNamespace(label=method, cost=cost)


def rows(*seconds):
    return [{"seconds": s, "outcome": "CONVERGED"} for s in seconds]


@pytest.fixture
def now(monkeypatch):
    """The time that the clock reads."""
    time = SimpleNamespace(now=0.0, monotonic=lambda: time.now)
    monkeypatch.setattr(_progress_bar, "time", time)
    return time


def test_nothing_is_known_before_anything_is_measured(now):
    clock = Clock()
    clock.expect([task("A", 1.0)])
    assert clock.seconds_left() is None


def test_each_method_has_its_own_speed_and_an_unknown_one_that_of_all(now):
    clock = Clock()
    clock.measure(task("fast", 10.0), rows(1.0))
    clock.measure(task("slow", 10.0), rows(60.0, 40.0))
    clock.expect([task("fast", 20.0), task("slow", 5.0)])
    assert clock.seconds_left() == pytest.approx(2 + 50)
    clock.expect([task("new", 20.0)])
    assert clock.seconds_left() == pytest.approx(20 * 101 / 20)


def test_finished_tasks_count_and_two_processes_halve_the_time(now):
    clock = Clock()
    tasks = [task("A", 1.0) for _ in range(4)]
    clock.expect(tasks)
    now.now = 5.0  # two tasks of five seconds side by side
    for done in tasks[:2]:
        clock.finish(done, rows(5.0))
    assert clock.seconds_left() == pytest.approx(5.0)


def test_a_resumed_run_tells_the_time_left_at_once_and_counts_its_second_stage(now, capsys):
    bar = ProgressBar()
    bar.begin([task("A", 1.0)], [(task("A", 1.0), rows(60.0))], [task("A", 2.0)])
    assert capsys.readouterr().err == "1 task to run, 1 already finished, about 3 min left\n"
    now.now = 60.0
    bar.done(task("A", 1.0), rows(60.0))
    assert "about 2 min left" in capsys.readouterr().err
    bar.begin([task("A", 2.0)], [], [])
    assert "about 2 min left" in capsys.readouterr().err
    now.now = 180.0
    bar.done(task("A", 2.0), rows(120.0))
    assert "2 of 2 tasks, 2 rows, 0.0 rows/s, done in 3 min" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "text"), [(42, "42 s"), (400, "7 min"), (7500, "2 h 5 min")])
def test_a_duration_is_written_in_readable_units(seconds, text):
    assert duration(seconds) == text
