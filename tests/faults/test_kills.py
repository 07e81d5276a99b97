"""A process that is killed leaves what was there, or what it was writing, whole; the next one removes the rest."""

import os

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="moments are tried in forks")

SAVE = """
import numpy as np
from kernelweave import WeaveClustering, load

X = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 10, axis=0)
old, new = (WeaveClustering(k, random_state=0).fit(X) for k in (2, 3))


def prepare(folder):
    old.save(folder / "model.kw")


def job(folder):
    new.save(folder / "model.kw")


def check(folder, whole):
    number = load(folder / "model.kw").n_clusters
    assert number == 3 if whole else number in (2, 3), number
    new.save(folder / "model.kw")
    assert [path.name for path in folder.iterdir()] == ["model.kw"], list(folder.iterdir())
"""


def test_a_killed_save_leaves_the_old_model_or_the_new_one(killed_at_every_file_operation):
    assert killed_at_every_file_operation(SAVE) >= 2


RESULTS = """
from kernelweave.cli._results import rows_writer, write_all

names = ["labels.csv", "weights.csv", "features.csv"]
writers = {name: rows_writer(("a", "b"), [("1", "2")] * 100) for name in names}


def prepare(folder):
    pass


def job(folder):
    write_all(folder / "out", writers, force=False)


def check(folder, whole):
    visible = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    assert visible in ([], ["out"]), visible
    if visible:
        assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(names)
        assert all((folder / "out" / name).read_text().count("1,2") == 100 for name in names)
    assert whole <= bool(visible)
    write_all(folder / "out", writers, force=True)
    assert [path.name for path in folder.rglob(".*") if path.parent.name == "out"] == []
"""


def test_a_new_folder_of_results_is_whole_or_not_there(killed_at_every_file_operation):
    assert killed_at_every_file_operation(RESULTS) >= 4


ROWS = """
from kernelweave.experiments import load_spec, run_experiment

SPEC = '''
kind = "clustering"
[presets.quick]
datasets = ["iris"]
[[methods]]
name = "MKKM"
estimator = "MKKM"
repeats = 3
parameters = { n_init = 1 }
'''


def figures(rows):
    return rows.drop(columns=["seconds", "created"]).to_csv()


def run(folder):
    return run_experiment(load_spec(str(folder / "mine.toml")), folder / "out")


def prepare(folder):
    (folder / "mine.toml").write_text(SPEC)


def job(folder):
    run(folder)


def check(folder, whole):
    out = folder / "out"
    kept = {path: path.read_text() for path in out.glob("rows/*.jsonl")}
    rows = figures(run(folder))
    assert rows == expected, rows
    assert all(path.read_text() == text for path, text in kept.items())  # nothing was computed twice
    assert not list(out.rglob(".*")), list(out.rglob(".*"))


import tempfile

with tempfile.TemporaryDirectory() as place:
    prepare(Path(place))
    expected = figures(run(Path(place)))
"""


def test_a_killed_experiment_loses_no_finished_task(killed_at_every_file_operation):
    assert killed_at_every_file_operation(ROWS, every=3) >= 5


@pytest.mark.slow
def test_a_killed_experiment_loses_no_finished_task_at_any_moment(killed_at_every_file_operation):
    assert killed_at_every_file_operation(ROWS) >= 15


CLUSTER = """
import io
from contextlib import redirect_stderr, redirect_stdout

import numpy as np

from kernelweave import load
from kernelweave.cli import main
from kernelweave.cli._outcome import FILES

X = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 10, axis=0)


def prepare(folder):
    np.savetxt(folder / "data.csv", X, delimiter=",", header="a,b", comments="")


def job(folder):
    sys.argv = ["kernelweave", "cluster", str(folder / "data.csv"), "-k", "3", "--out", str(folder / "out"), "--force"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            assert not end.code, end.code


def check(folder, whole):
    out = folder / "out"
    if out.exists():
        assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
        assert load(out / "model.kw").n_clusters == 3
    job(folder)
    assert not [path for path in out.rglob(".*")]


import tempfile

with tempfile.TemporaryDirectory() as place:  # whatever is imported or cached is, before the first kill
    prepare(Path(place))
    job(Path(place))
"""


@pytest.mark.slow
def test_a_killed_cluster_command_leaves_all_its_results_or_none(killed_at_every_file_operation):
    assert killed_at_every_file_operation(CLUSTER) >= 10


BENCHMARK = """
import io
from contextlib import redirect_stderr, redirect_stdout

import pandas as pd

from kernelweave.cli import main

VARY = ["seconds", "mib", "created"]


def prepare(folder):
    pass


def job(folder):
    sys.argv = ["kernelweave", "benchmark", "--datasets", "iris", "--methods", "KMeans,MKKM", "--seeds", "2"]
    sys.argv += ["--max-samples", "60", "--out", str(folder / "out")]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            assert not end.code, end.code


def figures(folder):
    rows = pd.read_parquet(folder / "out" / "results.parquet").sort_values("key")
    return rows.drop(columns=[name for name in VARY if name in rows]).to_csv(index=False)


def check(folder, whole):
    kept = {path: path.read_text() for path in folder.glob("out/rows/*.jsonl")}
    job(folder)
    assert figures(folder) == expected, figures(folder)
    assert all(path.read_text() == text for path, text in kept.items())  # nothing was computed twice
    assert not list(folder.rglob(".*")), list(folder.rglob(".*"))


import tempfile

with tempfile.TemporaryDirectory() as place:  # whatever is imported or cached is, before the first kill
    job(Path(place))
    expected = figures(Path(place))
"""


@pytest.mark.slow
def test_a_killed_benchmark_loses_no_finished_trial(killed_at_every_file_operation):
    assert killed_at_every_file_operation(BENCHMARK, every=2) >= 8
