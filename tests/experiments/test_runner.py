"""Runs: that they can be killed and resumed, refuse what is not theirs, and never overwrite what they cannot read."""

import json
import re
import signal
import socket
import subprocess
import sys

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from kernelweave.errors import DataUnavailableError, InvalidInputError, ResultsError
from kernelweave.experiments import execute as executing
from kernelweave.experiments import load_spec, run_experiment
from kernelweave.experiments.rows import COLUMNS

VARY = ["seconds", "created"]
FEW = {"datasets": ["iris"], "methods": ["MKKM"]}


def figures(rows):
    return rows.drop(columns=VARY)


def test_an_experiment_gives_a_row_per_setting_and_repeat_with_its_provenance(write, tmp_path):
    rows = run_experiment(load_spec(str(write())), str(tmp_path / "out"), datasets=["iris"])
    assert len(rows) == 7 * 2 + 2 + 2 + 6
    assert list(rows.columns) == list(COLUMNS)
    assert (rows["acc"] > 0.3).all()
    assert rows["key"].is_unique
    assert set(rows["outcome"]) <= {"CONVERGED", "LEVEL", "MAX_ITER"}
    assert json.loads(rows["parameters"].iloc[-1]) == {"alpha": 0.01, "gamma": 1.0, "n_init": 3}
    assert rows["data_sha256"].str.len().eq(64).all()
    assert rows["commit"].nunique() == 1
    assert re.fullmatch(r"([0-9a-f]{12}(\+changes)?)?", rows["commit"].iloc[0])  # empty outside a repository


def test_results_are_kept_as_parquet_and_csv(write, tmp_path):
    rows = run_experiment(load_spec(str(write())), tmp_path / "out", **FEW)
    assert_frame_equal(pd.read_parquet(tmp_path / "out" / "results.parquet").astype(COLUMNS), rows)
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    assert table["acc"].tolist() == rows["acc"].tolist()
    assert not list((tmp_path / "out").glob(".*"))  # neither kernels nor temporary files stay behind


def test_classification_is_scored_on_the_unlabelled_samples(write, tmp_path, labels_text):
    rows = run_experiment(load_spec(str(write(text=labels_text))), tmp_path / "out")
    assert len(rows) == 2 * 3 * (7 + 1)
    assert set(rows["split"]) == {"per-class"}
    best = rows[rows["method"] == "Weave defaults"].groupby("fraction")["acc"].mean()
    assert best.loc[0.5] > best.loc[0.1] > 0.6


def test_two_processes_give_the_rows_of_one(write, tmp_path):
    spec = load_spec(str(write()))
    some = {"datasets": ["iris"], "methods": ["MKKM", "SMKL"]}
    one = run_experiment(spec, tmp_path / "one", **some)
    two = run_experiment(spec, tmp_path / "two", **some, jobs=2)
    assert_frame_equal(figures(one), figures(two))


def test_a_rerun_computes_nothing_and_a_wider_one_only_what_is_new(write, tmp_path, monkeypatch):
    spec, out = load_spec(str(write())), tmp_path / "out"
    first = run_experiment(spec, out, **FEW)
    monkeypatch.setattr("kernelweave.experiments.runner.run_task", None)  # whoever calls it fails
    assert_frame_equal(run_experiment(spec, out, **FEW), first)
    with pytest.raises(TypeError, match="must be callable"):
        run_experiment(spec, out, datasets=["iris"])


# the sixth task is computed, but the process is killed before its rows are kept
KILLED = """
import os, signal
from kernelweave.cli import main
from kernelweave.experiments import runner

run, left = runner.run_task, iter(range(5))

def killed_after_five(task, shared):
    rows = run(task, shared)
    if next(left, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows

runner.run_task = killed_after_five
main()
"""


def test_a_run_that_is_killed_and_run_again_equals_one_that_was_not(write, tmp_path):
    path, out = write(), tmp_path / "out"
    command = [sys.executable, "-c", KILLED, "reproduce", str(path), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    spec = load_spec(str(path))
    kept = {file.name: file.read_text() for file in out.glob("rows/*.jsonl")}
    assert len(kept) == 5
    assert not (out / "results.parquet").exists()
    resumed = run_experiment(spec, out)
    assert_frame_equal(figures(resumed), figures(run_experiment(spec, tmp_path / "whole")))
    assert all((out / "rows" / name).read_text() == text for name, text in kept.items())
    assert not list(out.glob(".*"))


def test_a_fit_that_fails_is_a_row_with_its_reason_and_the_others_go_on(write, tmp_path, monkeypatch):
    build = executing.build

    def breaks(*arguments, **more):
        if more["seed"] == 1:
            msg = "the second seed is unlucky"
            raise ValueError(msg)
        return build(*arguments, **more)

    monkeypatch.setattr(executing, "build", breaks)
    rows = run_experiment(load_spec(str(write())), tmp_path / "out", **FEW)
    assert rows["outcome"].tolist() == ["CONVERGED", "FAILED"]
    assert rows["error"].tolist() == ["", "ValueError: the second seed is unlucky"]
    assert rows["acc"].isna().tolist() == [False, True]


def test_a_path_goes_on_after_a_setting_that_fails(write, tmp_path, monkeypatch):
    path = executing.smkl_path

    def breaks(model, X, grid, y=None):
        for fitted in path(model, X, grid, y=y):
            if fitted.alpha == 1e-4:
                msg = "no answer"
                raise ArithmeticError(msg)
            yield fitted

    monkeypatch.setattr(executing, "smkl_path", breaks)
    rows = run_experiment(load_spec(str(write())), tmp_path / "out", datasets=["iris"], methods=["SMKL"])
    assert rows["outcome"].iloc[2:].eq("FAILED").tolist() == [False, True, False] * 2


def test_a_folder_with_rows_of_another_experiment_is_refused_unless_resumed(write, tmp_path):
    out = tmp_path / "out"
    run_experiment(load_spec(str(write())), out, **FEW)
    other = load_spec(str(write()), "full")
    before = sorted(file.name for file in out.rglob("*"))
    with pytest.raises(ResultsError, match=r"holds rows of 'small' under the preset 'quick'.*Nothing was changed"):
        run_experiment(other, out, methods=["MKKM"])
    assert sorted(file.name for file in out.rglob("*")) == before
    rows = run_experiment(other, out, methods=["MKKM"], resume=True)
    assert rows["preset"].tolist() == ["quick", "quick"]  # what both have in common was not run again


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "line 1 is not JSON"),
        (lambda text: "", "it has 0 rows, not the 1 of its task"),
        (lambda text: text + text, "it has 2 rows, not the 1"),
        (lambda text: re.sub('"key": "', '"key": "0', text), "it has 1 row, not the 1 of its task"),
        (lambda text: text.replace('"acc"', '"accuracy"'), "line 1 lacks acc"),
        (lambda text: "\udcff\udcfe", "can't decode byte"),
    ],
)
def test_a_corrupt_file_of_rows_is_reported_and_left_as_it_is(write, tmp_path, damage, message):
    spec, out = load_spec(str(write())), tmp_path / "out"
    run_experiment(spec, out, **FEW)
    file = next(out.glob("rows/*.jsonl"))
    file.write_text(damage(file.read_text()), errors="surrogateescape")
    damaged = file.read_bytes()
    with pytest.raises(ResultsError, match=f"{file.name} is corrupt: .*{message}.*Nothing was overwritten"):
        run_experiment(spec, out, **FEW)
    assert file.read_bytes() == damaged


def test_a_folder_that_cannot_be_written_is_named(write, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResultsError, match=r"rows cannot be written: Not a directory.*--out"):
        run_experiment(load_spec(str(write())), tmp_path / "file", **FEW)


def test_a_full_disk_is_named_and_finished_tasks_are_kept(write, tmp_path, monkeypatch):
    replace = type(tmp_path).replace
    written = []

    def full(path, target):
        if target.suffix == ".jsonl":
            if written:
                raise OSError(28, "No space left on device", str(target))
            written.append(target)
        return replace(path, target)

    monkeypatch.setattr(type(tmp_path), "replace", full)
    spec, out = load_spec(str(write())), tmp_path / "out"
    with pytest.raises(ResultsError, match=r"No space left on device. Finished tasks are kept"):
        run_experiment(spec, out, **FEW)
    monkeypatch.undo()
    assert [file.name for file in out.glob("rows/*")] == [written[0].name]
    assert len(run_experiment(spec, out, **FEW)) == 2


def test_data_that_is_not_at_hand_is_named(write, tmp_path):
    spec = load_spec(str(write(('"wine", "iris"', '"yale"'))))
    with pytest.raises(DataUnavailableError, match="has no file YALE_165n"):
        run_experiment(spec, tmp_path / "out", data_home=tmp_path)


def test_a_number_of_processes_that_makes_no_sense_is_refused(write, tmp_path):
    with pytest.raises(InvalidInputError, match="jobs must be a number of processes, or -1"):
        run_experiment(load_spec(str(write())), tmp_path / "out", jobs=0)


def test_a_dask_cluster_of_two_workers_gives_the_same_rows(write, tmp_path):
    distributed = pytest.importorskip("distributed")
    spec = load_spec(str(write()))
    some = {"datasets": ["iris"], "methods": ["MKKM", "SMKL"]}
    here = run_experiment(spec, tmp_path / "here", **some)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        there = run_experiment(spec, tmp_path / "there", **some, dask=cluster.scheduler_address)
    assert_frame_equal(figures(here), figures(there))


def test_a_dask_cluster_that_is_not_there_is_named(write, tmp_path):
    pytest.importorskip("distributed")
    with socket.socket() as held:  # a port that nobody listens on while it is held
        held.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(InvalidInputError, match=f"no dask scheduler at '{address}'"):
            run_experiment(load_spec(str(write())), tmp_path / "out", dask=address, **FEW)
