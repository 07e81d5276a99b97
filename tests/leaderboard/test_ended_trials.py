"""Methods that end their process: the run says so, keeps what is finished, and can be resumed."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import kernelweave
from kernelweave.leaderboard import Protocol, run_benchmark, trial_runs
from kernelweave.leaderboard.begun import Begun, ended_in

QUICK = Protocol(seeds=1, max_samples=60, max_seconds=120)
METHOD = """
    import os
    from sklearn.base import BaseEstimator, ClusterMixin

    class Ends(ClusterMixin, BaseEstimator):
        def __init__(self, n_clusters=3):
            self.n_clusters = n_clusters

        def fit(self, X, y=None):
            os._exit(3)
"""


@pytest.fixture
def benchmark(tmp_path):
    (tmp_path / "methods.py").write_text(textwrap.dedent(METHOD))

    def run(*options):
        command = [sys.executable, "-m", "kernelweave", "benchmark", "--seeds", "1", "--max-samples", "60"]
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(kernelweave.__file__).parents[1])])}
        return subprocess.run(
            [*command, "--out", "out", *options], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )

    return run


def test_trials_that_ended_the_process_come_last_when_the_run_is_resumed(benchmark, tmp_path):
    assert benchmark("--datasets", "iris", "--methods", "", "--method", "methods:Ends").returncode == 3
    assert ended_in(tmp_path / "out").startswith(
        "The last run ended without notice during Ends on iris (plain, seed 0):"
    )
    again = benchmark("--datasets", "iris,wine", "--methods", "KMeans", "--method", "methods:Ends")
    assert again.returncode == 3
    assert "Note: The last run ended without notice during Ends on iris (plain, seed 0)" in again.stderr
    assert "leave the method out" in again.stderr
    assert len(list((tmp_path / "out" / "rows").glob("iris-kmeans-*"))) == 1
    without = benchmark("--datasets", "iris,wine", "--methods", "KMeans")
    assert without.returncode == 0, without.stderr
    assert ended_in(tmp_path / "out") is None


def test_a_process_of_several_that_ends_is_an_error_that_names_its_trial(benchmark, tmp_path):
    ended = benchmark("--datasets", "iris", "--methods", "", "--method", "methods:Ends", "--jobs", "2")
    assert ended.returncode == 2
    assert "ProcessEndedError: A process ended before its task was done" in ended.stderr
    assert "Finished trials are kept in out: the same call resumes the run." in ended.stderr
    assert "during Ends on iris (plain, seed 0)" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_a_run_that_is_stopped_in_order_leaves_no_trial_behind(tmp_path, monkeypatch, stop):
    def stopped(*_):
        assert list(Begun(tmp_path).left().values()) == ["KMeans on iris (plain, seed 0)"]
        msg = "here"
        raise stop(msg)

    monkeypatch.setattr(trial_runs, "run_trial", stopped)
    with pytest.raises(stop, match="here"):
        run_benchmark(tmp_path, ["iris"], ["KMeans"], protocol=QUICK)
    assert ended_in(tmp_path) is None
    assert not Begun(tmp_path).folder.exists()
