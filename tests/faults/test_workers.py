"""A worker of a cluster that is killed: its tasks are done by another one."""

import os
import signal

import pytest
from pandas.testing import assert_frame_equal

from kernelweave.experiments import load_spec, run_experiment

distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]

SPEC = """
kind = "clustering"
[presets.quick]
datasets = ["iris"]
[[methods]]
name = "MKKM"
estimator = "MKKM"
repeats = 12
parameters = { n_init = 2 }
"""


class Killer:
    """Watches a run, and kills a process after its first finished task."""

    def __init__(self, victim):
        self.victim = victim

    def begin(self, *_):
        pass

    def done(self, *_):
        if self.victim is not None:
            os.kill(self.victim, signal.SIGKILL)
            self.victim = None


def figures(rows):
    return rows.drop(columns=["seconds", "created"])


def test_an_experiment_whose_worker_is_killed_has_all_its_rows(tmp_path):
    (tmp_path / "mine.toml").write_text(SPEC)
    spec = load_spec(str(tmp_path / "mine.toml"))
    expected = run_experiment(spec, tmp_path / "here")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options, silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            killer = Killer(next(iter(client.run(os.getpid).values())))
        found = run_experiment(spec, tmp_path / "there", dask=cluster.scheduler_address, watch=killer)
    assert killer.victim is None
    assert_frame_equal(figures(found), figures(expected))
