"""Progress of long stages, and lines on the standard error stream."""

import numpy as np
import pytest

from kernelweave import Views, WeaveClassifier, WeaveClustering
from kernelweave.runtime import Reporter, StageProgress

X = np.random.default_rng(0).normal(size=(40, 3))


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


class Words:
    """Counts how often it is put into words."""

    def __init__(self):
        self.count = 0

    def __str__(self):
        self.count += 1
        return "three words long"


def test_what_follows_a_text_is_put_into_words_only_where_the_line_is_written(capsys):
    words = Words()
    Reporter("Weave", 0)("samples:", words)
    assert words.count == 0
    Reporter("Weave", 1)("samples:", words)
    assert capsys.readouterr().err == "[Weave] samples: three words long\n"


@pytest.mark.parametrize(
    ("samples", "options", "line"),
    [
        (X, {}, "Views(X: 40 of 40 samples, 3 columns)"),
        (Views({"a": X, "b": X[:, :2]}, missing={"b": [0]}), {}, "Views(a: 40 of 40 samples, 3 columns; b: 39 of 40"),
        (X @ X.T, {"kernels": "precomputed"}, "KernelStack(kernel 0; 40 samples)"),
    ],
    ids=["table", "views", "kernels"],
)
def test_a_fit_says_first_what_was_read(samples, options, line, capsys):
    for fit in (
        lambda: WeaveClustering(2, random_state=0, verbose=1, **options).fit(samples),
        lambda: WeaveClassifier(verbose=1, **options).fit(samples, np.r_[0, 1, np.full(38, -1)]),
    ):
        fit()
        first = capsys.readouterr().err.splitlines()[0]
        assert first.split("] ")[1].startswith(f"samples: {line}")
