"""Progress of long stages, and lines on the standard error stream."""

from kernelweave.runtime import Reporter, StageProgress


def test_progress_speaks_every_two_seconds_of_what_is_left(monkeypatch):
    now = iter([0.0, 1.0, 3.0, 3.5, 6.0])
    monkeypatch.setattr("kernelweave.runtime.time.monotonic", lambda: next(now))
    said = []
    progress = StageProgress(said.append)
    for done in (1, 20, 30, 40, 60):
        progress("rows", done, 90)
    assert said == ["rows: 30 of 90, 10/s, 6 s left", "rows: 60 of 90, 10/s, 3 s left"]


def test_a_stage_without_an_end_tells_how_much_is_done(monkeypatch):
    now = iter([0.0, 4.0])
    monkeypatch.setattr("kernelweave.runtime.time.monotonic", lambda: next(now))
    said = []
    progress = StageProgress(said.append)
    for done in (1, 20):
        progress("chunks", done, None)
    assert said == ["chunks: 20, 5/s"]


def test_what_stands_in_brackets_after_a_stage_makes_no_other_stage(monkeypatch):
    now = iter([0.0, 4.0])
    monkeypatch.setattr("kernelweave.runtime.time.monotonic", lambda: next(now))
    said = []
    progress = StageProgress(said.append)
    progress("eigenvectors (residual 1e-1)", 1, 40)
    progress("eigenvectors (residual 1e-2)", 2, 40)
    assert said == ["eigenvectors (residual 1e-2): 2 of 40, 0.5/s, 76 s left"]


def test_a_reporter_writes_under_its_name_if_it_is_told_to(capsys):
    Reporter("Model", 1)("graph: 3 edges")
    Reporter("Model", 0)("nothing")
    assert capsys.readouterr().err == "[Model] graph: 3 edges\n"
